//! Fill of dense blocks, estimated from a sample of the block rows (Choi, Singh & Vuduc 2010, §6.4).

use std::cmp::Reverse;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::pattern::Pattern;
use super::sample::{Sampling, places};
use crate::error::Error;
use crate::format::{BlockSize, block_columns, block_columns_of, rows_of_block};
use crate::memory::{collect, filled, reserve, with_capacity};
use crate::parallel;

/// Half the width of a 95 % confidence interval for a mean, in standard errors.
const STANDARD_ERRORS: f64 = 1.96;

/// Reciprocal of the largest fraction of entries sampled per size: 1 % for all sizes together takes less time than a
/// multiplication.
const LARGEST_PART: usize = 1000;

/// Number of entries that may be sampled in any case.
const ENTRIES: usize = 1 << 11;

/// Minimum number of block rows drawn, however long they are.
const LEAST_DRAWS: usize = 64;

/// Entries per draw, and the minimum and maximum number of draws, of which each size takes as many as it can afford.
const ENTRIES_FOR_A_DRAW: usize = 4000;
const FEWEST_DRAWS: usize = 256;
const MOST_DRAWS: usize = 1 << 12;

/// Number of entries above which only part of a block row is sampled.
const LONG: usize = 1 << 6;

/// Block rows that a thread samples at a time.
const DRAWN_AT_ONCE: usize = 16;

/// The fill of blocks of one size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BlockFill {
    /// Rows of a block.
    pub block_height: usize,
    /// Columns of a block.
    pub block_width: usize,
    /// Block rows of the matrix.
    pub block_rows: usize,
    /// Block rows sampled.
    pub sampled: usize,
    /// Numbers of blocks per block row, descending, each with the number of block rows that it stands for.
    pub lengths: Vec<(u32, f64)>,
    /// Half the width of the 95 % confidence interval for the number of blocks, divided by that number; 0 if all block
    /// rows were sampled.
    pub uncertainty: f64,
}

/// A sampled block row.
#[derive(Clone, Copy)]
struct Seen {
    blocks: u32,
    entries: usize,
    /// Number of times it was drawn.
    draws: usize,
    /// Whether all of it was sampled.
    whole: bool,
}

/// A block row to be sampled.
#[derive(Clone, Copy)]
struct Drawn {
    block_row: usize,
    entries: usize,
    draws: usize,
    /// The index of the entry by which it was drawn; `None` to sample all of it.
    entry: Option<usize>,
}

impl Drawn {
    /// Counts its blocks: all of them, or those in the part of its columns with the entry by which it was drawn. A
    /// block row is split into as many parts as make each short, and each part is drawn in proportion to its entries.
    fn look(self, matrix: &impl Pattern, size: BlockSize, scratch: &mut Vec<u32>) -> Result<Seen, Error> {
        let Self { block_row, entries, draws, entry } = self;
        let seen = |blocks: usize, whole: bool| Seen { blocks: blocks as u32, entries, draws, whole };
        let Some(entry) = entry.filter(|_| entries > LONG) else {
            block_columns(matrix, size, block_row, scratch)?;
            return Ok(seen(scratch.len(), true));
        };
        let column = matrix.columns_of(entry..entry + 1)[0];
        let width = matrix.columns().div_ceil(entries.div_ceil(LONG)).next_multiple_of(size.columns());
        let begin = column as usize / width * width;
        // If a row is not sorted, this may be another part of it.
        let part = |row: usize| {
            let row = matrix.columns_of_row(row);
            let first = row.partition_point(|&column| (column as usize) < begin);
            let row = &row[first..];
            &row[..row.partition_point(|&column| (column as usize) < begin + width)]
        };
        let rows = rows_of_block(matrix.rows(), size, block_row).map(part);
        let looked_at: usize = rows.clone().map(<[u32]>::len).sum();
        block_columns_of(rows, size, scratch)?;
        let blocks = scratch.len() as f64 * entries as f64 / looked_at.max(1) as f64;
        Ok(seen((blocks.round() as usize).max(1), false))
    }
}

impl BlockFill {
    /// Block rows are drawn by their entries, in proportion to their number: the long ones, which matter, are thus
    /// included, and the average is of blocks per entry, which varies little.
    fn new(
        matrix: &impl Pattern,
        size: BlockSize,
        entries: &[(usize, usize)],
        sampling: Sampling,
    ) -> Result<Self, Error> {
        let block_rows = matrix.rows().div_ceil(size.rows());
        let drawn = draw(matrix, size.rows(), entries, sampling)?;
        let mut seen = filled(drawn.len(), Seen { blocks: 0, entries: 0, draws: 0, whole: false })?;
        parallel::try_chunks_mut(&mut seen, DRAWN_AT_ONCE, &|(chunk, seen)| {
            let mut scratch = Vec::new();
            for (seen, drawn) in seen.iter_mut().zip(&drawn[chunk * DRAWN_AT_ONCE..]) {
                *seen = drawn.look(matrix, size, &mut scratch)?;
            }
            Ok(())
        })?;
        let whole = seen.len() == block_rows && seen.iter().all(|seen| seen.whole);
        seen.sort_unstable_by_key(|seen| Reverse(seen.blocks));
        let draws: usize = seen.iter().map(|seen| seen.draws).sum();
        let stands_for = |seen: &Seen| match sampling {
            Sampling::Everything => 1.0,
            Sampling::Part => matrix.nnz() as f64 / draws as f64 * seen.draws as f64 / seen.entries as f64,
        };
        let same = |left: &Seen, right: &Seen| left.blocks == right.blocks;
        let lengths = seen.chunk_by(same).map(|same| (same[0].blocks, same.iter().map(stands_for).sum())).collect();
        Ok(Self {
            block_height: size.rows(),
            block_width: size.columns(),
            block_rows,
            sampled: seen.len(),
            lengths,
            uncertainty: if whole { 0.0 } else { uncertainty(&seen, draws) },
        })
    }

    /// Whether all block rows were sampled.
    pub fn is_exact(&self) -> bool {
        self.uncertainty == 0.0 && self.sampled == self.block_rows
    }

    /// The number of blocks.
    pub fn blocks(&self) -> f64 {
        self.lengths.iter().map(|&(length, rows)| f64::from(length) * rows).sum()
    }

    /// Steps of all block rows if `lanes` lanes share each, one block per lane at a time.
    pub fn steps(&self, lanes: u32) -> f64 {
        self.lengths.iter().map(|&(length, rows)| f64::from(length.div_ceil(lanes)) * rows).sum()
    }

    /// The number of blocks in partitions of `partition_rows` block rows, sorted by length, including padding.
    pub fn padded_blocks(&self, partition_rows: usize) -> f64 {
        let (mut padded, mut partition_left, mut width) = (0.0, 0.0, 0);
        for &(length, rows) in &self.lengths {
            // Those that fill a partition begun by longer ones are as wide as its first.
            let filling = rows.min(partition_left);
            padded += filling * f64::from(width);
            let own = rows - filling;
            padded += own * f64::from(length);
            partition_left -= filling;
            if own > 0.0 {
                width = length;
                let over = own % partition_rows as f64;
                partition_left = if over > 0.0 { partition_rows as f64 - over } else { 0.0 };
            }
        }
        padded
    }

    /// Slots of the blocks divided by entries; 1 without entries.
    pub fn ratio(&self, nnz: usize) -> f64 {
        let places = self.blocks() * (self.block_height * self.block_width) as f64;
        if nnz == 0 { 1.0 } else { places / nnz as f64 }
    }
}

/// Evenly spaced entries, each with its row, used to draw block rows of every size.
fn drawn_entries(matrix: &impl Pattern, sampling: Sampling) -> Result<Vec<(usize, usize)>, Error> {
    let entries = match sampling {
        Sampling::Everything => Vec::new(),
        Sampling::Part => {
            let draws = (matrix.nnz() / ENTRIES_FOR_A_DRAW).clamp(FEWEST_DRAWS, MOST_DRAWS);
            collect(places(matrix.nnz(), draws))?
        }
    };
    parallel::map(entries.len(), DRAWN_AT_ONCE, &|draw| (matrix.row_of(entries[draw]), entries[draw]))
}

/// The rows of all block rows of every size that are sampled.
pub(super) fn block_rows_looked_at(matrix: &impl Pattern) -> Result<Vec<Range<usize>>, Error> {
    let entries = drawn_entries(matrix, Sampling::Part)?;
    let mut rows = Vec::new();
    for &size in BlockSize::ALL {
        let drawn = draw(matrix, size.rows(), &entries, Sampling::Part)?;
        reserve(&mut rows, drawn.len())?;
        rows.extend(drawn.iter().map(|drawn| rows_of_block(matrix.rows(), size, drawn.block_row)));
    }
    Ok(rows)
}

/// The block rows of these entries; all block rows if everything is sampled.
fn draw(
    matrix: &impl Pattern,
    height: usize,
    entries: &[(usize, usize)],
    sampling: Sampling,
) -> Result<Vec<Drawn>, Error> {
    let block_rows = matrix.rows().div_ceil(height);
    let entries_of = |block_row: usize| {
        let rows = block_row * height..matrix.rows().min((block_row + 1) * height);
        matrix.row_offsets().get(rows.end) - matrix.row_offsets().get(rows.start)
    };
    let whole = |block_row: usize| Drawn { block_row, entries: entries_of(block_row), draws: 1, entry: None };
    if sampling == Sampling::Everything {
        return collect((0..block_rows).map(whole));
    }
    let mut drawn: Vec<Drawn> = with_capacity(entries.len())?;
    for &(row, entry) in entries {
        let block_row = row / height;
        match drawn.last_mut() {
            Some(last) if last.block_row == block_row && last.entries <= LONG => last.draws += 1,
            _ => drawn.push(Drawn { entry: Some(entry), ..whole(block_row) }),
        }
    }
    // If they are long, an evenly spaced subset.
    let looked_at: usize = drawn.iter().map(|drawn| drawn.entries.min(LONG)).sum();
    let affordable = (matrix.nnz() / LARGEST_PART).max(ENTRIES);
    let step = looked_at.div_ceil(affordable).min(drawn.len() / LEAST_DRAWS).max(1);
    collect(drawn.into_iter().step_by(step))
}

/// The 95 % bound on the frequency of a case seen in no draw, times the draws (the rule of three), times its effect: two
/// entries in one block instead of two.
const UNSEEN: f64 = 3.0 * 0.5;

/// [`BlockFill::uncertainty`], from the variation of the number of blocks per entry between draws.
fn uncertainty(seen: &[Seen], draws: usize) -> f64 {
    let ratio = |seen: &Seen| f64::from(seen.blocks) / seen.entries as f64;
    let sum: f64 = seen.iter().map(|seen| ratio(seen) * seen.draws as f64).sum();
    match draws {
        0 => 0.0,
        1 => 1.0,
        _ => {
            let mean = sum / draws as f64;
            let squares: f64 = seen.iter().map(|seen| (ratio(seen) - mean).powi(2) * seen.draws as f64).sum();
            let spread = STANDARD_ERRORS * (squares / (draws as f64 - 1.0) / draws as f64).sqrt() / mean;
            spread.max(UNSEEN / draws as f64)
        }
    }
}

/// The fill of blocks of every size, in order.
pub(super) fn fills(matrix: &impl Pattern, sampling: Sampling) -> Result<Vec<BlockFill>, Error> {
    let entries = drawn_entries(matrix, sampling)?;
    let sizes = BlockSize::ALL;
    let fills = parallel::map(sizes.len(), 1, &|number| BlockFill::new(matrix, sizes[number], &entries, sampling))?;
    fills.into_iter().collect()
}
