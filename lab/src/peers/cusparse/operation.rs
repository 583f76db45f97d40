//! Multiplication by `cusparseSpMVOp`, which compiles a kernel for a matrix in CSR.
//!
//! cudarc does not bind it, so its functions are looked up by name in the library that cudarc loaded.

use std::ffi::c_void;
use std::ops::Range;
use std::ptr::{null, null_mut};
use std::rc::Rc;

use cudarc::cusparse::sys::{
    cudaDataType, cusparseConstDnVecDescr_t, cusparseConstSpMatDescr_t, cusparseDnVecDescr_t, cusparseHandle_t,
    cusparseOperation_t, cusparseStatus_t,
};
use host::executor::{Cuda, CudaBuffer, CudaMemory, Executor};
use host::{Csr, Error, Scalar};

use super::descriptors::{Dense, VectorDescriptor, data_type};
use super::generic::{PLAIN, scalar};
use super::library::{Library, check, find};
use super::stored::Stored;
use crate::peers::peer::{Prepared, check_vectors};

/// From 12.8.1 to 12.9, whose `cusparse.h` has the signatures below. The interface is experimental: 12.7 has functions of
/// the same names with other arguments.
const VERSIONS: Range<i32> = 12_801..13_000;

/// `cusparseSpMVOpAlg_t`.
#[repr(u32)]
#[derive(Clone, Copy)]
pub enum Algorithm {
    /// `CUSPARSE_SPMVOP_ALG1`
    Alg1 = 1,
    /// `CUSPARSE_SPMVOP_ALG2`
    Alg2 = 2,
}

type BufferSize = unsafe extern "C" fn(
    cusparseHandle_t,
    cusparseOperation_t,
    cusparseConstSpMatDescr_t,
    cusparseConstDnVecDescr_t,
    cusparseDnVecDescr_t,
    cusparseDnVecDescr_t,
    cudaDataType,
    Algorithm,
    *mut usize,
) -> cusparseStatus_t;

type CreateDescriptor = unsafe extern "C" fn(
    cusparseHandle_t,
    *mut *mut c_void,
    cusparseOperation_t,
    cusparseConstSpMatDescr_t,
    cusparseConstDnVecDescr_t,
    cusparseDnVecDescr_t,
    cusparseDnVecDescr_t,
    cudaDataType,
    Algorithm,
    *mut c_void,
) -> cusparseStatus_t;

type CreatePlan =
    unsafe extern "C" fn(cusparseHandle_t, *mut c_void, *mut *mut c_void, *const c_void, usize) -> cusparseStatus_t;

type Destroy = unsafe extern "C" fn(*mut c_void) -> cusparseStatus_t;

type Multiply = unsafe extern "C" fn(
    cusparseHandle_t,
    *mut c_void,
    *const c_void,
    *const c_void,
    cusparseConstDnVecDescr_t,
    cusparseConstDnVecDescr_t,
    cusparseDnVecDescr_t,
) -> cusparseStatus_t;

/// The functions of the interface.
#[derive(Clone, Copy)]
pub struct Functions {
    buffer_size: BufferSize,
    create_descriptor: CreateDescriptor,
    destroy_descriptor: Destroy,
    create_plan: CreatePlan,
    destroy_plan: Destroy,
    multiply: Multiply,
}

impl Functions {
    /// Looks up the functions.
    ///
    /// # Errors
    /// Why they cannot be called, on one line.
    pub fn find(library: &Library) -> Result<Self, String> {
        if !VERSIONS.contains(&library.version()) {
            return Err(format!("versions 12.8.1 to 12.9 are supported, and this is {}", library.name()));
        }
        // SAFETY: the library is loaded, and the types are the signatures in the `cusparse.h` of these versions.
        unsafe {
            Ok(Self {
                buffer_size: find("cusparseSpMVOp_bufferSize")?,
                create_descriptor: find("cusparseSpMVOp_createDescr")?,
                destroy_descriptor: find("cusparseSpMVOp_destroyDescr")?,
                create_plan: find("cusparseSpMVOp_createPlan")?,
                destroy_plan: find("cusparseSpMVOp_destroyPlan")?,
                multiply: find("cusparseSpMVOp")?,
            })
        }
    }
}

/// A descriptor or a plan, which frees itself.
struct Owned {
    object: *mut c_void,
    destroy: Destroy,
}

impl Owned {
    /// Wraps the object made by `create`, the function named `call`.
    ///
    /// # Safety
    /// If `create` returns success, it must have made an object that `destroy` frees.
    unsafe fn new(
        call: &str,
        destroy: Destroy,
        create: impl FnOnce(&mut *mut c_void) -> cusparseStatus_t,
    ) -> Result<Self, Error> {
        let mut object = null_mut();
        check(call, create(&mut object))?;
        Ok(Self { object, destroy })
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        // SAFETY: `destroy` frees it, by `new`, and it is not used any more.
        let _ = unsafe { (self.destroy)(self.object) };
    }
}

/// A matrix with the kernel compiled for it.
pub struct Operation<'a, T: Scalar> {
    // Fields are dropped in this order: the library last.
    plan: Owned,
    /// The descriptor, and the buffer that holds the results of preprocessing.
    #[expect(dead_code, reason = "they are kept for the plan")]
    preprocessed: (Owned, CudaBuffer<u64>),
    buffer_bytes: usize,
    stored: Stored,
    x: VectorDescriptor,
    y: VectorDescriptor,
    algorithm: Algorithm,
    functions: Functions,
    matrix: &'a Csr<T, CudaMemory>,
    library: Rc<Library<'a>>,
}

impl<'a, T: Scalar> Operation<'a, T> {
    /// Preprocesses a matrix in CSR and compiles a kernel for it. Queued on the stream.
    ///
    /// # Errors
    /// When memory runs out, or the library or the device fails.
    pub fn new(
        library: Rc<Library<'a>>,
        functions: Functions,
        matrix: &'a Csr<T, CudaMemory>,
        stored: Stored,
        algorithm: Algorithm,
        [x, y]: [&CudaBuffer<T>; 2],
    ) -> Result<Self, Error> {
        check_vectors(matrix, x, y)?;
        let cuda = library.enter()?;
        let (x, y) = (VectorDescriptor::new(x)?, VectorDescriptor::new(y)?);
        let mut buffer_bytes = 0;
        // SAFETY: the handle and the descriptors are the library's own, and the size is written to a valid pointer.
        let status = unsafe {
            (functions.buffer_size)(
                library.handle(),
                PLAIN,
                stored.descriptor.get(),
                x.get().cast_const(),
                y.get(),
                y.get(),
                data_type::<T>(),
                algorithm,
                &mut buffer_bytes,
            )
        };
        check("cusparseSpMVOp_bufferSize", status)?;
        // Must have an address, even if no memory is needed.
        let buffer = cuda.zeros::<u64>(buffer_bytes.div_ceil(8).max(2))?;
        // SAFETY: as above; the buffer has the requested size, and lives as long as the descriptor.
        let descriptor = unsafe {
            Owned::new("cusparseSpMVOp_createDescr", functions.destroy_descriptor, |descriptor| {
                (functions.create_descriptor)(
                    library.handle(),
                    descriptor,
                    PLAIN,
                    stored.descriptor.get(),
                    x.get().cast_const(),
                    y.get(),
                    y.get(),
                    data_type::<T>(),
                    algorithm,
                    buffer.address() as *mut c_void,
                )
            })
        }?;
        // SAFETY: the handle and the descriptor are the library's own. Without custom code, the kernel's results are stored
        // unchanged.
        let plan = unsafe {
            Owned::new("cusparseSpMVOp_createPlan", functions.destroy_plan, |plan| {
                (functions.create_plan)(library.handle(), descriptor.object, plan, null(), 0)
            })
        }?;
        let preprocessed = (descriptor, buffer);
        Ok(Self { plan, preprocessed, buffer_bytes, stored, x, y, algorithm, functions, matrix, library })
    }
}

impl<T: Scalar> Drop for Operation<'_, T> {
    fn drop(&mut self) {
        // Freeing the plan unloads its kernel from the executor's context. A failure cannot be reported here.
        let _ = self.library.enter();
    }
}

impl<T: Scalar> Prepared<T, Cuda> for Operation<'_, T> {
    fn strategy(&self) -> String {
        let (algorithm, bytes) = (self.algorithm as u32, self.buffer_bytes);
        format!("CSR, CUSPARSE_SPMVOP_ALG{algorithm}, planned, buffer of {bytes} bytes")
    }

    fn storage(&self) -> u64 {
        self.stored.bytes as u64 + self.buffer_bytes as u64
    }

    fn reproducible(&self) -> Option<bool> {
        // NVIDIA's header and sample do not tell.
        None
    }

    fn multiply(&mut self, alpha: T, x: &CudaBuffer<T>, beta: T, y: &mut CudaBuffer<T>) -> Result<(), Error> {
        check_vectors(self.matrix, x, y)?;
        self.library.check_own(&[x, y])?;
        self.library.enter()?;
        self.x.point_to(x)?;
        self.y.point_to(y)?;
        // z ← α A x + β y, where z may be y: NVIDIA's sample allows for it, and its cuOpt does it.
        let (y, z) = (self.y.get().cast_const(), self.y.get());
        // SAFETY: handle, plan and descriptors are the library's own, and the scalars live on the host until the call
        // returns. The plan's matrix and buffer live as long as it does, and the vectors have the matrix's lengths. All
        // arrays are this executor's, so freeing one follows on the same stream.
        let status = unsafe {
            (self.functions.multiply)(
                self.library.handle(),
                self.plan.object,
                scalar(&alpha),
                scalar(&beta),
                self.x.get().cast_const(),
                y,
                z,
            )
        };
        check("cusparseSpMVOp", status)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_with_other_signatures_are_not_called() {
        for (version, known) in [(12_603, false), (12_703, false), (12_710, false), (12_801, true), (12_904, true)] {
            assert_eq!(VERSIONS.contains(&version), known, "{version}");
        }
    }
}
