//! Multiplication by cuSPARSE's generic interface: the size of a buffer is asked for, the matrix preprocessed, and then
//! multiplied. That is the same for [one vector](super::spmv) and for [several](super::spmm).

use std::ffi::c_void;
use std::rc::Rc;

use cudarc::cusparse::sys;
use host::executor::{Cuda, CudaBuffer, CudaMemory, Executor};
use host::{Csr, Error, Real};

use super::descriptors::{Dense, MatrixDescriptor, data_type};
use super::library::Library;
use crate::peers::peer::{Prepared, check_multivectors};

/// The matrix, or the vectors, as they are, not transposed.
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

/// What the functions of a routine are called with.
pub struct Operands<'o, D> {
    pub handle: sys::cusparseHandle_t,
    /// Where the scalars are on the host, of the type that is computed in.
    pub alpha: *const c_void,
    pub beta: *const c_void,
    pub matrix: sys::cusparseConstSpMatDescr_t,
    pub x: &'o D,
    pub y: &'o D,
    pub data_type: sys::cudaDataType,
}

/// The functions of one kind of product, with the algorithm that they are told.
pub trait Routine {
    /// What describes x and y.
    type Dense: Dense;

    /// How many vectors x and y are.
    fn vectors(&self) -> usize;

    /// The algorithm's name.
    fn algorithm(&self) -> String;

    /// Whether it gives the same bits every time, as its documentation says.
    fn reproducible(&self) -> Option<bool>;

    /// Describes x or y.
    fn describe<T: Real>(&self, array: &CudaBuffer<T>) -> Result<Self::Dense, Error>;

    /// The size of the buffer.
    ///
    /// # Safety
    /// The handle and the descriptors are the library's own, of arrays that are there, and the scalars can be read.
    unsafe fn buffer_size(&self, operands: &Operands<'_, Self::Dense>) -> Result<usize, Error>;

    /// Preprocesses the matrix, and says whether there was such a step.
    ///
    /// # Safety
    /// As for [`buffer_size`](Self::buffer_size), and the buffer has that size and lives as long as is multiplied.
    unsafe fn preprocess(&self, operands: &Operands<'_, Self::Dense>, buffer: *mut c_void) -> Result<bool, Error>;

    /// Queues the product.
    ///
    /// # Safety
    /// As for [`preprocess`](Self::preprocess), of which the matrix and the buffer are, and x and y fit the matrix.
    unsafe fn multiply(&self, operands: &Operands<'_, Self::Dense>, buffer: *mut c_void) -> Result<(), Error>;
}

/// A matrix that was preprocessed.
pub struct Generic<'a, T: Real, R: Routine> {
    // Fields are dropped in this order: the library last.
    stored: Stored,
    x: R::Dense,
    y: R::Dense,
    /// Preprocessing leaves its results there.
    buffer: CudaBuffer<u64>,
    buffer_bytes: usize,
    routine: R,
    strategy: String,
    matrix: &'a Csr<T, CudaMemory>,
    library: Rc<Library<'a>>,
}

impl<'a, T: Real, R: Routine> Generic<'a, T, R> {
    /// Preprocesses a matrix. Queued on the stream.
    ///
    /// # Errors
    /// When memory runs out, or the library or the device fails.
    pub fn new(
        library: Rc<Library<'a>>,
        matrix: &'a Csr<T, CudaMemory>,
        stored: Stored,
        routine: R,
        format: &str,
        [x, y]: [&CudaBuffer<T>; 2],
    ) -> Result<Self, Error> {
        check_multivectors(matrix, routine.vectors(), x, y)?;
        let cuda = library.enter()?;
        let (x, y) = (routine.describe(x)?, routine.describe(y)?);
        let (one, zero) = (T::ONE, T::ZERO);
        let operands = Operands {
            handle: library.handle(),
            alpha: scalar(&one),
            beta: scalar(&zero),
            matrix: stored.descriptor.get(),
            x: &x,
            y: &y,
            data_type: data_type::<T>(),
        };
        // SAFETY: the handle and the descriptors are the library's own; the scalars are of the type that is computed
        // in, and live as long as this function.
        let buffer_bytes = unsafe { routine.buffer_size(&operands) }?;
        // Never without an address, even where nothing is needed.
        let buffer = cuda.zeros::<u64>(buffer_bytes.div_ceil(8).max(2))?;
        // SAFETY: as above; the buffer has the size that was asked for, and lives as long as the matrix.
        let preprocessed = unsafe { routine.preprocess(&operands, buffer.address() as *mut c_void) }?;
        let preprocessed = if preprocessed { "preprocessed, " } else { "" };
        let algorithm = routine.algorithm();
        let strategy = format!("{format}, {algorithm}, {preprocessed}buffer of {buffer_bytes} bytes");
        Ok(Self { stored, x, y, buffer, buffer_bytes, routine, strategy, matrix, library })
    }
}

impl<T: Real, R: Routine> Prepared<T, Cuda> for Generic<'_, T, R> {
    fn strategy(&self) -> String {
        self.strategy.clone()
    }

    fn storage(&self) -> u64 {
        self.stored.bytes as u64 + self.buffer_bytes as u64
    }

    fn reproducible(&self) -> Option<bool> {
        self.routine.reproducible()
    }

    fn multiply(&mut self, alpha: T, x: &CudaBuffer<T>, beta: T, y: &mut CudaBuffer<T>) -> Result<(), Error> {
        check_multivectors(self.matrix, self.routine.vectors(), x, y)?;
        self.library.check_own(&[x, y])?;
        self.library.enter()?;
        self.x.point_to(x)?;
        self.y.point_to(y)?;
        let operands = Operands {
            handle: self.library.handle(),
            alpha: scalar(&alpha),
            beta: scalar(&beta),
            matrix: self.stored.descriptor.get(),
            x: &self.x,
            y: &self.y,
            data_type: data_type::<T>(),
        };
        // SAFETY: handle and descriptors are the library's own, and the scalars live on the host until the call
        // returns. Matrix, algorithm and buffer are those that were preprocessed, and the vectors have the matrix's
        // lengths. All arrays are this executor's, so freeing one comes after this on the same stream.
        unsafe { self.routine.multiply(&operands, self.buffer.address() as *mut c_void) }
    }
}

/// Where a scalar is on the host.
pub fn scalar<T: Real>(value: &T) -> *const c_void {
    std::ptr::from_ref(value).cast()
}
