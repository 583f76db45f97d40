//! `cusparseSpMV`, for matrices of every format.

use std::ffi::c_void;

use cudarc::cusparse::sys;
use host::executor::CudaBuffer;
use host::{Error, Scalar};

use super::descriptors::VectorDescriptor;
use super::generic::{Operands, PLAIN, Routine};
use super::library::check;

/// Multiplication by one vector, with this algorithm.
#[derive(Clone, Copy)]
pub struct SpMv(pub sys::cusparseSpMVAlg_t);

impl Routine for SpMv {
    type Dense = VectorDescriptor;

    fn vectors(&self) -> usize {
        1
    }

    fn algorithm(&self) -> String {
        format!("{:?}", self.0)
    }

    fn reproducible(&self) -> Option<bool> {
        use sys::cusparseSpMVAlg_t::*;
        match self.0 {
            CUSPARSE_SPMV_CSR_ALG2 | CUSPARSE_SPMV_COO_ALG2 | CUSPARSE_SPMV_SELL_ALG1 => Some(true),
            CUSPARSE_SPMV_CSR_ALG1 | CUSPARSE_SPMV_COO_ALG1 => Some(false),
            _ => None,
        }
    }

    fn describe<T: Scalar>(&self, array: &CudaBuffer<T>) -> Result<VectorDescriptor, Error> {
        VectorDescriptor::new(array)
    }

    unsafe fn buffer_size(&self, operands: &Operands<'_, VectorDescriptor>) -> Result<usize, Error> {
        let &Operands { handle, alpha, beta, matrix, x, y, data_type } = operands;
        let (x, y) = (x.get().cast_const(), y.get());
        let mut bytes = 0;
        // SAFETY: the caller ensures that the operands are valid, and the size is written to a valid pointer.
        let status = unsafe {
            sys::cusparseSpMV_bufferSize(handle, PLAIN, alpha, matrix, x, beta, y, data_type, self.0, &mut bytes)
        };
        check("cusparseSpMV_bufferSize", status).map(|()| bytes)
    }

    unsafe fn preprocess(&self, operands: &Operands<'_, VectorDescriptor>, buffer: *mut c_void) -> Result<bool, Error> {
        let &Operands { handle, alpha, beta, matrix, x, y, data_type } = operands;
        let (x, y) = (x.get().cast_const(), y.get());
        // SAFETY: the caller ensures that the operands and the buffer are valid.
        let status = unsafe {
            sys::cusparseSpMV_preprocess(handle, PLAIN, alpha, matrix, x, beta, y, data_type, self.0, buffer)
        };
        check("cusparseSpMV_preprocess", status).map(|()| true)
    }

    unsafe fn multiply(&self, operands: &Operands<'_, VectorDescriptor>, buffer: *mut c_void) -> Result<(), Error> {
        let &Operands { handle, alpha, beta, matrix, x, y, data_type } = operands;
        let (x, y) = (x.get().cast_const(), y.get());
        // SAFETY: the caller ensures that the operands and the buffer are valid.
        let status = unsafe { sys::cusparseSpMV(handle, PLAIN, alpha, matrix, x, beta, y, data_type, self.0, buffer) };
        check("cusparseSpMV", status)
    }
}
