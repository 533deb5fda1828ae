//! Any bytes at all, as what a client sends to the server.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| windlass_fuzz::server_connection(data));
