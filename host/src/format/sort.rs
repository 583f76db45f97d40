//! Sorting the entries of a row or a strip.

use crate::error::Error;
use crate::memory::reserve;
use crate::real::Scalar;

/// Sorts entries repeatedly in the same memory.
pub(super) struct Sorter<T> {
    keys: Vec<u64>,
    values: Vec<T>,
}

impl<T: Scalar> Sorter<T> {
    /// Creates a sorter that has allocated no memory yet.
    pub fn new() -> Self {
        Self { keys: Vec::new(), values: Vec::new() }
    }

    /// Sorts entries by index; equal indices keep their order.
    ///
    /// # Errors
    /// When there are 2^32 entries or more, or memory runs out.
    pub fn sort(&mut self, indices: &mut [u32], values: &mut [T]) -> Result<(), Error> {
        if indices.is_sorted() {
            return Ok(());
        }
        let Ok(count) = u32::try_from(indices.len()) else {
            let what = "number of entries that are sorted together";
            return Err(Error::TooLarge { what, value: indices.len() as u128, limit: u32::MAX.into() });
        };
        // Not the standard library's stable sort, whose allocation may fail. The position makes each key unique, so
        // this sort is stable as well.
        let Self { keys, values: unsorted } = self;
        keys.clear();
        reserve(keys, indices.len())?;
        keys.extend(indices.iter().zip(0..count).map(|(&index, place)| u64::from(index) << 32 | u64::from(place)));
        keys.sort_unstable();
        unsorted.clear();
        reserve(unsorted, values.len())?;
        unsorted.extend_from_slice(values);
        for ((index, value), &key) in indices.iter_mut().zip(values).zip(&*keys) {
            *index = (key >> 32) as u32;
            *value = unsorted[key as u32 as usize];
        }
        Ok(())
    }
}
