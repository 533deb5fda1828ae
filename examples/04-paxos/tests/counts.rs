//! All interleavings of messages. The numbers of states are those that are known for this protocol.

use paxos::Paxos;
use windlass_check::engine::{Options, explore};

#[test]
fn the_number_of_states_is_known() {
    for (clients, states) in [(1, 265), (2, 16_668)] {
        let exploration = explore(&Paxos::new(clients), &Options { threads: 2, ..Options::default() });
        assert!(exploration.holds(), "{clients} clients: {:?}", exploration.violation);
        assert_eq!(exploration.states, states, "{clients} clients");
    }
}
