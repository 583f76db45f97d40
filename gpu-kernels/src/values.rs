//! The values of a matrix, stored as wide as they are computed with or narrower.

use cuda_std::{Global, GpuScalar, Stored};

/// The stored values, and the table that some of them need.
pub(crate) struct Values<V, T> {
    /// The stored numbers.
    pub stored: Global<V>,
    /// The number that each code stands for; empty if there are no codes.
    pub table: Global<T>,
}

impl<V, T> Clone for Values<V, T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<V, T> Copy for Values<V, T> {}

impl<T> Values<T, T> {
    /// Values that are stored as wide as they are computed with: the table is never read.
    #[inline(always)]
    pub fn as_they_are(values: Global<T>) -> Self {
        Self { stored: values, table: values }
    }
}

impl<V: Stored<T>, T: GpuScalar> Values<V, T> {
    /// Widens a stored number.
    ///
    /// # Safety
    /// The table has an entry for the code.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub unsafe fn widen(self, stored: V) -> T {
        stored.widen(|code| self.table.load(code))
    }
}
