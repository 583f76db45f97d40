#![no_main]

libfuzzer_sys::fuzz_target!(|text: &[u8]| fuzz::vector::run(text));
