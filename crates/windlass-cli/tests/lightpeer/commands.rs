//! Commands and their errors: what people and scripts rely on.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use crate::running::{Running, ask, complaint, network, windlass};

#[test]
fn a_network_is_tried_by_hand() {
    let [first, second, third] = network();
    let id = ask(&["persist", first.address(), "hello"]);
    assert!(id.status.success(), "{}", complaint(&id));
    assert!(!id.stdout.is_empty());
    assert!(third.persist("again"));
    assert_eq!(second.query(), ["hello", "again"]);
    let health = ask(&["health", second.address()]);
    assert_eq!(String::from_utf8_lossy(&health.stdout), "serving\n");
    let joined = ask(&["join", second.address(), third.address()]);
    assert!(String::from_utf8_lossy(&joined.stdout).contains("already a member"), "{}", complaint(&joined));
}

#[test]
fn a_peer_changes_networks_and_stays_there_after_a_kill() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().to_str().expect("UTF-8");
    let (blue, green) = (Running::start(&["--network", "default/blue"]), Running::start(&[]));
    assert!(green.persist("green"));
    let start = ["--data", data, "--network", "default/blue", "--join", blue.address()];
    let mut mover = Running::start(&start);
    mover.wait_for("joined");
    assert!(mover.persist("blue"));
    let joined = ask(&["join", mover.address(), green.address(), "--network", "default/green"]);
    assert!(joined.status.success(), "{}", complaint(&joined));
    assert_eq!((blue.query(), mover.query()), (vec!["blue".to_owned()], vec!["green".to_owned()]));
    mover.kill();
    let again = Running::start(&start);
    assert_eq!((blue.query(), again.query()), (vec!["blue".to_owned()], vec!["green".to_owned()]));
    let refused = ask(&["join", green.address(), blue.address()]);
    assert!(complaint(&refused).contains("another network, default/blue"), "{}", complaint(&refused));
    assert!(ask(&["join", green.address(), "--network", "default/red"]).status.success());
    assert!(green.query().is_empty());
}

#[test]
fn a_payload_may_come_from_standard_input() {
    let peer = Running::start(&[]);
    let mut child = windlass(&["persist", peer.address(), "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("runs");
    child.stdin.take().expect("piped").write_all(b"from a pipe").expect("written");
    assert!(child.wait().expect("it ends").success());
    assert_eq!(peer.query(), ["from a pipe"]);
}

#[test]
fn sigterm_ends_it_well_and_the_last_line_counts() {
    let mut first = Running::start(&[]);
    let mut second = Running::start(&["--join", first.address()]);
    second.wait_for("joined");
    assert!(second.terminate().success());
    let ended = second.wait_for("ended");
    assert_eq!(ended["counters"]["joins_asked"], 1);
    assert_eq!(ended["counters"]["joins_done"], 1);
    assert!(second.event().is_none());
    assert!(first.terminate().success());
}

#[test]
fn the_first_line_says_where_it_is() {
    let mut child = windlass(&["--listen", "127.0.0.1:0"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("piped")).read_line(&mut line).expect("a line");
    let address = line.trim().strip_prefix("ready ").expect("it is ready").to_owned();
    // Its output is closed by now, which must not end it.
    assert!(ask(&["health", &address]).status.success());
    child.kill().expect("it runs");
    child.wait().expect("it ends");
}

#[test]
fn errors_say_what_is_wrong() {
    let peer = Running::start(&[]);
    let check = |arguments: &[&str], why: &str| {
        let output = ask(arguments);
        assert!(!output.status.success());
        assert!(complaint(&output).contains(why), "{}", complaint(&output));
    };
    check(&["health", "127.0.0.1:1"], "cannot reach the peer at 127.0.0.1:1");
    check(&["query", "nonsense"], "HOST:PORT");
    check(&["join", peer.address(), peer.address()], "cannot join itself");
    check(&["join", peer.address(), "127.0.0.1:1"], "the contact does not let it in");
    check(&["--listen", "0.0.0.0:0"], "would obey whoever can reach it");
    check(&["--listen", "0.0.0.0:0", "--allow-unauthenticated"], "advertise");
    check(&["--listen", peer.address()], "cannot listen on");
    check(&["--tls-cert", "missing"], "--tls-key");
    check(&["--peers-check", "often"], "500ms");
}

#[test]
fn an_address_that_can_never_be_joined_is_refused_at_the_start() {
    let refused = windlass(&["--join", "nowhere"]).output().expect("runs");
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        complaint(&refused).contains("--join \"nowhere\" is no address of a peer"),
        "{}",
        complaint(&refused)
    );
}
