//! Every seed, run once: what a fuzzer has found stays mended.

use std::fs;
use std::path::Path;

#[test]
fn model_request() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds/model_request");
    let mut count = 0;
    for entry in fs::read_dir(&directory).unwrap() {
        let path = entry.unwrap().path();
        println!("{}", path.display());
        windlass_fuzz::model_request(&fs::read(&path).unwrap());
        count += 1;
    }
    assert!(count > 0, "no seeds in {}", directory.display());
}
