//! Containers whose checksums are put right, so that what they protect is reached.
#![no_main]

use host::io::{ReadOptions, parse};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut bytes = bytes.to_vec();
    seal(&mut bytes);
    let _ = parse::<f64>(&bytes, "t.wspmv", &ReadOptions::default());
    let _ = parse::<f32>(&bytes, "t.wspmv", &ReadOptions::default());
});

/// Writes the checksums of whatever header, table and sections there are; `docs/container.md` says where they go.
fn seal(bytes: &mut [u8]) -> Option<()> {
    let length = bytes.len() as u64;
    let sections = u32::from_le_bytes(*bytes.get(12..)?.first_chunk()?) as usize;
    let table_end = sections.checked_mul(64)?.checked_add(128).filter(|&end| end <= bytes.len())?;
    bytes[56..64].copy_from_slice(&length.to_le_bytes());
    for entry in (128..table_end).step_by(64) {
        let width = match bytes[entry + 24] {
            1 | 5 => 1,
            2 | 6 => 2,
            3 | 7 | 9 => 4,
            _ => 8,
        };
        let elements = u64::from_le_bytes(*bytes[entry + 32..].first_chunk()?);
        let begin = u64::from_le_bytes(*bytes[entry + 40..].first_chunk()?);
        let end = elements.checked_mul(width).and_then(|bytes| bytes.checked_add(begin)).filter(|&end| end <= length);
        if let Some(end) = end {
            let checksum = crc32fast::hash(&bytes[begin as usize..end as usize]);
            bytes[entry + 28..entry + 32].copy_from_slice(&checksum.to_le_bytes());
        }
    }
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&bytes[..124]);
    hasher.update(&bytes[128..table_end]);
    bytes[124..128].copy_from_slice(&hasher.finalize().to_le_bytes());
    Some(())
}
