//! Matrices of C programs.

use std::borrow::Cow;
use std::ffi::c_void;

use host::interop::{Index, checked_offsets};
use host::{Csr, Scalar};

use crate::pointers::slice;
use crate::status::{Failure, Status};

/// The type of the elements of an index array.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexType {
    /// `int32_t`
    Int32 = 0,
    /// `int64_t`
    Int64 = 1,
    /// `uint32_t`
    Uint32 = 2,
    /// `uint64_t`
    Uint64 = 3,
}

/// The pattern of a matrix in compressed sparse rows (CSR), in arrays that the program owns. They are copied when a plan is
/// made from them, unless the function's description says otherwise.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Pattern {
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub columns: usize,
    /// Number of stored entries.
    pub entries: usize,
    /// The type of `row_offsets`: a `warp_spmv_index_type`.
    pub row_offset_type: i32,
    /// The type of `column_indices`: a `warp_spmv_index_type`.
    pub column_index_type: i32,
    /// Start of each row, relative to the start of the first, followed by the end of the last: rows + 1 numbers.
    pub row_offsets: *const c_void,
    /// The zero-based column of each entry, in any order within a row. NULL without entries.
    pub column_indices: *const c_void,
    /// For later versions: must be all 0. An initializer that names the fields above makes them 0.
    pub reserved: [u64; 4],
}

/// The value of an expression in which `$index` is the index type with a given number.
macro_rules! with_type {
    ($what:literal, $number:expr, $index:ident => $result:expr) => {
        match $number {
            0 => {
                type $index = i32;
                $result
            }
            1 => {
                type $index = i64;
                $result
            }
            2 => {
                type $index = u32;
                $result
            }
            3 => {
                type $index = u64;
                $result
            }
            other => Err(Pattern::wrong_type($what, other)),
        }
    };
}

impl Pattern {
    const RESERVED: [u64; 4] = [0; 4];

    /// A copy, with these values.
    ///
    /// # Safety
    /// Pointers that are not NULL and aligned must be those of arrays with the lengths and types given by the fields, and
    /// nobody may write them during the call.
    pub(crate) unsafe fn with_values<T: Scalar>(&self, values: *const T) -> Result<Csr<T>, Failure> {
        self.check_reserved()?;
        // SAFETY: the caller's promise.
        unsafe {
            with_type!("row_offsets", self.row_offset_type, O => {
                with_type!("column_indices", self.column_index_type, I => self.copied::<T, I, O>(values))
            })
        }
    }

    pub(crate) fn check_reserved(&self) -> Result<(), Failure> {
        if self.reserved == Self::RESERVED {
            return Ok(());
        }
        Err(Failure::new(Status::Argument, "the pattern's reserved fields are not all 0"))
    }

    pub(crate) fn wrong_type(what: &str, number: i32) -> Failure {
        let message = format!("the type of {what} is {number}, expected a warp_spmv_index_type");
        Failure::new(Status::Argument, message)
    }

    /// # Safety
    /// As for [`with_values`](Self::with_values), and the types must be those of the fields.
    unsafe fn copied<T: Scalar, I: Index, O: Index>(&self, values: *const T) -> Result<Csr<T>, Failure> {
        let Self { rows, columns, entries, .. } = *self;
        // SAFETY: the caller's promise.
        let offsets = unsafe { slice::<O>("row_offsets", self.row_offsets.cast(), rows.saturating_add(1))? };
        // If there are fewer entries than the pattern claims, the arrays of entries are not that long either.
        let offsets = checked_offsets(rows, columns, entries, Cow::Borrowed(offsets))?;
        // SAFETY: the caller's promise; the offsets end at `entries`.
        let indices = unsafe { slice::<I>("column_indices", self.column_indices.cast(), entries)? };
        // SAFETY: as for the indices.
        let values = unsafe { slice("values", values, entries)? };
        let indices = I::into_columns(Cow::Borrowed(indices), columns)?;
        Ok(Csr::try_new(rows, columns, offsets, indices, host::memory::copy(values)?)?)
    }
}
