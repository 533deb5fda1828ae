//! One set of request scripts, performed against the model in process, the embedded server and a real
//! kube-apiserver, and compared answer by answer.
//!
//! A [`script::Script`] is a list of steps; [`perform::perform`] runs it against a [`target::Session`]; what comes back
//! is normalised ([`normalise`]) and compared with the answers that a real kube-apiserver gave
//! ([`recording`]). [`kubernetes::Kubernetes`] starts such a server, for this and for other tests, and
//! [`etcd::Etcd`] an etcd alone.

pub mod access;
pub mod certificates;
pub mod difference;
pub mod etcd;
pub mod exchange;
pub mod json_query;
pub mod known;
pub mod kubernetes;
pub mod normalise;
pub mod perform;
pub mod process;
pub mod recording;
pub mod render;
pub mod script;
pub mod server;
pub mod suite;
pub mod target;
mod yaml;
