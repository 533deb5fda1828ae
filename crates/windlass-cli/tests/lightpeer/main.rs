//! `windlass lightpeer` as a process: networks of real processes, some of which are really killed.

mod commands;
mod killed;
mod running;
