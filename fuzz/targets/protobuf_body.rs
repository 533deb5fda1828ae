//! Any bytes at all, as a body in protobuf.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| windlass_fuzz::protobuf_body(data));
