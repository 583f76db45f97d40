//! Sets of columns, from sparse to dense.

use host::memory::{filled, zeros};

/// Columns per chunk, stored in words of 64 bits.
const CHUNK: usize = 1 << 15;

/// A set of columns: a bitmap that allocates only chunks with a column. It takes at most a bit per column of the matrix,
/// and little if the columns are close together.
#[derive(Default)]
pub(crate) struct ColumnSet {
    chunks: Vec<Vec<u64>>,
}

impl ColumnSet {
    /// Adds a column below `columns`, unless it is already in the set.
    ///
    /// # Errors
    /// When memory runs out.
    pub fn insert(&mut self, column: u32, columns: u64) -> Result<(), host::Error> {
        if self.chunks.is_empty() {
            self.chunks = filled((columns as usize).div_ceil(CHUNK), Vec::new())?;
        }
        let (chunk, bit) = (column as usize / CHUNK, column as usize % CHUNK);
        let chunk = &mut self.chunks[chunk];
        if chunk.is_empty() {
            *chunk = zeros(CHUNK / 64)?;
        }
        chunk[bit / 64] |= 1 << (bit % 64);
        Ok(())
    }

    /// Returns the columns, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u64> {
        let words = self.chunks.iter().enumerate().flat_map(|(number, chunk)| {
            chunk.iter().enumerate().map(move |(place, &word)| ((number * CHUNK + place * 64) as u64, word))
        });
        words.flat_map(|(first, mut word)| {
            std::iter::from_fn(move || {
                let bit = word.trailing_zeros();
                // The lowest bit, if there is one.
                word &= word.wrapping_sub(1);
                (bit < 64).then(|| first + u64::from(bit))
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_come_once_and_in_order() {
        let mut set = ColumnSet::default();
        assert_eq!(set.iter().count(), 0);
        let columns = [70_000, 0, 63, 64, 32_768, 0, 99_999, 32_767, 64, 70_000];
        columns.into_iter().for_each(|column| set.insert(column, 100_000).unwrap());
        assert!(set.iter().eq([0, 63, 64, 32_767, 32_768, 70_000, 99_999]));
        // Only chunks with a column are allocated.
        assert_eq!(set.chunks.iter().map(Vec::is_empty).collect::<Vec<_>>(), [false, false, false, false]);
        let mut set = ColumnSet::default();
        set.insert(99_999, 100_000).unwrap();
        assert_eq!(set.chunks.iter().map(Vec::is_empty).collect::<Vec<_>>(), [true, true, true, false]);
    }
}
