//! Compressed bytes, prefixed with the first bytes of every compressed file.

use files::{ReadOptions, parse};

pub fn run(bytes: &[u8]) {
    let bytes = [&[0x1f, 0x8b, 8], bytes].concat();
    let options = ReadOptions { decompressed_limit: 1 << 16, ..ReadOptions::default() };
    let _ = parse::<f64>(&bytes, "t.mtx.gz", &options);
}
