//! Peak memory of conversions by kernels, against the peak that each of them states. A GPU takes the same amount.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use cuda_std::launch::Launch;
use cuda_std::{Global, GlobalMut};
use warp_spmv::device::Device;
use warp_spmv::executor::{Emulated, Executor, KernelExecutor, Operation};
use warp_spmv::format::{BellpackStrategy, BlockSize, FillLimit, StripHeight};
use warp_spmv::memory::{Buffer, Element, Memory};
use warp_spmv::{Csr, Error, Format, Scalar};

use crate::scenarios::parts::check_parts_of_arrays;
use crate::scenarios::{Numbers, with_rows};

/// The emulator, with arrays counted in bytes.
#[derive(Clone)]
struct Metered {
    emulator: Emulated,
    meter: Arc<Meter>,
}

#[derive(Default)]
struct Meter {
    now: AtomicI64,
    peak: AtomicI64,
}

impl Meter {
    fn add(&self, bytes: i64) {
        let now = self.now.fetch_add(bytes, Ordering::Relaxed) + bytes;
        self.peak.fetch_max(now, Ordering::Relaxed);
    }
}

struct MeteredMemory;

struct MeteredBuffer<T> {
    array: Vec<T>,
    meter: Arc<Meter>,
}

impl Memory for MeteredMemory {
    type Buffer<T: Element> = MeteredBuffer<T>;
}

impl<T> Buffer<T> for MeteredBuffer<T> {
    fn len(&self) -> usize {
        self.array.len()
    }

    fn global(&self) -> Global<T> {
        self.array.global()
    }

    fn global_mut(&mut self) -> GlobalMut<T> {
        self.array.global_mut()
    }

    fn global_parts(&self) -> Global<T::Real>
    where
        T: Scalar,
    {
        self.array.global_parts()
    }

    fn global_parts_mut(&mut self) -> GlobalMut<T::Real>
    where
        T: Scalar,
    {
        self.array.global_parts_mut()
    }
}

impl<T> Drop for MeteredBuffer<T> {
    fn drop(&mut self) {
        self.meter.add(-(size_of_val(&self.array[..]) as i64));
    }
}

impl Metered {
    fn new() -> Self {
        Self { emulator: Emulated::new(3), meter: Arc::default() }
    }

    fn count<T>(&self, array: Vec<T>) -> MeteredBuffer<T> {
        self.meter.add(size_of_val(&array[..]) as i64);
        MeteredBuffer { array, meter: Arc::clone(&self.meter) }
    }

    /// Returns the result of `work`, the peak of bytes while it ran, and the bytes after it.
    fn peak<R>(&self, work: impl FnOnce() -> R) -> (R, i64, i64) {
        self.meter.peak.store(self.meter.now.load(Ordering::Relaxed), Ordering::Relaxed);
        let result = work();
        (result, self.meter.peak.load(Ordering::Relaxed), self.meter.now.load(Ordering::Relaxed))
    }
}

// SAFETY: the emulator runs the kernels, and the arrays are its own.
unsafe impl KernelExecutor for Metered {
    unsafe fn launch(&self, launch: &Launch) -> Result<(), Error> {
        // SAFETY: forwarded to the caller.
        unsafe { self.emulator.launch(launch) }
    }

    fn unwritten<T: Element>(&self, length: usize) -> Result<MeteredBuffer<T>, Error> {
        Ok(self.count(self.emulator.unwritten(length)?))
    }
}

// SAFETY: the arrays are those of the emulator, counted.
unsafe impl Executor for Metered {
    type Memory = MeteredMemory;
    type Recording = ();

    fn device(&self) -> &Device {
        self.emulator.device()
    }

    fn upload<T: Element>(&self, array: Vec<T>) -> Result<MeteredBuffer<T>, Error> {
        Ok(self.count(array))
    }

    fn zeros<T: Element>(&self, length: usize) -> Result<MeteredBuffer<T>, Error> {
        Ok(self.count(vec![T::default(); length]))
    }

    fn download<T: Element>(&self, array: &MeteredBuffer<T>) -> Result<Vec<T>, Error> {
        Ok(array.array.clone())
    }

    fn duplicate<T: Element>(&self, array: &MeteredBuffer<T>) -> Result<MeteredBuffer<T>, Error> {
        Ok(self.count(array.array.clone()))
    }

    fn copy<T: Element>(&self, from: &MeteredBuffer<T>, to: &mut MeteredBuffer<T>) -> Result<(), Error> {
        self.emulator.copy(&from.array, &mut to.array)
    }

    fn run<O: Operation>(&self, operands: O::Operands<'_, MeteredMemory>) -> Result<O::Output<MeteredMemory>, Error> {
        O::by_kernels(self, operands)
    }
}

/// Sizes on which the bounds depend.
struct Sizes {
    rows: i64,
    columns: i64,
    nnz: i64,
    /// Bytes of CSR and of the format.
    csr: i64,
    format: i64,
    /// Bytes per entry of CSR.
    entry: i64,
}

/// Measures the conversions from CSR to one format and back.
fn measure(matrix: &Csr<f64>, format: Format) -> (Sizes, i64, i64) {
    let executor = Metered::new();
    let csr = matrix.clone().upload(&executor).unwrap();
    let csr_bytes = executor.meter.now.load(Ordering::Relaxed);
    let unlimited = FillLimit { times_csr: f64::INFINITY };
    let (converted, there, format_bytes) = executor.peak(|| csr.convert(&executor, format, unlimited).unwrap());
    let (back, and_back, after) = executor.peak(|| converted.into_csr_on(&executor).unwrap());
    drop(back);
    assert_eq!(executor.meter.now.load(Ordering::Relaxed), 0, "{format}: memory is leaked");
    assert!(after <= csr_bytes, "{format}: {after} bytes after converting back, {csr_bytes} before");
    let [rows, columns, nnz] = [matrix.rows(), matrix.columns(), matrix.nnz()].map(|size| size as i64);
    (Sizes { rows, columns, nnz, csr: csr_bytes, format: format_bytes, entry: 12 }, there, and_back)
}

/// Bytes of arrays of counts per warp or block of the small device, for any matrix.
const FEW: i64 = 1500;

/// Whether `format` is ELLPACK, whole or in slices of any kind.
fn is_sliced(format: Format) -> bool {
    ["ell", "sell-"].iter().any(|beginning| format.name().starts_with(beginning))
}

/// Returns the peak memory stated for the conversion from CSR: the arrays of both formats and the workspace beside
/// them, or the memory before the new arrays exist, whichever is larger. Arrays that a format takes over count once.
/// `None` if nothing is stated here for the format.
fn stated_from_csr(format: Format, sorted: bool, sizes: &Sizes) -> Option<i64> {
    let &Sizes { rows, columns, nnz, entry, csr, format: format_bytes } = sizes;
    // A second copy of the entries, and the lengths of rows, if rows must be sorted and are not.
    let copy = if sorted { 0 } else { entry * nnz + 4 * rows };
    let block_rows = |size: BlockSize| rows / size.rows() as i64 + 1;
    let (before, beside) = match format {
        Format::Dia => (8 * (rows + columns) + copy, 0),
        Format::SELL_P_SORTED => (20 * rows, 0),
        _ if is_sliced(format) => (4 * rows, 0),
        Format::Bcsr(size) => ((4 * rows).max(12 * block_rows(size)) + copy, 0),
        // A block has at least one entry.
        Format::Bellpack(BellpackStrategy { size, .. }) => (copy, 4 * nnz + 24 * block_rows(size)),
        Format::COO => (0, -entry * nnz),
        Format::Hyb(_) => (0, 12 * rows),
        Format::Cmrs(_) => (copy, 0),
        Format::CmrsPadded => (0, rows / 4),
        Format::Coo16 => (20 * nnz + 4 * rows, 8 * nnz),
        Format::Csr(_) => (0, -format_bytes),
        _ => return None,
    };
    Some((csr + before).max(csr + format_bytes + beside))
}

/// Returns the same for the conversion to CSR.
fn stated_to_csr(format: Format, sizes: &Sizes) -> Option<i64> {
    let &Sizes { rows, nnz, entry, csr, format: format_bytes, .. } = sizes;
    let beside = match format {
        // A row is cut into parts of 64 diagonals, or of 32 blocks, with 8 bytes per part.
        Format::Dia => 8 * rows * (format_bytes / (rows * 8 * 64) + 1),
        Format::Bcsr(size) => 8 * (rows + format_bytes / (256 * size.columns() as i64)) + 8 * rows,
        Format::Bellpack(BellpackStrategy { size, .. }) => {
            8 * (rows + format_bytes / (256 * size.columns() as i64)) + 12 * rows
        }
        Format::COO => -entry * nnz,
        Format::Hyb(_) => 8 * rows,
        _ if is_sliced(format) => 0,
        Format::CmrsPadded | Format::Cmrs(_) => 0,
        Format::Coo16 => (16 * nnz + 4 * rows - csr).max(4 * nnz),
        Format::Csr(_) => -format_bytes,
        _ => return None,
    };
    Some(csr + format_bytes + beside)
}

#[test]
fn conversions_take_as_much_memory_as_they_state() {
    let mut numbers = Numbers::new(41);
    let lengths: Vec<usize> = (0..1000).map(|row| row * 7 % 49).collect();
    let unsorted = with_rows::<f64>(300, &lengths, &mut numbers);
    let mut sorted = unsorted.clone();
    sorted.sort_rows().unwrap();
    // One per storage, with parameters that small matrices exercise.
    let mut formats = Format::STANDARD.to_vec();
    formats.dedup_by_key(|format| format.storage());
    let formats = formats.into_iter().map(|format| match format {
        Format::Bcsr(_) => Format::Bcsr(BlockSize::B2x3),
        Format::Bellpack(_) => Format::bellpack(BlockSize::B2x3),
        Format::Cmrs(_) => Format::Cmrs(StripHeight::H8),
        format => format,
    });
    println!("| format | rows | from CSR: peak bytes | ratio to stated | to CSR | ratio to stated |");
    println!("|---|---|--:|--:|--:|--:|");
    for format in formats {
        for (matrix, is_sorted) in [(&sorted, true), (&unsorted, false)] {
            let (sizes, there, back) = measure(matrix, format);
            let (stated_there, stated_back) =
                (stated_from_csr(format, is_sorted, &sizes), stated_to_csr(format, &sizes));
            let order = if is_sorted { "sorted" } else { "unsorted" };
            let ratio = |peak, stated: Option<i64>| stated.map_or(f64::NAN, |stated| peak as f64 / stated as f64);
            let [there_ratio, back_ratio] = [ratio(there, stated_there), ratio(back, stated_back)];
            println!("| {format} | {order} | {there} | {there_ratio:.3} | {back} | {back_ratio:.3} |");
            for (way, peak, stated) in [("from", there, stated_there), ("to", back, stated_back)] {
                // Twice both formats is more than any stated conversion takes.
                let most = stated.unwrap_or(2 * (sizes.csr + sizes.format));
                assert!(peak <= most + FEW, "{format}, {order}, {way} CSR: {peak} bytes, {most} stated");
                // The stated number is not far too large either.
                let least = stated.unwrap_or(0);
                assert!(10 * peak >= 9 * least, "{format}, {order}, {way} CSR: {peak} bytes, {least} stated");
            }
        }
    }
}

/// An executor that does not override the methods for parts of arrays.
#[test]
fn parts_of_arrays_are_read_and_written_as_wholes() {
    check_parts_of_arrays(&Metered::new());
}
