//! Archives whose members are pieces of the input: a byte for the name, two for the length, and the contents.

use std::io::{Cursor, Write};

use files::{ReadOptions, parse};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

const NAMES: [&str; 8] = ["format", "shape", "data", "indices", "indptr", "row", "col", "coords"];

pub fn run(bytes: &[u8]) {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    let mut rest = bytes;
    while let Some((&[name, low, high], behind)) = rest.split_first_chunk() {
        let (contents, behind) = behind.split_at(behind.len().min(u16::from_le_bytes([low, high]).into()));
        rest = behind;
        // A duplicate name is rejected.
        if archive.start_file(format!("{}.npy", NAMES[usize::from(name) % NAMES.len()]), options).is_ok() {
            archive.write_all(contents).expect("memory takes all that is written");
        }
    }
    let bytes = archive.finish().expect("memory takes all that is written").into_inner();
    let options = ReadOptions { decompressed_limit: 1 << 20, ..ReadOptions::default() };
    let _ = parse::<f64>(&bytes, "t.npz", &options);
    let _ = parse::<f32>(&bytes, "t.npz", &options);
}
