//! Arrays for cuSPARSE's sliced ELLPACK: those of SELL-P without sorting, with other offsets.

use host::executor::KernelExecutor;
use host::format::sell_p;
use host::format::{FillLimit, SellP, Slicing};
use host::{Csr, Error, Scalar};

/// Rows per slice: one warp.
pub const SLICE_SIZE: u32 = 32;

/// A matrix in slices, and the offset of each slice in slots. The slots of a slice are stored by columns; the column of a
/// slot without an entry is `u32::MAX`, which is -1 to cuSPARSE.
pub struct Slices<T: Scalar, K: KernelExecutor> {
    /// Columns and values.
    pub matrix: SellP<T, K::Memory>,
    /// One offset per slice, and the number of slots.
    pub offsets: Vec<u64>,
}

impl<T: Scalar, K: KernelExecutor> Slices<T, K> {
    /// Converts `matrix` in its memory.
    ///
    /// # Errors
    /// When padding would exceed the default [`FillLimit`], memory runs out, or the device fails.
    pub fn new(executor: &K, matrix: &Csr<T, K::Memory>) -> Result<Self, Error> {
        let slicing = Slicing { slice_size: SLICE_SIZE, stride_factor: 1, sigma: 1 };
        let matrix = sell_p::from_csr(executor, matrix, slicing, FillLimit::default())?;
        let mut offsets = executor.download(matrix.slice_begins())?;
        offsets.iter_mut().for_each(|begin| *begin *= u64::from(SLICE_SIZE));
        Ok(Self { matrix, offsets })
    }
}

#[cfg(test)]
mod tests {
    use host::executor::Emulated;

    use super::*;
    use crate::peers::tests::{matrices, verified};

    #[test]
    fn the_arrays_are_those_that_cusparse_documents() {
        for (name, matrix) in matrices::<f64>() {
            let slices = Slices::new(&Emulated::new(0), &matrix).unwrap();
            let size = SLICE_SIZE as usize;
            assert_eq!(slices.offsets.len(), matrix.rows().div_ceil(size) + 1, "{name}");
            assert_eq!(slices.offsets.last().copied(), Some(slices.matrix.values().len() as u64), "{name}");
            verified(&name, &matrix, |x, y| {
                for (slice, bounds) in slices.offsets.windows(2).enumerate() {
                    for place in bounds[0] as usize..bounds[1] as usize {
                        let column = slices.matrix.column_indices()[place] as i32;
                        if column == -1 {
                            continue;
                        }
                        let row = slice * size + (place - bounds[0] as usize) % size;
                        y[row] += slices.matrix.values()[place] * x[column as usize];
                    }
                }
            });
        }
    }
}
