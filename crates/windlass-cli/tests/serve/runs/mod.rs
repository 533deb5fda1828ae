//! `windlass run` as a process, on both servers as processes.

mod killed_servers;
mod paused;
mod process;
mod server;
mod wire;
