//! BSR by the functions that preceded its support in `cusparseSpMV`.

use std::ptr::{from_ref, null_mut};
use std::rc::Rc;

use cudarc::cusparse::sys;
use host::executor::{Cuda, CudaBuffer, CudaMemory, Executor};
use host::memory::ElementType;
use host::{Csr, Error, Scalar};

use super::descriptors::address;
use super::library::{Library, check};
use crate::peers::blocks::Blocks;
use crate::peers::peer::{Prepared, check_vectors};

/// Functions required only here.
pub const NEEDED: &[&str] = &[
    "cusparseCreateMatDescr",
    "cusparseDestroyMatDescr",
    "cusparseSbsrmv",
    "cusparseDbsrmv",
    "cusparseCbsrmv",
    "cusparseZbsrmv",
];

/// A matrix in blocks.
pub struct LegacyBlocks<'a, T: Scalar> {
    size: usize,
    bytes: u128,
    offsets: CudaBuffer<u32>,
    columns: CudaBuffer<u32>,
    values: CudaBuffer<T>,
    block_count: usize,
    properties: Properties,
    matrix: &'a Csr<T, CudaMemory>,
    library: Rc<Library<'a>>,
}

/// The properties of the matrix: general, with zero-based indices.
struct Properties(sys::cusparseMatDescr_t);

impl Drop for Properties {
    fn drop(&mut self) {
        // SAFETY: cuSPARSE made it, and it is not used any more.
        let _ = unsafe { sys::cusparseDestroyMatDescr(self.0) };
    }
}

impl<'a, T: Scalar> LegacyBlocks<'a, T> {
    /// Moves the blocks to the GPU.
    ///
    /// # Errors
    /// When memory runs out, or the device fails.
    pub fn new(library: Rc<Library<'a>>, matrix: &'a Csr<T, CudaMemory>, blocks: Blocks<T>) -> Result<Self, Error> {
        let cuda = library.enter()?;
        let Blocks { size, offsets, columns, values } = blocks;
        let bytes = 4 * (offsets.len() + columns.len()) as u128 + (values.len() * size_of::<T>()) as u128;
        let block_count = columns.len();
        let mut properties = null_mut();
        // SAFETY: the function exists, and writes to a valid pointer. Its defaults are as required.
        check("cusparseCreateMatDescr", unsafe { sys::cusparseCreateMatDescr(&mut properties) })?;
        Ok(Self {
            size,
            bytes,
            offsets: cuda.upload(offsets)?,
            columns: cuda.upload(columns)?,
            values: cuda.upload(values)?,
            block_count,
            properties: Properties(properties),
            matrix,
            library,
        })
    }
}

impl<T: Scalar> Prepared<T, Cuda> for LegacyBlocks<'_, T> {
    fn strategy(&self) -> String {
        format!("BSR, blocks of {0} x {0}, row by row, cusparse<t>bsrmv", self.size)
    }

    fn storage(&self) -> u64 {
        self.bytes as u64
    }

    fn reproducible(&self) -> Option<bool> {
        None
    }

    fn multiply(&mut self, alpha: T, x: &CudaBuffer<T>, beta: T, y: &mut CudaBuffer<T>) -> Result<(), Error> {
        check_vectors(self.matrix, x, y)?;
        self.library.check_own(&[x, y])?;
        self.library.enter()?;
        macro_rules! multiply {
            ($function:ident, $Number:ty) => {
                // SAFETY: the arrays are those of blocks that divide the matrix, the vectors fit it, and the numbers have
                // this type. All arrays are this executor's, so freeing one follows on the same stream.
                check(stringify!($function), unsafe {
                    sys::$function(
                        self.library.handle(),
                        sys::cusparseDirection_t::CUSPARSE_DIRECTION_ROW,
                        sys::cusparseOperation_t::CUSPARSE_OPERATION_NON_TRANSPOSE,
                        (self.matrix.rows() / self.size) as i32,
                        (self.matrix.columns() / self.size) as i32,
                        self.block_count as i32,
                        from_ref(&alpha).cast::<$Number>(),
                        self.properties.0,
                        address(&self.values).cast(),
                        address(&self.offsets).cast(),
                        address(&self.columns).cast(),
                        self.size as i32,
                        address(x).cast(),
                        from_ref(&beta).cast::<$Number>(),
                        address(y).cast_mut().cast(),
                    )
                })
            };
        }
        match T::TYPE {
            ElementType::Float32 => multiply!(cusparseSbsrmv, f32),
            ElementType::Complex64 => multiply!(cusparseCbsrmv, sys::cuComplex),
            ElementType::Complex128 => multiply!(cusparseZbsrmv, sys::cuDoubleComplex),
            _ => multiply!(cusparseDbsrmv, f64),
        }
    }
}
