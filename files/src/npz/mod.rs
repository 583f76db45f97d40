//! What `scipy.sparse.save_npz` writes: a zip archive with a NumPy array a member.
//!
//! `npy` is the header of an array, `read` and `write` are the matrix.
#![forbid(unsafe_code)]

mod npy;
mod read;
mod write;

pub use read::read_npz;
pub(super) use read::{is_zip, parse};
pub use write::write_npz;
