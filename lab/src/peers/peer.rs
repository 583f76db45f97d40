//! What a peer is.

use host::executor::Executor;
use host::{Csr, Error, Format, Real, Vector};

/// The format whose error bound holds for every peer in [`host::verify::verify`]: nothing is known of their order of
/// additions, and no order has a longer chain than one sum over the row.
pub const BOUND: Format = Format::CSR_SCALAR;

/// A rival. One that multiplies [several vectors](super::WithPeers::multivector_peers) has all of them in x, and in y.
pub trait Peer<T: Real, E: Executor> {
    /// What it is called in files and on the command line: the library, and where there are several ways, which.
    fn name(&self) -> &'static str;

    /// The library and its version.
    fn library(&self) -> String;

    /// Makes a matrix ready to be multiplied, preprocessing included. Neither vector is read or written; they are what
    /// a library is shown that wants to see some of the right lengths.
    ///
    /// # Errors
    /// When the library does not take such a matrix, it would be blown up beyond the default
    /// [`FillLimit`](host::format::FillLimit), memory runs out, or the device fails.
    fn prepare<'a>(
        &'a self,
        matrix: &'a Csr<T, E::Memory>,
        x: &Vector<T, E>,
        y: &mut Vector<T, E>,
    ) -> Result<Box<dyn Prepared<T, E> + 'a>, PeerError>;
}

/// A matrix that a peer has made ready.
pub trait Prepared<T: Real, E: Executor> {
    /// What the library was told.
    fn strategy(&self) -> String;

    /// Bytes of the matrix as it is stored, with the buffers that multiplying takes.
    fn storage(&self) -> u64;

    /// Whether the library says that it gives the same bits every time; none where it says nothing.
    fn reproducible(&self) -> Option<bool>;

    /// y ← α A x + β y; with β = 0, y is overwritten and never read. On a GPU it is queued on the executor's stream.
    ///
    /// # Errors
    /// When a vector does not fit the matrix, or the device fails.
    fn multiply(&mut self, alpha: T, x: &Vector<T, E>, beta: T, y: &mut Vector<T, E>) -> Result<(), Error>;
}

/// A library's operations on dense vectors. Scalars are on the host.
pub trait Blas<T: Real, E: Executor> {
    /// The library and its version.
    fn library(&self) -> String;

    /// x · y. Waits for it.
    ///
    /// # Errors
    /// When the lengths differ or the library does not take such long ones, or the device fails.
    fn dot(&self, x: &Vector<T, E>, y: &Vector<T, E>) -> Result<T, Error>;

    /// y ← α x + y.
    ///
    /// # Errors
    /// As for [`dot`](Self::dot).
    fn axpy(&self, alpha: T, x: &Vector<T, E>, y: &mut Vector<T, E>) -> Result<(), Error>;

    /// x ← α x.
    ///
    /// # Errors
    /// As for [`dot`](Self::dot).
    fn scale(&self, alpha: T, x: &mut Vector<T, E>) -> Result<(), Error>;
}

/// Why a peer does not multiply a matrix.
#[derive(Debug, thiserror::Error)]
pub enum PeerError {
    /// The library does not take such a matrix.
    #[error("{library} does not take it: {reason}")]
    Unfit {
        /// The library.
        library: &'static str,
        /// What is wrong with the matrix.
        reason: String,
    },
    /// Memory ran out, the matrix would be blown up, or the device or the library failed.
    #[error(transparent)]
    Failed(#[from] Error),
}

/// Checks that vectors fit a matrix.
#[cfg(feature = "peers")]
pub(super) fn check_vectors<T: Real, M: host::Memory>(
    matrix: &Csr<T, M>,
    x: &M::Buffer<T>,
    y: &M::Buffer<T>,
) -> Result<(), Error> {
    check_multivectors(matrix, 1, x, y)
}

/// Checks that this number of vectors fits a matrix.
#[cfg(feature = "peers")]
pub(super) fn check_multivectors<T: Real, M: host::Memory>(
    matrix: &Csr<T, M>,
    vectors: usize,
    x: &M::Buffer<T>,
    y: &M::Buffer<T>,
) -> Result<(), Error> {
    use host::memory::Buffer;
    for (what, found, length) in [("x", x.len(), matrix.columns()), ("y", y.len(), matrix.rows())] {
        let expected = length.saturating_mul(vectors);
        if found != expected {
            return Err(Error::Length { what, found, expected });
        }
    }
    Ok(())
}
