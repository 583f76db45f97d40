//! Arrays for cuSPARSE's BSR, made on the host.

use host::format::Offsets;
use host::{Csr, Scalar};
use rayon::prelude::*;

/// Sizes of square blocks to try.
const SIZES: std::ops::RangeInclusive<usize> = 2..=8;

/// One block row in this number is sampled to choose the size.
const SAMPLED: usize = 64;

/// Blocks that take more than this many times the bytes of CSR do not suit the matrix: a multiplication is bound by the
/// bytes that it moves.
const MOST_TIMES_CSR: f64 = 1.25;

/// A matrix in square blocks, stored by rows within each block. Blocks of a block row are ordered by column.
#[derive(Debug)]
pub struct Blocks<T> {
    /// Rows and columns of a block.
    pub size: usize,
    /// The offset of each block row, in blocks.
    pub offsets: Vec<u32>,
    /// The block column of each block.
    pub columns: Vec<u32>,
    /// The values of each block; 0 without an entry.
    pub values: Vec<T>,
}

impl<T: Scalar> Blocks<T> {
    /// Stores `matrix` in blocks of the size from 2 to 8 that takes the fewest bytes, judging by a sample of the block
    /// rows, among the sizes that divide it: cuSPARSE has no blocks that extend past an edge. O(nnz log(longest block
    /// row)), in parallel.
    ///
    /// # Errors
    /// Why there is no such size, or that blocks do not suit this matrix, on one line.
    pub fn new(matrix: &Csr<T>) -> Result<Self, String> {
        let divides = |&size: &usize| matrix.rows().is_multiple_of(size) && matrix.columns().is_multiple_of(size);
        let sampled = SIZES.filter(divides).map(|size| (sampled_bytes(matrix, size), size));
        let (_, size) = sampled.min_by(|(left, _), (right, _)| left.total_cmp(right)).ok_or_else(|| {
            format!("no block size from 2 to 8 divides {} rows and {} columns", matrix.rows(), matrix.columns())
        })?;
        let lengths: Vec<usize> = block_columns(matrix, size).map(|columns| columns.len()).collect();
        let times = bytes::<T>(size, lengths.iter().sum(), lengths.len()) / matrix.bytes() as f64;
        if times > MOST_TIMES_CSR {
            return Err(format!(
                "blocks of {size} x {size}, the best size, would take {times:.2} times the bytes of CSR"
            ));
        }
        let offsets = match Offsets::from_lengths(lengths.iter().copied()).map_err(|error| error.to_string())? {
            Offsets::Narrow(offsets) if offsets.last().is_none_or(|&blocks| blocks <= i32::MAX as u32) => offsets,
            _ => return Err("there are 2^31 blocks or more".into()),
        };
        let blocks = block_columns(matrix, size).enumerate().map(|(block_row, columns)| {
            let mut values = vec![T::ZERO; columns.len() * size * size];
            for (inner_row, row) in (block_row * size..(block_row + 1) * size).enumerate() {
                for (column, value) in matrix.row(row) {
                    let (block_column, inner_column) = (column / size as u32, column as usize % size);
                    // Every entry's block exists.
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

/// Returns the block columns of each block row, in order.
fn block_columns<T: Scalar>(matrix: &Csr<T>, size: usize) -> impl IndexedParallelIterator<Item = Vec<u32>> + '_ {
    (0..matrix.rows() / size)
        .into_par_iter()
        .with_min_len(256)
        .map(move |block_row| columns_of(matrix, size, block_row))
}

/// Returns the block columns of a block row, in order.
fn columns_of<T: Scalar>(matrix: &Csr<T>, size: usize, block_row: usize) -> Vec<u32> {
    let entries = matrix.row_offsets().get(block_row * size)..matrix.row_offsets().get((block_row + 1) * size);
    let mut columns: Vec<u32> = matrix.column_indices()[entries].iter().map(|column| column / size as u32).collect();
    columns.sort_unstable();
    columns.dedup();
    columns
}

/// Returns the bytes of the arrays with blocks of this size, estimated from every [`SAMPLED`]th block row.
fn sampled_bytes<T: Scalar>(matrix: &Csr<T>, size: usize) -> f64 {
    let block_rows = matrix.rows() / size;
    let taken = (0..block_rows).into_par_iter().step_by(SAMPLED);
    let sample = taken.len().max(1);
    let blocks: usize = taken.map(|block_row| columns_of(matrix, size, block_row).len()).sum();
    bytes::<T>(size, (blocks as f64 / sample as f64 * block_rows as f64) as usize, block_rows)
}

/// Returns the bytes of the arrays for these numbers of blocks and block rows.
fn bytes<T>(size: usize, blocks: usize, block_rows: usize) -> f64 {
    (blocks as u128 * (size * size * size_of::<T>() + 4) as u128 + 4 * (block_rows as u128 + 1)) as f64
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
        assert!(made >= 1, "{made}");
        for (text, size) in [("block-diagonal:blocks=30,size=6", 6), ("dense:rows=24", 8), ("elasticity:width=4", 3)] {
            let matrix = generated::<f64>(text);
            let blocks = Blocks::new(&matrix).unwrap();
            assert_eq!(blocks.size, size, "{text}");
            check(text, &matrix, &blocks);
        }
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
        // One entry per block: blocks save nothing.
        let rows: Vec<u32> = (0..1 << 17).map(|row| row * 2).collect();
        let values = vec![1.0; rows.len()];
        let scattered = Csr::try_from_triplets(1 << 18, 1 << 18, &rows, &rows, &values).unwrap();
        assert!(Blocks::new(&scattered).unwrap_err().contains("times the bytes of CSR"));
    }
}
