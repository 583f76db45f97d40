//! Multiplication by `cusparseSpMV`, for matrices of every format.

use std::ffi::c_void;
use std::rc::Rc;

use cudarc::cusparse::sys;
use host::executor::{Cuda, CudaBuffer, CudaMemory, Executor};
use host::{Csr, Error, Real};

use super::descriptors::{MatrixDescriptor, VectorDescriptor, data_type};
use super::library::{Library, check};
use crate::peers::peer::{Prepared, check_vectors};

/// The matrix as it is, not transposed.
pub const PLAIN: sys::cusparseOperation_t = sys::cusparseOperation_t::CUSPARSE_OPERATION_NON_TRANSPOSE;

/// A matrix as cuSPARSE sees it.
pub struct Stored {
    /// The matrix; declared first, so that it goes before the arrays do.
    pub descriptor: MatrixDescriptor,
    /// The arrays that are not those of the CSR matrix.
    #[expect(dead_code, reason = "they are kept for the descriptor")]
    pub arrays: Vec<Box<dyn std::any::Any>>,
    /// Bytes of all its arrays.
    pub bytes: u128,
}

/// A matrix that was preprocessed.
pub struct Generic<'a, T: Real> {
    // Fields are dropped in this order: the library last.
    stored: Stored,
    x: VectorDescriptor,
    y: VectorDescriptor,
    /// Preprocessing leaves its results there.
    buffer: CudaBuffer<u64>,
    buffer_bytes: usize,
    algorithm: sys::cusparseSpMVAlg_t,
    strategy: String,
    matrix: &'a Csr<T, CudaMemory>,
    library: Rc<Library<'a>>,
}

impl<'a, T: Real> Generic<'a, T> {
    /// Preprocesses a matrix. Queued on the stream.
    ///
    /// # Errors
    /// When memory runs out, or the library or the device fails.
    pub fn new(
        library: Rc<Library<'a>>,
        matrix: &'a Csr<T, CudaMemory>,
        stored: Stored,
        algorithm: sys::cusparseSpMVAlg_t,
        format: &str,
        [x, y]: [&CudaBuffer<T>; 2],
    ) -> Result<Self, Error> {
        check_vectors(matrix, x, y)?;
        let cuda = library.enter()?;
        let (x, y) = (VectorDescriptor::new(x)?, VectorDescriptor::new(y)?);
        let (one, zero) = (T::ONE, T::ZERO);
        let (alpha, beta) = (scalar(&one), scalar(&zero));
        let mut buffer_bytes = 0;
        // SAFETY: the handle and the descriptors are the library's own; the scalars are on the host, as the handle
        // expects, of the type that is computed in, and live as long as this function; the size is written to a valid place.
        let status = unsafe {
            sys::cusparseSpMV_bufferSize(
                library.handle(),
                PLAIN,
                alpha,
                stored.descriptor.get(),
                x.get().cast_const(),
                beta,
                y.get(),
                data_type::<T>(),
                algorithm,
                &mut buffer_bytes,
            )
        };
        check("cusparseSpMV_bufferSize", status)?;
        // Never without an address, even where nothing is needed.
        let buffer = cuda.zeros::<u64>(buffer_bytes.div_ceil(8).max(2))?;
        // SAFETY: the handle and the descriptors are the library's own; the scalars live as long as this function; the
        // buffer has the size that was asked for, and lives as long as the matrix.
        let status = unsafe {
            sys::cusparseSpMV_preprocess(
                library.handle(),
                PLAIN,
                alpha,
                stored.descriptor.get(),
                x.get().cast_const(),
                beta,
                y.get(),
                data_type::<T>(),
                algorithm,
                buffer.address() as *mut c_void,
            )
        };
        check("cusparseSpMV_preprocess", status)?;
        let strategy = format!("{format}, {algorithm:?}, preprocessed, buffer of {buffer_bytes} bytes");
        Ok(Self { stored, x, y, buffer, buffer_bytes, algorithm, strategy, matrix, library })
    }
}

impl<T: Real> Prepared<T, Cuda> for Generic<'_, T> {
    fn strategy(&self) -> String {
        self.strategy.clone()
    }

    fn storage(&self) -> u64 {
        self.stored.bytes as u64 + self.buffer_bytes as u64
    }

    fn reproducible(&self) -> Option<bool> {
        use sys::cusparseSpMVAlg_t::*;
        // As its documentation says of each algorithm.
        match self.algorithm {
            CUSPARSE_SPMV_CSR_ALG2 | CUSPARSE_SPMV_COO_ALG2 | CUSPARSE_SPMV_SELL_ALG1 => Some(true),
            CUSPARSE_SPMV_CSR_ALG1 | CUSPARSE_SPMV_COO_ALG1 => Some(false),
            _ => None,
        }
    }

    fn multiply(&mut self, alpha: T, x: &CudaBuffer<T>, beta: T, y: &mut CudaBuffer<T>) -> Result<(), Error> {
        check_vectors(self.matrix, x, y)?;
        self.library.check_own(&[x, y])?;
        self.library.enter()?;
        self.x.point_to(x)?;
        self.y.point_to(y)?;
        // SAFETY: handle and descriptors are the library's own, and the scalars live on the host until the call
        // returns. Matrix, algorithm and buffer are those that were preprocessed, and the vectors have the matrix's
        // lengths. All arrays are this executor's, so freeing one comes after this on the same stream.
        let status = unsafe {
            sys::cusparseSpMV(
                self.library.handle(),
                PLAIN,
                scalar(&alpha),
                self.stored.descriptor.get(),
                self.x.get().cast_const(),
                scalar(&beta),
                self.y.get(),
                data_type::<T>(),
                self.algorithm,
                self.buffer.address() as *mut c_void,
            )
        };
        check("cusparseSpMV", status)
    }
}

/// Where a scalar is on the host.
pub fn scalar<T: Real>(value: &T) -> *const c_void {
    std::ptr::from_ref(value).cast()
}
