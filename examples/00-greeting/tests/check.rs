//! Everybody is greeted under every fault, and the mistake is found.

use greeting::{CreatesOnce, Greeter, two_greetings};

#[test]
fn everybody_is_greeted() {
    println!("{}", two_greetings(Greeter).assert());
}

#[test]
fn the_mistake_is_found() {
    let report = two_greetings(CreatesOnce).run();
    println!("{report}");
    assert!(!report.holds());
}
