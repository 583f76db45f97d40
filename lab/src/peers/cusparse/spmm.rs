//! `cusparseSpMM`, for several vectors at once.

use std::ffi::c_void;

use cudarc::cusparse::sys;
use host::executor::CudaBuffer;
use host::{Error, Multivector, Scalar};

use super::descriptors::BlockDescriptor;
use super::generic::{Operands, PLAIN, Routine};
use super::library::{check, has};

/// Functions required only for several vectors. cudarc panics when a function is missing.
pub const NEEDED: &[&str] = &[
    "cusparseCreateDnMat",
    "cusparseDestroyDnMat",
    "cusparseDnMatSetValues",
    "cusparseSpMM_bufferSize",
    "cusparseSpMM",
];

/// A function that is called if it exists.
const PREPROCESS: &str = "cusparseSpMM_preprocess";

/// Multiplication by vectors of this shape, with this algorithm.
#[derive(Clone, Copy)]
pub struct SpMm {
    pub algorithm: sys::cusparseSpMMAlg_t,
    pub shape: Multivector,
}

impl Routine for SpMm {
    type Dense = BlockDescriptor;

    fn vectors(&self) -> usize {
        self.shape.vectors
    }

    fn algorithm(&self) -> String {
        format!("{:?}", self.algorithm)
    }

    fn reproducible(&self) -> Option<bool> {
        use sys::cusparseSpMMAlg_t::*;
        Some(matches!(self.algorithm, CUSPARSE_SPMM_COO_ALG2 | CUSPARSE_SPMM_CSR_ALG3))
    }

    fn describe<T: Scalar>(&self, array: &CudaBuffer<T>) -> Result<BlockDescriptor, Error> {
        BlockDescriptor::new(array, self.shape)
    }

    unsafe fn buffer_size(&self, operands: &Operands<'_, BlockDescriptor>) -> Result<usize, Error> {
        let &Operands { handle, alpha, beta, matrix, x, y, data_type } = operands;
        let (x, y, algorithm) = (x.get().cast_const(), y.get(), self.algorithm);
        let mut bytes = 0;
        // SAFETY: the caller ensures that the operands are valid, and the size is written to a valid pointer.
        let status = unsafe {
            sys::cusparseSpMM_bufferSize(
                handle, PLAIN, PLAIN, alpha, matrix, x, beta, y, data_type, algorithm, &mut bytes,
            )
        };
        check("cusparseSpMM_bufferSize", status).map(|()| bytes)
    }

    unsafe fn preprocess(&self, operands: &Operands<'_, BlockDescriptor>, buffer: *mut c_void) -> Result<bool, Error> {
        if !has(PREPROCESS) {
            return Ok(false);
        }
        let &Operands { handle, alpha, beta, matrix, x, y, data_type } = operands;
        let (x, y, algorithm) = (x.get().cast_const(), y.get(), self.algorithm);
        // SAFETY: the function exists, and the caller ensures that the operands and the buffer are valid.
        let status = unsafe {
            sys::cusparseSpMM_preprocess(handle, PLAIN, PLAIN, alpha, matrix, x, beta, y, data_type, algorithm, buffer)
        };
        match status {
            // The step is optional, and not every algorithm supports it.
            sys::cusparseStatus_t::CUSPARSE_STATUS_NOT_SUPPORTED => Ok(false),
            status => check(PREPROCESS, status).map(|()| true),
        }
    }

    unsafe fn multiply(&self, operands: &Operands<'_, BlockDescriptor>, buffer: *mut c_void) -> Result<(), Error> {
        let &Operands { handle, alpha, beta, matrix, x, y, data_type } = operands;
        let (x, y, algorithm) = (x.get().cast_const(), y.get(), self.algorithm);
        // SAFETY: the caller ensures that the operands and the buffer are valid.
        let status =
            unsafe { sys::cusparseSpMM(handle, PLAIN, PLAIN, alpha, matrix, x, beta, y, data_type, algorithm, buffer) };
        check("cusparseSpMM", status)
    }
}
