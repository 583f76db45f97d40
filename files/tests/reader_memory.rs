//! Peak memory of the readers, measured by an allocator of this program only.

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use common::{Folder, random};
use files::{
    Field, Loaded, MatrixMarketOptions, Number, ReadOptions, Symmetry, read, read_coordinates, write,
    write_matrix_market,
};
use host::Csr;

/// The system's allocator, with counting.
struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

fn grow(bytes: usize) {
    MOST.fetch_max(NOW.fetch_add(bytes, Ordering::Relaxed) + bytes, Ordering::Relaxed);
}

// SAFETY: Every call is forwarded to the system allocator with the same arguments.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        grow(layout.size());
        // SAFETY: The caller upholds the contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        grow(layout.size());
        // SAFETY: The caller upholds the contract.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: The caller upholds the contract.
        unsafe { System.dealloc(place, layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // The system moves large blocks without holding them twice.
        grow(size.saturating_sub(layout.size()));
        NOW.fetch_sub(layout.size().saturating_sub(size), Ordering::Relaxed);
        // SAFETY: The caller upholds the contract.
        unsafe { System.realloc(place, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Returns the result of `work` and its peak memory in bytes.
fn most_bytes<R>(work: impl FnOnce() -> R) -> (R, usize) {
    let before = NOW.load(Ordering::Relaxed);
    MOST.store(before, Ordering::Relaxed);
    let result = work();
    (result, MOST.load(Ordering::Relaxed) - before)
}

/// Bytes of entries as row, column and value.
fn triplet_bytes<T>(entries: u64) -> usize {
    entries as usize * (8 + size_of::<T>())
}

fn csr_bytes<T: Number>(matrix: &Csr<T>) -> usize {
    (matrix.rows() + 1) * 4 + matrix.nnz() * (4 + size_of::<T>())
}

/// Memory that does not grow with the file.
const FIXED: usize = 1 << 20;

/// Reads a file, and checks that this took at most a tenth more than its arrays, plus `buffer`.
#[track_caller]
fn check<T: Number>(path: &Path, buffer: usize) -> Csr<T> {
    let (loaded, most) = most_bytes(|| read::<T>(path, &ReadOptions::default()).unwrap());
    let Loaded { matrix, header, .. } = loaded;
    let arrays = triplet_bytes::<T>(header.entries).max(csr_bytes(&matrix));
    let bound = arrays + arrays / 10 + buffer + FIXED;
    assert!(most <= bound, "{}: {most} bytes, more than {bound}", path.display());
    // The matrix must be large enough that the rest does not matter.
    assert!(arrays > 8 * FIXED, "{arrays}");
    matrix
}

/// A matrix with about `per_row` entries per row, in sorted rows of uneven length, some of them empty.
fn example<T: Number>(rows: usize, per_row: u64) -> Csr<T> {
    let (mut row_indices, mut column_indices, mut values) = (vec![], vec![], vec![]);
    for row in 0..rows as u64 {
        let length = random(row) % (2 * per_row);
        let step = rows as u64 / length.max(1);
        for place in 0..length.min(rows as u64) {
            row_indices.push(row as u32);
            column_indices.push((place * step + random(row + place) % step) as u32);
            values.push(T::from_f64((random(row ^ place << 20) % 1000) as f64 - 500.0));
        }
    }
    Csr::try_from_triplets(rows, rows, &row_indices, &column_indices, &values).unwrap()
}

/// Writes the file's lines in another order.
fn reordered(from: &Path, to: &Path, mut order: impl FnMut(&mut Vec<&str>)) {
    let text = std::fs::read_to_string(from).unwrap();
    let mut lines: Vec<_> = text.lines().collect();
    let mut entries = lines.split_off(2);
    order(&mut entries);
    let mut file = std::io::BufWriter::new(std::fs::File::create(to).unwrap());
    for line in lines.iter().chain(&entries) {
        writeln!(file, "{line}").unwrap();
    }
}

fn column(line: &&str) -> u32 {
    line.split(' ').nth(1).unwrap().parse().unwrap()
}

fn matrix_market<T: Number>(folder: &Folder, rows: usize, per_row: u64) {
    let matrix = example::<T>(rows, per_row);
    let path = folder.path("rows.mtx");
    write(&path, &matrix).unwrap();
    common::assert_same(&check(&path, 0), &matrix);

    let by_column = folder.path("columns.mtx");
    reordered(&path, &by_column, |lines| lines.sort_by_key(column));
    common::assert_same(&check(&by_column, 0), &matrix);

    let shuffled = folder.path("shuffled.mtx");
    reordered(&path, &shuffled, |lines| {
        lines.sort_by_cached_key(|line| random(line.len() as u64 * 77 + u64::from(column(line))))
    });
    common::assert_same(&check(&shuffled, 0), &matrix);

    let ((coordinates, _), most) = most_bytes(|| read_coordinates::<T>(&by_column, &ReadOptions::default()).unwrap());
    let bound = triplet_bytes::<T>(matrix.nnz() as u64) / 10 * 11 + FIXED;
    assert!(most <= bound, "coordinates: {most} bytes, more than {bound}");
    assert_eq!(coordinates.values.len(), matrix.nnz());

    let compressed = folder.path("compressed.mtx.gz");
    write(&compressed, &matrix).unwrap();
    let text = std::fs::metadata(&path).unwrap().len() as usize;
    common::assert_same(&check(&compressed, text + text / 8), &matrix);
}

/// A single test, because the allocator counts for the whole program.
#[test]
fn readers_keep_to_their_bounds() {
    // The same number of threads on any machine.
    rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap().install(all_readers);
}

fn all_readers() {
    let folder = Folder::new();
    let entries = 1_000_000;
    matrix_market::<f64>(&folder, entries / 8, 8);
    matrix_market::<f32>(&folder, entries / 30, 30);
    // As many rows as entries.
    matrix_market::<f64>(&folder, entries, 1);

    // A symmetric file holds half of the matrix.
    let half = example::<f64>(entries / 4, 6);
    let (offsets, columns, values) = half.clone().into_parts();
    let (mut rows_of, mut columns_of, mut values_of) = (vec![], vec![], vec![]);
    for row in 0..half.rows() {
        for entry in offsets.get(row)..offsets.get(row + 1) {
            let column = columns[entry];
            if column <= row as u32 {
                rows_of.extend([row as u32, column]);
                columns_of.extend([column, row as u32]);
                values_of.extend([values[entry]; 2]);
            }
        }
    }
    let symmetric = Csr::try_from_triplets(half.rows(), half.rows(), &rows_of, &columns_of, &values_of).unwrap();
    let path = folder.path("symmetric.mtx");
    let options = MatrixMarketOptions { field: Field::Real, symmetry: Symmetry::Symmetric };
    write_matrix_market(&path, &symmetric, options).unwrap();
    common::assert_same(&check(&path, 0), &symmetric);

    // The other readers: the matrix plus the memory that their documentation states.
    let matrix = example::<f64>(entries / 8, 8);
    let path = folder.path("matrix.wspmv");
    write(&path, &matrix).unwrap();
    common::assert_same(&check(&path, 0), &matrix);
    let path = folder.path("matrix.npz");
    write(&path, &matrix).unwrap();
    common::assert_same(&check(&path, 9 * matrix.nnz()), &matrix);
}
