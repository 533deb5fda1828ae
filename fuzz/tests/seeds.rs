//! Every seed, run once: what a fuzzer has found stays fixed.

use std::fs;
use std::path::Path;

fn run_all(target: &str, run: fn(&[u8])) {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds").join(target);
    let mut count = 0;
    for entry in fs::read_dir(&directory).expect("the folder of the target") {
        let path = entry.expect("an entry").path();
        println!("{}", path.display());
        run(&fs::read(&path).expect("a readable seed"));
        count += 1;
    }
    assert!(count > 0, "no seeds in {}", directory.display());
}

#[test]
fn model_request() {
    run_all("model_request", windlass_fuzz::model_request);
}

#[test]
fn protobuf_body() {
    run_all("protobuf_body", windlass_fuzz::protobuf_body);
}

#[cfg(feature = "server")]
#[test]
fn server_connection() {
    run_all("server_connection", windlass_fuzz::server_connection);
}
