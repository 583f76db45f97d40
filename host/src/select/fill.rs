//! How full dense blocks would be, from some of the block rows (Choi, Singh & Vuduc 2010, §6.4).

use std::cmp::Reverse;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::sample::{Sampling, sample};
use crate::format::{BlockSize, Csr, block_columns, padded_blocks};
use crate::real::Real;

/// Standard errors of a mean between which it is with a probability of 95 %.
const STANDARD_ERRORS: f64 = 1.96;

/// What is known of the blocks of one size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BlockFill {
    /// Rows of a block.
    pub block_height: usize,
    /// Columns of a block.
    pub block_width: usize,
    /// Block rows of the matrix.
    pub block_rows: usize,
    /// Block rows that were looked at.
    pub sampled: usize,
    /// Entries of the matrix over those of the block rows that were looked at; 1 where there are none.
    pub scale: f64,
    /// Each number of blocks that a block row has, descending, with the number of block rows that were looked at.
    pub lengths: Vec<(u32, usize)>,
    /// Half the width of the interval that has the number of blocks with a probability of 95 %, over that number; 0
    /// where all block rows were looked at.
    pub uncertainty: f64,
}

impl BlockFill {
    fn new<T: Real>(matrix: &Csr<T>, size: BlockSize, sampling: Sampling) -> Self {
        let height = size.rows();
        let block_rows = matrix.rows().div_ceil(height);
        let chosen: Vec<_> = sample(block_rows, matrix.nnz(), sampling).collect();
        let count = |scratch: &mut Vec<u32>, &block_row: &usize| {
            block_columns(matrix, size, block_row, scratch);
            let rows = block_row * height..matrix.rows().min((block_row + 1) * height);
            let entries = matrix.row_offsets().get(rows.end) - matrix.row_offsets().get(rows.start);
            (scratch.len() as u32, entries)
        };
        let mut counted: Vec<_> = chosen.par_iter().with_min_len(16).map_init(Vec::new, count).collect();
        let sampled = counted.len();
        let seen: usize = counted.iter().map(|&(_, entries)| entries).sum();
        let scale = if seen == 0 { 1.0 } else { matrix.nnz() as f64 / seen as f64 };
        let uncertainty = uncertainty(&counted, block_rows);
        counted.sort_unstable_by_key(|&(length, _)| Reverse(length));
        let lengths = counted.chunk_by(|left, right| left.0 == right.0).map(|same| (same[0].0, same.len())).collect();
        let block_width = size.columns();
        Self { block_height: height, block_width, block_rows, sampled, scale, lengths, uncertainty }
    }

    /// Whether all block rows were looked at.
    pub fn is_exact(&self) -> bool {
        self.sampled == self.block_rows
    }

    /// The number of blocks.
    pub fn blocks(&self) -> f64 {
        self.lengths.iter().map(|&(length, rows)| f64::from(length) * rows as f64).sum::<f64>() * self.scale
    }

    /// The number of blocks in partitions of so many block rows, sorted by length, padding included.
    pub fn padded_blocks(&self, partition_rows: usize) -> f64 {
        let lengths: Vec<u32> = self.lengths.iter().flat_map(|&(length, rows)| vec![length; rows]).collect();
        // A block row that was looked at stands for several alike.
        let each = self.block_rows as f64 / self.sampled.max(1) as f64;
        let partition = ((partition_rows as f64 / each).round() as usize).max(1);
        padded_blocks(&lengths, partition) as f64 * if self.is_exact() { 1.0 } else { self.scale }
    }

    /// Places of the blocks over entries; 1 where there is no entry.
    pub fn ratio(&self, nnz: usize) -> f64 {
        let places = self.blocks() * (self.block_height * self.block_width) as f64;
        if nnz == 0 { 1.0 } else { places / nnz as f64 }
    }
}

/// [`BlockFill::uncertainty`] of the ratio of blocks to entries, from how it differs between block rows.
fn uncertainty(counted: &[(u32, usize)], block_rows: usize) -> f64 {
    let sampled = counted.len();
    let (blocks, entries) = counted
        .iter()
        .fold((0.0, 0.0), |(blocks, entries), &(length, here)| (blocks + f64::from(length), entries + here as f64));
    if sampled == block_rows || blocks == 0.0 {
        return 0.0;
    }
    if sampled < 2 {
        return 1.0;
    }
    let ratio = blocks / entries;
    let squares: f64 =
        counted.iter().map(|&(length, here)| (f64::from(length) - ratio * here as f64).powi(2)).sum::<f64>();
    let unseen = 1.0 - sampled as f64 / block_rows as f64;
    let error = (squares / (sampled as f64 - 1.0) * unseen * sampled as f64).sqrt();
    STANDARD_ERRORS * error / blocks
}

/// The fill of blocks of every size, in their order.
pub(super) fn fills<T: Real>(matrix: &Csr<T>, sampling: Sampling) -> Vec<BlockFill> {
    BlockSize::ALL.par_iter().map(|&size| BlockFill::new(matrix, size, sampling)).collect()
}
