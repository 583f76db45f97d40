//! The columns of one row of a product, while it is being computed.

use crate::error::Error;
use crate::memory::zeros;

/// Bits of a word.
const WORD: usize = u64::BITS as usize;

/// A set of columns that returns them in ascending order without sorting: a bit per column, a bit per non-zero word of
/// those, and a bit per non-zero word of these. Memory that no column needs is never touched.
pub(super) struct ColumnSet {
    columns: Vec<u64>,
    words: Vec<u64>,
    groups: Vec<u64>,
    /// The half-open range of words of `groups` that may have a bit.
    begin: usize,
    end: usize,
}

impl ColumnSet {
    /// An empty set of columns less than `columns`.
    ///
    /// # Errors
    /// When memory runs out: a set takes a bit per column and 1/64 of that in addition.
    pub fn new(columns: usize) -> Result<Self, Error> {
        let words = columns.div_ceil(WORD);
        let groups = words.div_ceil(WORD);
        Ok(Self {
            columns: zeros(words)?,
            words: zeros(groups)?,
            groups: zeros(groups.div_ceil(WORD))?,
            begin: usize::MAX,
            end: 0,
        })
    }

    /// Adds a column, and returns whether it is new.
    #[inline]
    pub fn insert(&mut self, column: u32) -> bool {
        let place = column as usize / WORD;
        let bit = 1 << (column as usize % WORD);
        let word = &mut self.columns[place];
        let before = *word;
        *word = before | bit;
        if before == 0 {
            self.note(place);
        }
        before & bit == 0
    }

    /// Notes that a word now has a bit.
    #[inline]
    fn note(&mut self, place: usize) {
        let word = &mut self.words[place / WORD];
        if *word == 0 {
            let group = place / WORD / WORD;
            self.groups[group] |= 1 << (place / WORD % WORD);
            (self.begin, self.end) = (self.begin.min(group), self.end.max(group + 1));
        }
        *word |= 1 << (place % WORD);
    }

    /// Removes the columns in `gone`, which must be all in the set, and adds those in `new`, which only
    /// [`contains`](Self::contains) takes into account.
    pub fn replace(&mut self, gone: &[u32], new: &[u32]) {
        for &column in gone {
            self.columns[column as usize / WORD] = 0;
        }
        for &column in new {
            self.columns[column as usize / WORD] |= 1 << (column as usize % WORD);
        }
    }

    /// Whether a column is in the set.
    #[inline]
    pub fn contains(&self, column: u32) -> bool {
        self.columns[column as usize / WORD] >> (column as usize % WORD) & 1 == 1
    }

    /// Empties the set: calls `visit` for each group of 64 adjacent columns with some in the set, in ascending order, with
    /// the first column and a bit per column. O(columns in the set + range of them / 2^18).
    #[inline]
    pub fn drain(&mut self, mut visit: impl FnMut(u32, u64)) {
        for group in self.begin..self.end {
            for word in bits(std::mem::take(&mut self.groups[group])) {
                let word = group * WORD + word;
                for place in bits(std::mem::take(&mut self.words[word])) {
                    let place = word * WORD + place;
                    visit((place * WORD) as u32, std::mem::take(&mut self.columns[place]));
                }
            }
        }
        (self.begin, self.end) = (usize::MAX, 0);
    }
}

/// The indices of the set bits, in ascending order.
#[inline]
pub(super) fn bits(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let place = word.trailing_zeros() as usize;
        (word != 0).then(|| {
            word &= word - 1;
            place
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_come_back_once_and_in_order() {
        let largest = (1 << 20) + 77;
        let mut set = ColumnSet::new(largest as usize + 1).unwrap();
        for stride in [1, 63, 64, 65, 4096, 262_144, 300_007] {
            let mut columns: Vec<u32> = (0..100).map(|number| number * stride % largest).chain([largest, 0]).collect();
            columns.reverse();
            let new = columns.iter().filter(|&&column| set.insert(column)).count();
            columns.sort_unstable();
            columns.dedup();
            assert!(new == columns.len() && columns.iter().all(|&column| set.contains(column)));
            let mut drained = Vec::new();
            set.drain(|first, word| drained.extend(bits(word).map(|bit| first + bit as u32)));
            assert_eq!(drained, columns);
            set.drain(|_, _| panic!("it is empty"));
        }
    }

    #[test]
    fn no_column_is_no_memory() {
        let mut set = ColumnSet::new(0).unwrap();
        set.drain(|_, _| panic!("it is empty"));
    }
}
