#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::rutherford_boeing::run(bytes));
