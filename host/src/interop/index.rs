//! Index types.

use std::borrow::Cow;
use std::fmt::Display;

use super::arrays::owned;
use crate::error::Error;
use crate::format::Offsets;
use crate::memory::collect;
use crate::parallel::{self, ROWS_AT_ONCE};

mod sealed {
    pub trait Sealed {}
}

/// An index type used by matrices of other crates: `i32`, `i64`, `u32`, `u64` or `usize`. The columns of a
/// [`Csr`](crate::Csr) are `u32`; its row offsets are `u32`, or `u64` if it has too many entries.
pub trait Index:
    sealed::Sealed + Copy + Default + Display + Send + Sync + TryFrom<u64> + TryInto<u64> + 'static
{
    /// Converts columns to those of a [`Csr`](crate::Csr), all less than `columns`.
    #[doc(hidden)]
    fn into_columns(indices: Cow<'_, [Self]>, columns: usize) -> Result<Vec<u32>, Error> {
        narrowed_columns(&indices, columns)
    }

    /// Converts offsets to those of a [`Csr`](crate::Csr), relative to the first.
    #[doc(hidden)]
    fn into_offsets(offsets: Cow<'_, [Self]>) -> Result<Offsets, Error> {
        copied_offsets(&offsets)
    }

    /// Converts columns of a [`Csr`](crate::Csr) to this type, which can represent them all.
    #[doc(hidden)]
    fn from_columns(columns: Vec<u32>) -> Result<Vec<Self>, Error> {
        parallel::map(columns.len(), ROWS_AT_ONCE, &|entry| Self::try_from(columns[entry].into()).unwrap_or_default())
    }

    /// Converts row offsets of a [`Csr`](crate::Csr) to this type.
    #[doc(hidden)]
    fn from_offsets(offsets: Offsets) -> Result<Vec<Self>, Error> {
        converted_offsets(&offsets)
    }

    /// Borrows row offsets of a [`Csr`](crate::Csr), if they are of this type.
    #[doc(hidden)]
    fn borrowed(_: &Offsets) -> Option<&[Self]> {
        None
    }
}

fn narrowed_columns<I: Index>(indices: &[I], columns: usize) -> Result<Vec<u32>, Error> {
    let column = |entry: usize| indices[entry].try_into().ok().filter(|&index: &u64| index < columns as u64);
    let wrong = parallel::first(indices.len(), ROWS_AT_ONCE, &|mut some| some.find(|&at| column(at).is_none()));
    if let Some(entry) = wrong {
        let reason = format!("entry {entry} is in column {} of {columns}", indices[entry]);
        return Err(Error::structure("CSR", reason));
    }
    parallel::map(indices.len(), ROWS_AT_ONCE, &|entry| column(entry).unwrap_or_default() as u32)
}

fn copied_offsets<I: Index>(offsets: &[I]) -> Result<Offsets, Error> {
    let first = offsets.first().and_then(|&first| first.try_into().ok()).unwrap_or(0);
    let offset = |row: usize| offsets[row].try_into().ok().and_then(|offset: u64| offset.checked_sub(first));
    if let Some(row) = (0..offsets.len()).find(|&row| offset(row).is_none()) {
        return Err(Error::structure("CSR", format!("row offset {row} is {}", offsets[row])));
    }
    collect((0..offsets.len()).map(|row| offset(row).unwrap_or_default()))?.try_into()
}

fn converted_offsets<I: Index>(offsets: &Offsets) -> Result<Vec<I>, Error> {
    let offset = |row: usize| I::try_from(offsets.get(row) as u64);
    if let Some(row) = (0..offsets.len()).find(|&row| offset(row).is_err()) {
        return Err(too_wide(offsets.get(row)));
    }
    collect((0..offsets.len()).map(|row| offset(row).unwrap_or_default()))
}

/// Only 32-bit types cannot represent every offset.
fn too_wide(offset: usize) -> Error {
    let what = "row offset in a matrix with offsets of 32 bits";
    Error::TooLarge { what, value: offset as u128, limit: i32::MAX as u128 }
}

macro_rules! indices {
    ($($index:ty)*) => {$(
        impl sealed::Sealed for $index {}
        impl Index for $index {}
    )*};
}
indices!(i32 i64 usize);

impl sealed::Sealed for u32 {}
impl Index for u32 {
    // `Csr::try_new` checks them against the number of columns.
    fn into_columns(indices: Cow<'_, [u32]>, _: usize) -> Result<Vec<u32>, Error> {
        owned(indices)
    }

    fn into_offsets(offsets: Cow<'_, [u32]>) -> Result<Offsets, Error> {
        if offsets.first() == Some(&0) { owned(offsets)?.try_into() } else { copied_offsets(&offsets) }
    }

    fn from_columns(columns: Vec<u32>) -> Result<Vec<u32>, Error> {
        Ok(columns)
    }

    fn from_offsets(offsets: Offsets) -> Result<Vec<u32>, Error> {
        match offsets {
            Offsets::Narrow(offsets) => Ok(offsets),
            Offsets::Wide(_) => converted_offsets(&offsets),
        }
    }

    fn borrowed(offsets: &Offsets) -> Option<&[u32]> {
        match offsets {
            Offsets::Narrow(offsets) => Some(offsets),
            Offsets::Wide(_) => None,
        }
    }
}

impl sealed::Sealed for u64 {}
impl Index for u64 {
    fn into_offsets(offsets: Cow<'_, [u64]>) -> Result<Offsets, Error> {
        if offsets.first() == Some(&0) { owned(offsets)?.try_into() } else { copied_offsets(&offsets) }
    }

    fn from_offsets(offsets: Offsets) -> Result<Vec<u64>, Error> {
        match offsets {
            Offsets::Narrow(_) => converted_offsets(&offsets),
            Offsets::Wide(offsets) => Ok(offsets),
        }
    }

    fn borrowed(offsets: &Offsets) -> Option<&[u64]> {
        match offsets {
            Offsets::Narrow(_) => None,
            Offsets::Wide(offsets) => Some(offsets),
        }
    }
}
