//! Checks three servers with two clients, and says what came out.

use std::process::ExitCode;

use paxos::Paxos;
use windlass_check::engine::{Options, explore};

fn main() -> ExitCode {
    let clients = 2;
    let exploration = explore(&Paxos::new(clients), &Options::default());
    println!("{clients} clients: {} states, {} transitions", exploration.states, exploration.transitions);
    if !exploration.holds() {
        println!("does not hold: {:?}", exploration.violation);
        return ExitCode::FAILURE;
    }
    println!("holds: what the clients see is linearizable");
    ExitCode::SUCCESS
}
