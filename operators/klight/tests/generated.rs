//! The generated code in `proto/generated` is that of the `.proto` files. It is committed so that a build needs no compiler
//! for them. `WINDLASS_BLESS=1 cargo test -p windlass-klight --test generated` writes it anew.

use std::fs;
use std::path::Path;

/// What the generator names each file after its package, and what it is named here.
const FILES: [(&str, &str); 2] = [("_.rs", "lightpeer.rs"), ("grpc.health.v1.rs", "health.rs")];

#[test]
fn generated_code_is_that_of_the_protocol() {
    let protocol = Path::new(env!("CARGO_MANIFEST_DIR")).join("proto");
    let folder = tempfile::tempdir().unwrap();
    let files = protox::compile(["lightpeer.proto", "health.proto"], [&protocol]).unwrap();
    tonic_prost_build::configure().out_dir(&folder).compile_fds(files).unwrap();
    for (generated, committed) in FILES {
        let generated = fs::read_to_string(folder.path().join(generated)).unwrap();
        let committed = protocol.join("generated").join(committed);
        if std::env::var_os("WINDLASS_BLESS").is_some() {
            fs::write(&committed, generated).unwrap();
            continue;
        }
        let name = committed.file_name().unwrap_or_default().to_string_lossy().into_owned();
        assert!(
            fs::read_to_string(&committed).unwrap() == generated,
            "{name} is not what the .proto files generate; WINDLASS_BLESS=1 writes it anew"
        );
    }
}
