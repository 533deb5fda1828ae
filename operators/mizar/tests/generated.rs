//! The generated code in `proto/generated` is that of `droplet.proto`. It is committed so that a build needs no compiler for
//! it. `WINDLASS_BLESS=1 cargo test -p windlass-mizar --test generated` writes it anew.

use std::fs;
use std::path::Path;

#[test]
fn generated_code_is_that_of_the_protocol() {
    let protocol = Path::new(env!("CARGO_MANIFEST_DIR")).join("proto");
    let folder = tempfile::tempdir().unwrap();
    let files = protox::compile(["droplet.proto"], [&protocol]).unwrap();
    tonic_prost_build::configure().out_dir(&folder).compile_fds(files).unwrap();
    let generated = fs::read_to_string(folder.path().join("mizar.rs")).unwrap();
    let committed = protocol.join("generated/droplet.rs");
    if std::env::var_os("WINDLASS_BLESS").is_some() {
        fs::write(&committed, generated).unwrap();
        return;
    }
    assert!(
        fs::read_to_string(&committed).unwrap() == generated,
        "droplet.rs is not what droplet.proto generates; WINDLASS_BLESS=1 writes it anew"
    );
}
