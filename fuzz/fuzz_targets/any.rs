//! Bytes as they are, of whatever kind they look.
#![no_main]

use files::{ReadOptions, parse};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let options = ReadOptions { decompressed_limit: 1 << 20, ..ReadOptions::default() };
    let _ = parse::<f64>(bytes, "any", &options);
    let _ = parse::<f32>(bytes, "any", &options);
});
