//! Real peers on loopback: they form networks, lose members, and agree.

mod contacts;
mod moves;
mod networks;
mod restarts;
mod support;
mod tls;
