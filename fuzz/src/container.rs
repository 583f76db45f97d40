//! Containers with corrected checksums, so that the code behind them is reached. Accepted matrices are multiplied by
//! the kernels, which must not access memory out of bounds, and must be correct.

use files::{Number, ReadOptions, parse_matrix};
use host::executor::Emulated;
use host::verify::{exact, verify};
use host::{Format, Plan, Real};

/// Larger matrices are converted, but multiplying them would take too long.
const MOST_PLACES: u128 = 1 << 14;

pub fn run(bytes: &[u8]) {
    let mut bytes = bytes.to_vec();
    seal(&mut bytes);
    check::<f64>(&bytes);
    check::<f32>(&bytes);
}

fn check<T: Real + Number>(bytes: &[u8]) {
    let Ok(loaded) = parse_matrix::<T>(bytes, "t.wspmv", &ReadOptions::default()) else { return };
    let matrix = loaded.matrix;
    if matrix.rows() > 1 << 16 {
        return;
    }
    let format = Format::ALL.iter().copied().find(|&format| matrix.is_stored_as(format).unwrap());
    let size = matrix.bytes() + matrix.rows() as u128 + matrix.columns() as u128;
    let csr = matrix.clone().into_csr().unwrap();
    assert_eq!(csr.nnz(), matrix.nnz());
    if let Some(format) = format.filter(|_| size <= MOST_PLACES) {
        let x: Vec<T> = (0..csr.columns()).map(|column| T::from_f64(column as f64 + 0.5)).collect();
        let mut y = vec![T::from_f64(f64::NAN); csr.rows()];
        let expected = exact(&csr, T::ONE, &x, T::ZERO, &y).expect("the vectors fit");
        let emulator = Emulated::new(0);
        let mut plan = Plan::from_matrix(&emulator, matrix, format).expect("there is memory");
        plan.apply(T::ONE, &x, T::ZERO, &mut y).expect("no fault");
        assert!(verify(&y, &expected, plan.format()).expect("the vectors fit").passed(), "{format}");
    }
}

/// Writes the checksums of any existing header, table and sections; `docs/container.md` defines their positions.
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
