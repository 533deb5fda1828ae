//! Compiles the wire format, without a `protoc` that would have to be installed.

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    for proto in ["lightpeer.proto", "health.proto"] {
        println!("cargo:rerun-if-changed=proto/{proto}");
    }
    let files = protox::compile(["lightpeer.proto", "health.proto"], ["proto"])?;
    tonic_prost_build::configure().compile_fds(files)?;
    Ok(())
}
