//! The hosts of the world. Each is a small state machine in a file of its own.

pub(crate) mod backlog;
pub(crate) mod client;
pub(crate) mod collector;
pub(crate) mod controller;
pub(crate) mod database;
pub(crate) mod environment;
pub(crate) mod network;
pub(crate) mod service;
pub(crate) mod wait;
