//! Matrices and files for the tests of readers and writers.
#![allow(dead_code, reason = "each test uses some of it")]

use std::path::{Path, PathBuf};

use files::Number;
use host::{Csr, Error};
use tempfile::TempDir;

/// A folder that is removed at the end.
pub struct Folder(pub TempDir);

impl Folder {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn file(&self, name: &str, contents: impl AsRef<[u8]>) -> PathBuf {
        std::fs::write(self.path(name), contents).unwrap();
        self.path(name)
    }

    /// The names of the files, sorted.
    pub fn names(&self) -> Vec<String> {
        let entries = self.0.path().read_dir().unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

/// The number at an index of a pseudorandom sequence (splitmix64).
pub fn random(place: u64) -> u64 {
    let mut bits = place.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// Values whose parts have all magnitudes and signs, including infinities and -0, but no NaN.
pub fn value<T: Number>(place: u64) -> T {
    T::from_parts(part::<T::Real>(place), part::<T::Real>(place ^ 0x77_0000))
}

fn part<T>(place: u64) -> f64 {
    let bits = random(place ^ 0x5555);
    let value = match bits % 61 {
        0 => f64::INFINITY,
        1 => -0.0,
        2 => 0.0,
        3 => 1e-310,
        _ if size_of::<T>() == 4 => f32::from_bits((bits >> 32) as u32).into(),
        _ => f64::from_bits(bits),
    };
    if value.is_nan() { 1.5 } else { value }
}

/// A matrix with about `entries` entries at random positions, some empty rows, and one long row.
pub fn matrix<T: Number>(seed: u64, rows: usize, columns: usize, entries: usize) -> Csr<T> {
    let index = |place: usize, limit: usize| (random(seed << 40 | place as u64) % limit as u64) as u32;
    let mut places: Vec<(u32, u32)> = (0..entries)
        .map(|entry| (if entry % 5 == 0 { 0 } else { index(2 * entry, rows) / 2 * 2 }, index(2 * entry + 1, columns)))
        .collect();
    places.sort_unstable();
    places.dedup();
    let (rows_of, columns_of): (Vec<_>, Vec<_>) = places.into_iter().unzip();
    let values: Vec<T> = (0..rows_of.len()).map(|entry| value(entry as u64)).collect();
    Csr::try_from_triplets(rows, columns, &rows_of, &columns_of, &values).unwrap()
}

/// Small and large matrices, including some without rows, columns or entries.
pub fn matrices<T: Number>() -> Vec<Csr<T>> {
    let sizes = [(1, 1, 1), (3, 5, 4), (5, 3, 9), (40, 17, 300), (300, 2000, 90_000), (100_000, 7, 200_000)];
    let mut matrices: Vec<_> =
        sizes.iter().zip(1..).map(|(&(rows, columns, entries), seed)| matrix(seed, rows, columns, entries)).collect();
    for (rows, columns) in [(0, 0), (0, 4), (4, 0), (4, 4)] {
        matrices.push(Csr::try_from_triplets(rows, columns, &[], &[], &[]).unwrap());
    }
    matrices
}

/// Asserts that two matrices are bitwise equal.
#[track_caller]
pub fn assert_same<T: Number>(found: &Csr<T>, expected: &Csr<T>) {
    assert_eq!((found.rows(), found.columns(), found.nnz()), (expected.rows(), expected.columns(), expected.nnz()));
    assert!(found.row_offsets() == expected.row_offsets() && found.column_indices() == expected.column_indices());
    let bits = |value: &T| value.parts().map(f64::to_bits);
    let differs =
        found.values().iter().zip(expected.values()).position(|(found, expected)| bits(found) != bits(expected));
    assert_eq!(differs, None, "the first entry that differs");
}

/// Asserts that an error is one printable line that begins with the path and contains the phrase.
#[track_caller]
pub fn check_error(error: &Error, path: &Path, phrase: &str) {
    let message = error.to_string();
    assert!(message.starts_with(&format!("{}:", path.display())), "{message}");
    assert!(message.contains(phrase), "'{message}' does not say '{phrase}'");
    assert!(!message.contains(char::is_control) && message.len() < 500, "{message:?}");
}

/// Updates the checksums of a container after a change.
pub fn seal(bytes: &mut [u8]) {
    let sections = u32::from_le_bytes(bytes[12..16].try_into().unwrap()) as usize;
    let table_end = 128 + 64 * sections;
    for entry in (128..table_end).step_by(64) {
        let number = |at: usize| u64::from_le_bytes(bytes[entry + at..entry + at + 8].try_into().unwrap()) as usize;
        let width = match bytes[entry + 24] {
            3 | 7 | 9 => 4,
            12 => 16,
            _ => 8,
        };
        let end = number(32).saturating_mul(width).saturating_add(number(40));
        if let Some(section) = bytes.get(number(40)..end) {
            let checksum = crc32fast::hash(section);
            bytes[entry + 28..entry + 32].copy_from_slice(&checksum.to_le_bytes());
        }
    }
    let checksum = crc32fast::hash(&[&bytes[..124], &bytes[128..table_end]].concat());
    bytes[124..128].copy_from_slice(&checksum.to_le_bytes());
}
