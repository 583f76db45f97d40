//! The arrays of cuSPARSE's BSR, made on the host.

use host::format::{FillLimit, Offsets};
use host::{Csr, Real};
use rayon::prelude::*;

/// Sizes of the square blocks that are tried.
const SIZES: std::ops::RangeInclusive<usize> = 2..=8;

/// A matrix in square blocks, row by row within each block. Blocks of a block row are in the order of their columns.
#[derive(Debug)]
pub struct Blocks<T> {
    /// Rows and columns of a block.
    pub size: usize,
    /// Where each block row begins, counted in blocks.
    pub offsets: Vec<u32>,
    /// The block column of each block.
    pub columns: Vec<u32>,
    /// The values of each block; 0 where there is no entry.
    pub values: Vec<T>,
}

impl<T: Real> Blocks<T> {
    /// The same matrix as `matrix`, in blocks of the size that takes the fewest bytes of those from 2 to 8 that divide
    /// it: cuSPARSE has no blocks that reach over an edge. O(nnz log(longest block row)) for each size, in parallel.
    ///
    /// # Errors
    /// Why there is no such size, in one line.
    pub fn new(matrix: &Csr<T>) -> Result<Self, String> {
        let divides = |&size: &usize| matrix.rows().is_multiple_of(size) && matrix.columns().is_multiple_of(size);
        let counted = SIZES.filter(divides).map(|size| {
            let lengths: Vec<usize> = block_columns(matrix, size).map(|columns| columns.len()).collect();
            (bytes::<T>(size, &lengths), size, lengths)
        });
        let (bytes, size, lengths) = counted.min_by_key(|&(bytes, size, _)| (bytes, size)).ok_or_else(|| {
            format!("no block size from 2 to 8 divides {} rows and {} columns", matrix.rows(), matrix.columns())
        })?;
        if !FillLimit::default().allows(bytes, matrix.bytes()) {
            let times = bytes as f64 / matrix.bytes() as f64;
            return Err(format!("blocks of {size} x {size} would take {bytes} bytes, {times:.1} times CSR"));
        }
        let offsets = match Offsets::from_lengths(lengths.iter().copied()) {
            Offsets::Narrow(offsets) if offsets.last().is_none_or(|&blocks| blocks <= i32::MAX as u32) => offsets,
            _ => return Err("there are 2^31 blocks or more".into()),
        };
        let blocks = block_columns(matrix, size).enumerate().map(|(block_row, columns)| {
            let mut values = vec![T::ZERO; columns.len() * size * size];
            for (inner_row, row) in (block_row * size..(block_row + 1) * size).enumerate() {
                for (column, value) in matrix.row(row) {
                    let (block_column, inner_column) = (column / size as u32, column as usize % size);
                    // Every entry's block is there.
                    let block = columns.partition_point(|&other| other < block_column);
                    let place = &mut values[(block * size + inner_row) * size + inner_column];
                    *place = *place + value;
                }
            }
            (columns, values)
        });
        let (columns, values): (Vec<_>, Vec<_>) = blocks.unzip();
        Ok(Self { size, offsets, columns: columns.concat(), values: values.concat() })
    }
}

/// The block columns of each block row, in order.
fn block_columns<T: Real>(matrix: &Csr<T>, size: usize) -> impl IndexedParallelIterator<Item = Vec<u32>> + '_ {
    (0..matrix.rows() / size).into_par_iter().with_min_len(256).map(move |block_row| {
        let entries = matrix.row_offsets().get(block_row * size)..matrix.row_offsets().get((block_row + 1) * size);
        let mut columns: Vec<u32> =
            matrix.column_indices()[entries].iter().map(|column| column / size as u32).collect();
        columns.sort_unstable();
        columns.dedup();
        columns
    })
}

/// Bytes of the arrays for so many blocks in each block row.
fn bytes<T>(size: usize, lengths: &[usize]) -> u128 {
    let blocks: usize = lengths.iter().sum();
    blocks as u128 * (size * size * size_of::<T>() + 4) as u128 + 4 * (lengths.len() as u128 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::tests::{generated, matrices, verified};

    fn check(name: &str, matrix: &Csr<f64>, blocks: &Blocks<f64>) {
        verified(name, matrix, |x, y| {
            for (block_row, bounds) in blocks.offsets.windows(2).enumerate() {
                for block in bounds[0] as usize..bounds[1] as usize {
                    for place in 0..blocks.size * blocks.size {
                        let row = block_row * blocks.size + place / blocks.size;
                        let column = blocks.columns[block] as usize * blocks.size + place % blocks.size;
                        y[row] += blocks.values[block * blocks.size * blocks.size + place] * x[column];
                    }
                }
            }
        });
    }

    #[test]
    fn the_arrays_are_those_that_cusparse_documents() {
        let mut made = 0;
        for (name, matrix) in matrices::<f64>() {
            match Blocks::new(&matrix) {
                Ok(blocks) => {
                    check(&name, &matrix, &blocks);
                    made += 1;
                }
                Err(reason) => assert!(!reason.contains('\n'), "{name}: {reason}"),
            }
        }
        assert!(made >= 4, "{made}");
    }

    #[test]
    fn the_blocks_that_are_there_are_found() {
        let matrix = generated::<f64>("elasticity:width=5");
        let blocks = Blocks::new(&matrix).unwrap();
        assert_eq!((blocks.size, blocks.values.len()), (3, matrix.nnz()));
        check("elasticity", &matrix, &blocks);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let prime = generated::<f64>("stencil:3:101");
        assert!(Blocks::new(&prime).unwrap_err().contains("no block size"));
        // One entry in each block: nothing that blocks could save.
        let rows: Vec<u32> = (0..1 << 17).map(|row| row * 2).collect();
        let values = vec![1.0; rows.len()];
        let scattered = Csr::try_from_triplets(1 << 18, 1 << 18, &rows, &rows, &values).unwrap();
        assert_eq!(Blocks::new(&scattered).unwrap().size, 2);
    }
}
