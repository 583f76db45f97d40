//! A matrix in the storage that cuSPARSE multiplies.

use cudarc::cusparse::sys;
use host::executor::{Cuda, CudaBuffer, CudaMemory, Executor};
use host::format::coo;
use host::format::{Offsets, SellP};
use host::memory::{Buffer, Element};
use host::{Csr, Error, Scalar};

use super::descriptors::{MatrixDescriptor, address, data_type, index_type};
use crate::peers::blocks::Blocks;
use crate::peers::slices::{SLICE_SIZE, Slices};

/// Indices begin at 0.
pub const ZERO_BASED: sys::cusparseIndexBase_t = sys::cusparseIndexBase_t::CUSPARSE_INDEX_BASE_ZERO;

/// A matrix in cuSPARSE.
pub struct Stored {
    /// The matrix; declared first, so that it is dropped before the arrays.
    pub descriptor: MatrixDescriptor,
    /// The arrays, other than those of the CSR matrix: the descriptor refers to them.
    pub arrays: Vec<Box<dyn std::any::Any>>,
    /// Bytes of all its arrays.
    pub bytes: u128,
}

/// The storage of single entries.
#[derive(Clone, Copy)]
pub enum Entries {
    Csr,
    Coo,
    Sell,
}

impl Entries {
    /// Returns the matrix, and the name of the storage.
    pub fn of<T: Scalar>(self, cuda: &Cuda, matrix: &Csr<T, CudaMemory>) -> Result<(Stored, String), Error> {
        Ok(match self {
            Self::Csr => (csr(cuda, matrix)?, "CSR".into()),
            Self::Coo => (coo(cuda, matrix)?, "COO".into()),
            Self::Sell => (sell(cuda, matrix)?, format!("SELL, {SLICE_SIZE} rows a slice")),
        })
    }
}

/// Returns the matrix on the host.
pub fn download<T: Scalar>(cuda: &Cuda, matrix: &Csr<T, CudaMemory>) -> Result<Csr<T>, Error> {
    let offsets = match matrix.row_offsets() {
        Offsets::Narrow(offsets) => Offsets::Narrow(cuda.download(offsets)?),
        Offsets::Wide(offsets) => Offsets::Wide(cuda.download(offsets)?),
    };
    let (columns, values) = (cuda.download(matrix.column_indices())?, cuda.download(matrix.values())?);
    Csr::try_new(matrix.rows(), matrix.columns(), offsets, columns, values)
}

/// Returns the matrix with values in float32; `None` if this changes one.
pub fn in_float32<T: Scalar>(cuda: &Cuda, matrix: &Csr<T, CudaMemory>) -> Result<Option<Csr<f32, CudaMemory>>, Error> {
    let matrix = download(cuda, matrix)?;
    let narrow = matrix.cast::<f32>()?;
    let is_exact = |(value, narrow): (&T, &f32)| value.parts() == [f64::from(*narrow), 0.0];
    let is_exact = matrix.values().iter().zip(narrow.values()).all(is_exact);
    is_exact.then(|| narrow.upload(cuda)).transpose()
}

/// Returns the arrays of the matrix itself. Offsets are signed in cuSPARSE, so lengths between 2^31 and 2^32 are widened.
pub fn csr<T: Scalar>(cuda: &Cuda, matrix: &Csr<T, CudaMemory>) -> Result<Stored, Error> {
    fn describe<T: Scalar, O: Element>(
        matrix: &Csr<T, CudaMemory>,
        offsets: &CudaBuffer<O>,
    ) -> Result<MatrixDescriptor, Error> {
        // SAFETY: the arrays are those of a valid matrix, which is borrowed while it is multiplied.
        unsafe {
            MatrixDescriptor::new("cusparseCreateConstCsr", |descriptor| {
                sys::cusparseCreateConstCsr(
                    descriptor,
                    matrix.rows() as i64,
                    matrix.columns() as i64,
                    matrix.nnz() as i64,
                    address(offsets),
                    address(matrix.column_indices()),
                    address(matrix.values()),
                    index_type::<O>(),
                    index_type::<u32>(),
                    ZERO_BASED,
                    data_type::<T>(),
                )
            })
        }
    }
    let bytes = matrix.bytes();
    match matrix.row_offsets() {
        Offsets::Narrow(offsets) if matrix.nnz() > i32::MAX as usize => {
            let offsets = cuda.upload(cuda.download(offsets)?.into_iter().map(u64::from).collect())?;
            let bytes = bytes + 4 * (matrix.rows() as u128 + 1);
            Ok(Stored { descriptor: describe(matrix, &offsets)?, arrays: vec![Box::new(offsets)], bytes })
        }
        Offsets::Narrow(offsets) => Ok(Stored { descriptor: describe(matrix, offsets)?, arrays: vec![], bytes }),
        Offsets::Wide(offsets) => Ok(Stored { descriptor: describe(matrix, offsets)?, arrays: vec![], bytes }),
    }
}

/// Returns the columns and values of the matrix itself, and the row of each entry.
fn coo<T: Scalar>(cuda: &Cuda, matrix: &Csr<T, CudaMemory>) -> Result<Stored, Error> {
    let row_indices = coo::row_indices_by_kernels(cuda, matrix)?;
    // SAFETY: the arrays have one element per entry; the matrix is borrowed while it is multiplied, and the rows are kept.
    let descriptor = unsafe {
        MatrixDescriptor::new("cusparseCreateConstCoo", |descriptor| {
            sys::cusparseCreateConstCoo(
                descriptor,
                matrix.rows() as i64,
                matrix.columns() as i64,
                matrix.nnz() as i64,
                address(&row_indices),
                address(matrix.column_indices()),
                address(matrix.values()),
                index_type::<u32>(),
                ZERO_BASED,
                data_type::<T>(),
            )
        })
    }?;
    let bytes = matrix.nnz() as u128 * (8 + size_of::<T>() as u128);
    Ok(Stored { descriptor, arrays: vec![Box::new(row_indices)], bytes })
}

/// Returns the matrix in slices, with padding marked as in cuSPARSE.
fn sell<T: Scalar>(cuda: &Cuda, matrix: &Csr<T, CudaMemory>) -> Result<Stored, Error> {
    fn store<T: Scalar, O: Element>(
        matrix: SellP<T, CudaMemory>,
        places: u64,
        offsets: CudaBuffer<O>,
    ) -> Result<Stored, Error> {
        // SAFETY: there is an offset per slice and one more, and a column and a value per slot; all of them are kept while
        // the matrix is multiplied.
        let descriptor = unsafe {
            MatrixDescriptor::new("cusparseCreateConstSlicedEll", |descriptor| {
                sys::cusparseCreateConstSlicedEll(
                    descriptor,
                    matrix.rows() as i64,
                    matrix.columns() as i64,
                    matrix.nnz() as i64,
                    places as i64,
                    SLICE_SIZE.into(),
                    address(&offsets),
                    address(matrix.column_indices()),
                    address(matrix.values()),
                    index_type::<O>(),
                    index_type::<u32>(),
                    ZERO_BASED,
                    data_type::<T>(),
                )
            })
        }?;
        let bytes = u128::from(places) * (4 + size_of::<T>() as u128) + (offsets.len() * size_of::<O>()) as u128;
        Ok(Stored { descriptor, arrays: vec![Box::new(matrix), Box::new(offsets)], bytes })
    }
    let Slices { matrix, offsets } = Slices::new(cuda, matrix)?;
    let places = offsets.last().copied().unwrap_or(0);
    if places <= i32::MAX as u64 {
        store(matrix, places, cuda.upload(offsets.into_iter().map(|offset| offset as u32).collect())?)
    } else {
        store(matrix, places, cuda.upload(offsets)?)
    }
}

/// Returns the matrix in blocks.
pub fn bsr<T: Scalar>(cuda: &Cuda, matrix: &Csr<T, CudaMemory>, blocks: Blocks<T>) -> Result<Stored, Error> {
    let Blocks { size, offsets, columns, values } = blocks;
    let bytes = 4 * (offsets.len() + columns.len()) as u128 + (values.len() * size_of::<T>()) as u128;
    let count = columns.len();
    let (offsets, columns, values) = (cuda.upload(offsets)?, cuda.upload(columns)?, cuda.upload(values)?);
    // SAFETY: there is an offset per block row and one more, a column and a square of values per block; all of them are
    // kept while the matrix is multiplied.
    let descriptor = unsafe {
        MatrixDescriptor::new("cusparseCreateConstBsr", |descriptor| {
            sys::cusparseCreateConstBsr(
                descriptor,
                (matrix.rows() / size) as i64,
                (matrix.columns() / size) as i64,
                count as i64,
                size as i64,
                size as i64,
                address(&offsets),
                address(&columns),
                address(&values),
                index_type::<u32>(),
                index_type::<u32>(),
                ZERO_BASED,
                data_type::<T>(),
                sys::cusparseOrder_t::CUSPARSE_ORDER_ROW,
            )
        })
    }?;
    Ok(Stored { descriptor, arrays: vec![Box::new(offsets), Box::new(columns), Box::new(values)], bytes })
}
