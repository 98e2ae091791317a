#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| toolfall_fuzz::checks::rules::check(data));
