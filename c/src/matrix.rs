//! Matrices as C programs have them.

use std::ffi::c_void;

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
/// made of them.
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
    /// Where each row begins, counted from where the first one does, and where the last one ends: rows + 1 numbers.
    pub row_offsets: *const c_void,
    /// The column of each entry, counted from 0; in any order within a row. NULL where there is no entry.
    pub column_indices: *const c_void,
}

/// Calls the function of this name with an array of the type that a number says.
macro_rules! with_indices {
    ($what:literal, $type:expr, $pointer:expr, $length:expr, $indices:ident => $result:expr) => {
        match $type {
            0 => {
                let $indices = slice::<i32>($what, $pointer.cast(), $length)?;
                $result
            }
            1 => {
                let $indices = slice::<i64>($what, $pointer.cast(), $length)?;
                $result
            }
            2 => {
                let $indices = slice::<u32>($what, $pointer.cast(), $length)?;
                $result
            }
            3 => {
                let $indices = slice::<u64>($what, $pointer.cast(), $length)?;
                $result
            }
            other => {
                let message = concat!("the type of ", $what, " is ");
                Err(Failure::new(Status::Argument, format!("{message}{other}, expected a warp_spmv_index_type")))
            }
        }
    };
}

impl Pattern {
    /// A copy, with these values.
    ///
    /// # Safety
    /// Where pointers are not NULL and aligned, they are those of arrays as long as the fields say, of the types that these
    /// say, and nobody writes them during the call.
    pub(crate) unsafe fn with_values<T: Scalar>(&self, values: *const T) -> Result<Csr<T>, Failure> {
        let Self { rows, columns, entries, row_offsets, column_indices, .. } = *self;
        let offsets = rows.saturating_add(1);
        // SAFETY: the caller's promise, for all of them.
        unsafe {
            let values = slice("values", values, entries)?;
            with_indices!("row_offsets", self.row_offset_type, row_offsets, offsets, offsets => {
                with_indices!("column_indices", self.column_index_type, column_indices, entries, indices => {
                    Ok(Csr::try_from_slices(rows, columns, offsets, indices, values)?)
                })
            })
        }
    }
}
