//! Multiplication by cuSPARSE's generic interface: query the size of a buffer, preprocess the matrix, and multiply. This is
//! the same for [one vector](super::spmv) and for [several](super::spmm).

use std::ffi::c_void;
use std::rc::Rc;

use cudarc::cusparse::sys;
use host::executor::{Cuda, CudaBuffer, CudaMemory, Executor};
use host::{Csr, Error, Scalar};

use super::descriptors::{Dense, data_type};
use super::library::Library;
use super::stored::Stored;
use crate::peers::peer::{Prepared, check_multivectors};

/// Neither the matrix nor the vectors are transposed.
pub const PLAIN: sys::cusparseOperation_t = sys::cusparseOperation_t::CUSPARSE_OPERATION_NON_TRANSPOSE;

/// The arguments of a routine's functions.
pub struct Operands<'o, D> {
    pub handle: sys::cusparseHandle_t,
    /// The addresses of the scalars on the host, which have the type of the computation.
    pub alpha: *const c_void,
    pub beta: *const c_void,
    pub matrix: sys::cusparseConstSpMatDescr_t,
    pub x: &'o D,
    pub y: &'o D,
    pub data_type: sys::cudaDataType,
}

/// The functions of one kind of product, with their algorithm.
pub trait Routine {
    /// The type of descriptors of x and y.
    type Dense: Dense;

    /// Returns the number of vectors in x and y.
    fn vectors(&self) -> usize;

    /// Returns the algorithm's name.
    fn algorithm(&self) -> String;

    /// Returns whether it gives the same bits every time, according to its documentation.
    fn reproducible(&self) -> Option<bool>;

    /// Makes the descriptor of x or y.
    fn describe<T: Scalar>(&self, array: &CudaBuffer<T>) -> Result<Self::Dense, Error>;

    /// Returns the size of the buffer.
    ///
    /// # Safety
    /// The handle and the descriptors must be the library's own, of arrays that are alive, and the scalars must be
    /// readable.
    unsafe fn buffer_size(&self, operands: &Operands<'_, Self::Dense>) -> Result<usize, Error>;

    /// Preprocesses the matrix. Returns whether there is such a step.
    ///
    /// # Safety
    /// As for [`buffer_size`](Self::buffer_size), and the buffer must have that size and outlive all multiplications.
    unsafe fn preprocess(&self, operands: &Operands<'_, Self::Dense>, buffer: *mut c_void) -> Result<bool, Error>;

    /// Queues the product.
    ///
    /// # Safety
    /// As for [`preprocess`](Self::preprocess), which must have been called with this matrix and buffer, and x and y must
    /// fit the matrix.
    unsafe fn multiply(&self, operands: &Operands<'_, Self::Dense>, buffer: *mut c_void) -> Result<(), Error>;
}

/// A preprocessed matrix.
pub struct Generic<'a, T: Scalar, R: Routine> {
    // Fields are dropped in this order: the library last.
    stored: Stored,
    x: R::Dense,
    y: R::Dense,
    /// Holds the results of preprocessing.
    buffer: CudaBuffer<u64>,
    buffer_bytes: usize,
    routine: R,
    strategy: String,
    matrix: &'a Csr<T, CudaMemory>,
    library: Rc<Library<'a>>,
}

impl<'a, T: Scalar, R: Routine> Generic<'a, T, R> {
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
        // SAFETY: the handle and the descriptors are the library's own; the scalars have the type of the computation, and
        // live as long as this function.
        let buffer_bytes = unsafe { routine.buffer_size(&operands) }?;
        // Must have an address, even if no memory is needed.
        let buffer = cuda.zeros::<u64>(buffer_bytes.div_ceil(8).max(2))?;
        // SAFETY: as above; the buffer has the requested size, and lives as long as the matrix.
        let preprocessed = unsafe { routine.preprocess(&operands, buffer.address() as *mut c_void) }?;
        let preprocessed = if preprocessed { "preprocessed, " } else { "" };
        let algorithm = routine.algorithm();
        let strategy = format!("{format}, {algorithm}, {preprocessed}buffer of {buffer_bytes} bytes");
        Ok(Self { stored, x, y, buffer, buffer_bytes, routine, strategy, matrix, library })
    }
}

impl<T: Scalar, R: Routine> Prepared<T, Cuda> for Generic<'_, T, R> {
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
        // SAFETY: handle and descriptors are the library's own, and the scalars live on the host until the call returns.
        // Matrix, algorithm and buffer are those of the preprocessing, and the vectors have the matrix's lengths. All
        // arrays are this executor's, so freeing one follows on the same stream.
        unsafe { self.routine.multiply(&operands, self.buffer.address() as *mut c_void) }
    }
}

/// Returns the address of a scalar on the host.
pub fn scalar<T: Scalar>(value: &T) -> *const c_void {
    std::ptr::from_ref(value).cast()
}
