//! What must hold of networks, on every interleaving of what happens to pods and peers and of what goes wrong.

use windlass_klight::network::{LightNetworks, worlds};

#[test]
fn an_address_that_changes_hands_connects_nobody() {
    let report = worlds::reused_address(LightNetworks::default()).max_states(300_000).run();
    println!("{report}");
}
