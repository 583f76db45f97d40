//! Descriptors of matrices and vectors, which free themselves.

use std::ffi::c_void;
use std::ptr::{null, null_mut};

use cudarc::cusparse::sys;
use host::executor::CudaBuffer;
use host::memory::{Buffer, Element, ElementType};
use host::{Error, Real};

use super::library::check;

/// What cuSPARSE calls a type of numbers.
pub fn data_type<T: Real>() -> sys::cudaDataType {
    match T::TYPE {
        ElementType::Float32 => sys::cudaDataType::CUDA_R_32F,
        _ => sys::cudaDataType::CUDA_R_64F,
    }
}

/// What cuSPARSE calls a type of indices, which are signed there.
pub fn index_type<I: Element>() -> sys::cusparseIndexType_t {
    match I::TYPE {
        ElementType::Uint64 => sys::cusparseIndexType_t::CUSPARSE_INDEX_64I,
        _ => sys::cusparseIndexType_t::CUSPARSE_INDEX_32I,
    }
}

/// Where an array is on the GPU.
pub fn address<T: Element>(array: &CudaBuffer<T>) -> *const c_void {
    array.address() as *const c_void
}

/// The descriptor of a matrix.
pub struct MatrixDescriptor(sys::cusparseConstSpMatDescr_t);

impl MatrixDescriptor {
    /// What `create`, the function called `call`, makes.
    ///
    /// # Safety
    /// `create` makes a descriptor by cuSPARSE if it says that it does, of arrays that outlive it.
    pub unsafe fn new(
        call: &str,
        create: impl FnOnce(&mut sys::cusparseConstSpMatDescr_t) -> sys::cusparseStatus_t,
    ) -> Result<Self, Error> {
        let mut descriptor = null();
        check(call, create(&mut descriptor))?;
        Ok(Self(descriptor))
    }

    /// The descriptor itself.
    pub fn get(&self) -> sys::cusparseConstSpMatDescr_t {
        self.0
    }
}

impl Drop for MatrixDescriptor {
    fn drop(&mut self) {
        // SAFETY: cuSPARSE made it, and it is not used any more.
        let _ = unsafe { sys::cusparseDestroySpMat(self.0) };
    }
}

/// The descriptor of a vector.
pub struct VectorDescriptor(sys::cusparseDnVecDescr_t);

impl VectorDescriptor {
    /// For a vector and those of its length that [`point_to`](Self::point_to) names later.
    pub fn new<T: Real>(vector: &CudaBuffer<T>) -> Result<Self, Error> {
        let mut descriptor = null_mut();
        let values = address(vector).cast_mut();
        // SAFETY: the descriptor is written to a valid place, and the array is as long as is said. It is read and
        // written by a multiplication alone, and that is shown its vectors before.
        let status =
            unsafe { sys::cusparseCreateDnVec(&mut descriptor, vector.len() as i64, values, data_type::<T>()) };
        check("cusparseCreateDnVec", status)?;
        Ok(Self(descriptor))
    }

    /// Means another vector of the same length.
    pub fn point_to<T: Real>(&mut self, vector: &CudaBuffer<T>) -> Result<(), Error> {
        // SAFETY: the descriptor is cuSPARSE's, and the caller multiplies while the vector lives.
        let status = unsafe { sys::cusparseDnVecSetValues(self.0, address(vector).cast_mut()) };
        check("cusparseDnVecSetValues", status)
    }

    /// The descriptor itself.
    pub fn get(&self) -> sys::cusparseDnVecDescr_t {
        self.0
    }
}

impl Drop for VectorDescriptor {
    fn drop(&mut self) {
        // SAFETY: cuSPARSE made it, and it is not used any more.
        let _ = unsafe { sys::cusparseDestroyDnVec(self.0.cast_const()) };
    }
}
