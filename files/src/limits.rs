//! How far a header is trusted.

use host::format::LARGEST_DIMENSION;

/// Rows or columns that any file may have, however short it is.
const FREE_DIMENSION: u64 = 1 << 24;

/// Rows or columns per byte of the file that it may have beyond that.
const DIMENSION_PER_BYTE: u64 = 16;

/// Checks a number of rows or columns in a file of `bytes` bytes, since memory will be allocated for each.
pub(super) fn check_dimension(what: &str, dimension: u64, bytes: usize) -> Result<(), String> {
    if dimension > LARGEST_DIMENSION as u64 {
        return Err(format!("{dimension} {what} are more than the {LARGEST_DIMENSION} that can be indexed"));
    }
    if dimension > FREE_DIMENSION.max((bytes as u64).saturating_mul(DIMENSION_PER_BYTE)) {
        return Err(format!(
            "{dimension} {what} in a file of {bytes} bytes: more than {FREE_DIMENSION} are taken only up to \
             {DIMENSION_PER_BYTE} for each byte"
        ));
    }
    Ok(())
}
