//! Any bytes at all, as requests to the model.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| windlass_fuzz::model_request(data));
