//! Bytes as they are, of whatever kind they appear to be.

use files::{ReadOptions, parse};

pub fn run(bytes: &[u8]) {
    let options = ReadOptions { decompressed_limit: 1 << 20, ..ReadOptions::default() };
    let _ = parse::<f64>(bytes, "any", &options);
    let _ = parse::<f32>(bytes, "any", &options);
}
