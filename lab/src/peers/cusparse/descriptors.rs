//! Descriptors of matrices, vectors and several vectors, which free themselves.

use std::ffi::c_void;
use std::ptr::{null, null_mut};

use cudarc::cusparse::sys;
use host::executor::CudaBuffer;
use host::memory::{Buffer, Element, ElementType};
use host::{Error, Layout, Multivector, Scalar};

use super::library::check;

/// cuSPARSE's name of a number type.
pub fn data_type<T: Scalar>() -> sys::cudaDataType {
    match T::TYPE {
        ElementType::Float32 => sys::cudaDataType::CUDA_R_32F,
        ElementType::Complex64 => sys::cudaDataType::CUDA_C_32F,
        ElementType::Complex128 => sys::cudaDataType::CUDA_C_64F,
        _ => sys::cudaDataType::CUDA_R_64F,
    }
}

/// cuSPARSE's name of an index type; its indices are signed.
pub fn index_type<I: Element>() -> sys::cusparseIndexType_t {
    match I::TYPE {
        ElementType::Uint64 => sys::cusparseIndexType_t::CUSPARSE_INDEX_64I,
        _ => sys::cusparseIndexType_t::CUSPARSE_INDEX_32I,
    }
}

/// Returns the address of an array on the GPU.
pub fn address<T: Element>(array: &CudaBuffer<T>) -> *const c_void {
    array.address() as *const c_void
}

/// The descriptor of a matrix.
pub struct MatrixDescriptor(sys::cusparseConstSpMatDescr_t);

impl MatrixDescriptor {
    /// Wraps the descriptor made by `create`, the function named `call`.
    ///
    /// # Safety
    /// If `create` returns success, it must have made a descriptor by cuSPARSE, of arrays that outlive it.
    pub unsafe fn new(
        call: &str,
        create: impl FnOnce(&mut sys::cusparseConstSpMatDescr_t) -> sys::cusparseStatus_t,
    ) -> Result<Self, Error> {
        let mut descriptor = null();
        check(call, create(&mut descriptor))?;
        Ok(Self(descriptor))
    }

    /// Returns the descriptor itself.
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

/// A descriptor of x or y.
pub trait Dense {
    /// Changes the array to another one of the same length.
    fn point_to<T: Scalar>(&mut self, array: &CudaBuffer<T>) -> Result<(), Error>;
}

/// The descriptor of a vector.
pub struct VectorDescriptor(sys::cusparseDnVecDescr_t);

impl VectorDescriptor {
    /// For a vector, and for those of its length passed to [`point_to`](Dense::point_to) later.
    pub fn new<T: Scalar>(vector: &CudaBuffer<T>) -> Result<Self, Error> {
        let mut descriptor = null_mut();
        let values = address(vector).cast_mut();
        // SAFETY: the descriptor is written to a valid pointer, and the array has the given length. Only a multiplication
        // reads and writes it, which sets its vectors before.
        let status =
            unsafe { sys::cusparseCreateDnVec(&mut descriptor, vector.len() as i64, values, data_type::<T>()) };
        check("cusparseCreateDnVec", status)?;
        Ok(Self(descriptor))
    }

    /// Returns the descriptor itself.
    pub fn get(&self) -> sys::cusparseDnVecDescr_t {
        self.0
    }
}

impl Dense for VectorDescriptor {
    fn point_to<T: Scalar>(&mut self, vector: &CudaBuffer<T>) -> Result<(), Error> {
        // SAFETY: the descriptor is cuSPARSE's, and the caller multiplies while the vector is alive.
        let status = unsafe { sys::cusparseDnVecSetValues(self.0, address(vector).cast_mut()) };
        check("cusparseDnVecSetValues", status)
    }
}

impl Drop for VectorDescriptor {
    fn drop(&mut self) {
        // SAFETY: cuSPARSE made it, and it is not used any more.
        let _ = unsafe { sys::cusparseDestroyDnVec(self.0.cast_const()) };
    }
}

/// The descriptor of several vectors, which in cuSPARSE are the columns of a dense matrix.
pub struct BlockDescriptor(sys::cusparseDnMatDescr_t);

impl BlockDescriptor {
    /// For vectors of this shape in an array, and for arrays of its length passed to [`point_to`](Dense::point_to) later.
    pub fn new<T: Scalar>(array: &CudaBuffer<T>, shape: Multivector) -> Result<Self, Error> {
        let (length, vectors) = (array.len() / shape.vectors.max(1), shape.vectors);
        let (stride, order) = match shape.layout {
            Layout::RowMajor => (vectors, sys::cusparseOrder_t::CUSPARSE_ORDER_ROW),
            Layout::ColumnMajor => (length, sys::cusparseOrder_t::CUSPARSE_ORDER_COL),
        };
        let mut descriptor = null_mut();
        // SAFETY: the descriptor is written to a valid pointer, and the array has this number of vectors of this length.
        // Only a multiplication reads and writes it, which sets its vectors before.
        let status = unsafe {
            sys::cusparseCreateDnMat(
                &mut descriptor,
                length as i64,
                vectors as i64,
                stride as i64,
                address(array).cast_mut(),
                data_type::<T>(),
                order,
            )
        };
        check("cusparseCreateDnMat", status)?;
        Ok(Self(descriptor))
    }

    /// Returns the descriptor itself.
    pub fn get(&self) -> sys::cusparseDnMatDescr_t {
        self.0
    }
}

impl Dense for BlockDescriptor {
    fn point_to<T: Scalar>(&mut self, array: &CudaBuffer<T>) -> Result<(), Error> {
        // SAFETY: the descriptor is cuSPARSE's, and the caller multiplies while the array is alive.
        let status = unsafe { sys::cusparseDnMatSetValues(self.0, address(array).cast_mut()) };
        check("cusparseDnMatSetValues", status)
    }
}

impl Drop for BlockDescriptor {
    fn drop(&mut self) {
        // SAFETY: cuSPARSE made it, and it is not used any more.
        let _ = unsafe { sys::cusparseDestroyDnMat(self.0.cast_const()) };
    }
}
