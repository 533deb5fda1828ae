//! `windlass run` as a process, on both servers as processes.

mod killed_servers;
mod paused;
mod people;
mod process;
mod server;
mod wire;
