#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| toolfall_fuzz::checks::session_log::check(data));
