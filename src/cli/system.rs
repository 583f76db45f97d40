//! A linear system.

use warp_spmv::Csr;
use warp_spmv::io::Number;

/// A x = b, on the host.
pub struct System<T: Number> {
    pub name: String,
    pub matrix: Csr<T>,
    pub b: Vec<T>,
    pub start: Vec<T>,
    /// The x from which b was computed.
    pub known: Option<Vec<T>>,
}
