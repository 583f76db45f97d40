//! The beginnings of files of known kinds.
#![forbid(unsafe_code)]

use crate::container::layout::is_container;
use crate::gzip::is_compressed;
use crate::matrix_market::header::has_banner;
use crate::npz::npy::is_zip;
use crate::rutherford_boeing::header::has_header;

/// Whether a file with this beginning may be of a known kind.
pub(super) fn is_known(begin: &[u8]) -> bool {
    [is_compressed, is_container, is_zip, has_banner, has_header].iter().any(|is| is(begin))
}
