//! Rows of given lengths, in blocks, with columns near the diagonal and elsewhere.

use host::real::Scalar;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::Like;
use super::table::Shape;
use crate::Generate;
use crate::assemble::RowByRow;
use crate::bijection::Bijection;
use crate::draw::{Purpose, fill_distinct, stream, value};
use crate::lengths::{Lengths, Spread};
use crate::rectangle::Popular;

/// Block rows whose numbers of blocks follow the shape's distribution, in random order.
///
/// The matrix has whole blocks only, so it can have fewer nonzeros than requested: without the remainder that does not
/// fill a block, and the rows missing from the last block row.
pub(super) struct Profile<'a> {
    shape: &'a Shape,
    seed: u64,
    /// Rows and columns, in blocks; an incomplete block row counts, an incomplete block column does not.
    block_rows: usize,
    block_columns: usize,
    /// The number of blocks of a block row, by rank.
    lengths: Lengths,
    ranks: Bijection,
    elsewhere: Popular,
}

impl<'a> Profile<'a> {
    pub(super) fn new(like: &Like, nnz: usize, shape: &'a Shape) -> Self {
        let block = shape.block;
        let block_rows = like.rows().div_ceil(block);
        let block_columns = like.columns() / block;
        let blocks = (nnz as u64).saturating_mul(like.times as u64) / (block * block) as u64;
        let spread = match shape.spread {
            Spread::Bounded { shortest, longest, deviation } => {
                let [shortest, longest, deviation] = [shortest, longest, deviation].map(|length| length / block as f64);
                Spread::Bounded { shortest, longest, deviation }
            }
            spread => spread,
        };
        Self {
            shape,
            seed: like.seed,
            block_rows,
            block_columns,
            lengths: Lengths::new(block_rows, blocks, spread),
            ranks: Bijection::new(block_rows, like.seed),
            elsewhere: Popular::new(block_columns, shape.skew, like.seed),
        }
    }

    fn blocks(&self, block_row: usize) -> u32 {
        self.lengths.of(self.ranks.forward(block_row))
    }

    /// Draws a block column for a block row whose diagonal is in block column `at`.
    fn draw(&self, at: usize, random: &mut ChaCha8Rng) -> u32 {
        if random.random::<f64>() >= self.shape.local {
            return self.elsewhere.draw(random);
        }
        let width = self.shape.width as i64;
        let mut column = at as i64 + random.random_range(-width..=width);
        for stride in self.shape.strides {
            column += stride as i64 * random.random_range(-1..=1i64);
        }
        // Wraps around, so that the first and last rows have as many columns to choose from.
        column.rem_euclid(self.block_columns as i64) as u32
    }
}

impl RowByRow for Profile<'_> {
    fn seed(&self) -> u64 {
        self.seed
    }

    fn length(&self, row: usize, _: &mut ChaCha8Rng) -> u32 {
        self.blocks(row / self.shape.block) * self.shape.block as u32
    }

    fn fill<T: Scalar>(&self, row: usize, random: &mut ChaCha8Rng, columns: &mut [u32], values: &mut [T]) {
        let block = self.shape.block;
        let block_row = row / block;
        let at = (block_row as u64 * self.block_columns as u64 / self.block_rows as u64) as usize;
        let mut shared = stream(self.seed, Purpose::Row, block_row);
        let count = columns.len() / block;
        // A matrix without entries near the diagonal has none on it either.
        let mut diagonal = self.shape.local > 0.0;
        fill_distinct(&mut columns[..count], || {
            if std::mem::take(&mut diagonal) { at as u32 } else { self.draw(at, &mut shared) }
        });
        // Backwards, because the columns of a block overwrite the block columns of later ones.
        for entry in (0..columns.len()).rev() {
            columns[entry] = columns[entry / block] * block as u32 + (entry % block) as u32;
        }
        values.fill_with(|| value(random));
    }
}

#[cfg(test)]
mod tests {
    use super::super::table::{Structure, TABLE};
    use super::*;

    /// Drawing distinct columns terminates.
    #[test]
    fn each_row_has_columns_to_choose_from() {
        for stand in TABLE {
            let Structure::Profile(shape) = &stand.structure else { continue };
            let longest = match shape.spread {
                Spread::Bounded { longest, .. } => longest as usize,
                Spread::Tail { longest, .. } => longest as usize,
                _ => panic!("no bounds"),
            };
            let mut near: Vec<usize> = Vec::new();
            let width = shape.width as isize;
            for (plane, line) in (-1..=1).flat_map(|plane| (-1..=1).map(move |line| (plane, line))) {
                let middle = line * shape.strides[0] as isize + plane * shape.strides[1] as isize;
                let columns = (stand.columns / shape.block) as isize;
                near.extend((middle - width..=middle + width).map(|column| column.rem_euclid(columns) as usize));
            }
            near.sort_unstable();
            near.dedup();
            let room = if shape.local == 1.0 { near.len() } else { stand.columns / shape.block / 4 };
            assert!(longest / shape.block < room, "{}: {longest} of {room}", stand.help.name);
        }
    }
}
