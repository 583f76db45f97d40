//! The interface of a peer.

use host::executor::Executor;
use host::{Csr, Error, Format, Real, Scalar, Vector};

/// The format whose error bound holds for every peer in [`host::verify::verify`]: their order of additions is unknown, and
/// no order has a longer chain than one sum over the row.
pub const BOUND: Format = Format::CSR_SCALAR;

/// A competing library's product. A peer for [several vectors](super::WithPeers::multivector_peers) has all of them in x,
/// and in y.
pub trait Peer<T: Scalar, E: Executor> {
    /// Returns the name in files and on the command line: the library and, if it has several ways, the way.
    fn name(&self) -> &'static str;

    /// Returns the library and its version.
    fn library(&self) -> String;

    /// Prepares a matrix for multiplication, including preprocessing. The vectors are neither read nor written; they are
    /// for libraries that require vectors of the right lengths.
    ///
    /// # Errors
    /// When the library does not support such a matrix, padding would exceed the default
    /// [`FillLimit`](host::format::FillLimit), memory runs out, or the device fails.
    fn prepare<'a>(
        &'a self,
        matrix: &'a Csr<T, E::Memory>,
        x: &Vector<T, E>,
        y: &mut Vector<T, E>,
    ) -> Result<Box<dyn Prepared<T, E> + 'a>, PeerError>;
}

/// A matrix prepared by a peer.
pub trait Prepared<T: Scalar, E: Executor> {
    /// Returns the settings passed to the library.
    fn strategy(&self) -> String;

    /// Returns the bytes of the stored matrix and the buffers for multiplying.
    fn storage(&self) -> u64;

    /// Returns whether the library documents the same bits every time; `None` if it does not tell.
    fn reproducible(&self) -> Option<bool>;

    /// y ← α A x + β y; with β = 0, y is overwritten and never read. On a GPU it is queued on the executor's stream.
    ///
    /// # Errors
    /// When a vector does not fit the matrix, or the device fails.
    fn multiply(&mut self, alpha: T, x: &Vector<T, E>, beta: T, y: &mut Vector<T, E>) -> Result<(), Error>;
}

/// A library's operations on dense vectors. Scalars are on the host.
pub trait Blas<T: Real, E: Executor> {
    /// Returns the library and its version.
    fn library(&self) -> String;

    /// Returns x · y. Blocks until it is known.
    ///
    /// # Errors
    /// When the lengths differ or the library does not support such long vectors, or the device fails.
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
    /// The library does not support such a matrix.
    #[error("{library} does not support it: {reason}")]
    Unfit {
        /// The library.
        library: &'static str,
        /// The reason.
        reason: String,
    },
    /// Memory ran out, padding would be excessive, or the device or the library failed.
    #[error(transparent)]
    Failed(#[from] Error),
}

/// Checks that vectors fit a matrix.
#[cfg(feature = "peers")]
pub(super) fn check_vectors<T: Scalar, M: host::Memory>(
    matrix: &Csr<T, M>,
    x: &M::Buffer<T>,
    y: &M::Buffer<T>,
) -> Result<(), Error> {
    check_multivectors(matrix, 1, x, y)
}

/// Checks that `vectors` vectors fit a matrix.
#[cfg(feature = "peers")]
pub(super) fn check_multivectors<T: Scalar, M: host::Memory>(
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
