//! cuSPARSE, on the same arrays and the same stream.

mod bsrmv;
mod descriptors;
mod generic;
mod library;
mod operation;
mod spgemm;
mod spmm;
mod spmv;

use std::rc::Rc;

use cudarc::cusparse::sys;
use cudarc::cusparse::sys::cusparseSpMMAlg_t as BlockAlgorithm;
use cudarc::cusparse::sys::cusparseSpMVAlg_t as Algorithm;
use host::executor::{Cuda, CudaBuffer, CudaMemory, Executor};
use host::format::coo;
use host::format::{Offsets, SellP};
use host::memory::{Buffer, Element};
use host::{Csr, Error, Multivector, Real};

use self::bsrmv::LegacyBlocks;
use self::descriptors::{MatrixDescriptor, address, data_type, index_type};
use self::generic::{Generic, Stored};
pub use self::library::cusparse_name;
use self::library::{Library, has_all, is_unsupported};
use self::operation::{Functions, Operation};
pub use self::spgemm::{SpGemm, SpGemmProduct, SpGemms, sparse_product_peers};
use self::spmm::SpMm;
use self::spmv::SpMv;
use super::blocks::Blocks;
use super::peer::{Peer, PeerError, Prepared};
use super::slices::{SLICE_SIZE, Slices};
use super::{Absent, Peers};

const ZERO_BASED: sys::cusparseIndexBase_t = sys::cusparseIndexBase_t::CUSPARSE_INDEX_BASE_ZERO;

/// Returns all ways in which cuSPARSE multiplies a matrix by a vector.
pub fn peers<T: Real>(cuda: &Cuda) -> Peers<'_, T, Cuda> {
    let library = match Library::new(cuda) {
        Ok(library) => library,
        Err(reason) => return Peers::without("cuSPARSE", reason),
    };
    let of_spmv = [
        ("cusparse-csr-1", Storage::Csr, Algorithm::CUSPARSE_SPMV_CSR_ALG1),
        ("cusparse-csr-2", Storage::Csr, Algorithm::CUSPARSE_SPMV_CSR_ALG2),
        ("cusparse-coo-1", Storage::Coo, Algorithm::CUSPARSE_SPMV_COO_ALG1),
        ("cusparse-coo-2", Storage::Coo, Algorithm::CUSPARSE_SPMV_COO_ALG2),
        ("cusparse-sell", Storage::Sell, Algorithm::CUSPARSE_SPMV_SELL_ALG1),
        ("cusparse-bsr", Storage::Bsr, Algorithm::CUSPARSE_SPMV_BSR_ALG1),
    ];
    let of_spmv = of_spmv.map(|(name, storage, algorithm)| (name, storage, Interface::Vector(SpMv(algorithm))));
    let mut ways = of_spmv.to_vec();
    let mut absent = Vec::new();
    match Functions::find(&library) {
        Ok(functions) => ways.extend([
            ("cusparse-csr-op-1", Storage::Csr, Interface::Operation(functions, operation::Algorithm::Alg1)),
            ("cusparse-csr-op-2", Storage::Csr, Interface::Operation(functions, operation::Algorithm::Alg2)),
        ]),
        Err(reason) => absent.push(Absent { library: "SpMVOp of cuSPARSE", reason }),
    }
    Peers { present: present(&library, ways), absent }
}

/// Returns all ways in which cuSPARSE multiplies a matrix in CSR or COO by several vectors of this shape.
pub fn multivector_peers<T: Real>(cuda: &Cuda, shape: Multivector) -> Peers<'_, T, Cuda> {
    let library = match Library::new(cuda) {
        Ok(library) => library,
        Err(reason) => return Peers::without("cuSPARSE", reason),
    };
    if let Err(reason) = has_all(spmm::NEEDED) {
        return Peers::without("SpMM of cuSPARSE", reason);
    }
    let ways = [
        ("cusparse-spmm-csr-1", Storage::Csr, BlockAlgorithm::CUSPARSE_SPMM_CSR_ALG1),
        ("cusparse-spmm-csr-2", Storage::Csr, BlockAlgorithm::CUSPARSE_SPMM_CSR_ALG2),
        ("cusparse-spmm-csr-3", Storage::Csr, BlockAlgorithm::CUSPARSE_SPMM_CSR_ALG3),
        ("cusparse-spmm-coo-1", Storage::Coo, BlockAlgorithm::CUSPARSE_SPMM_COO_ALG1),
        ("cusparse-spmm-coo-2", Storage::Coo, BlockAlgorithm::CUSPARSE_SPMM_COO_ALG2),
        ("cusparse-spmm-coo-3", Storage::Coo, BlockAlgorithm::CUSPARSE_SPMM_COO_ALG3),
        ("cusparse-spmm-coo-4", Storage::Coo, BlockAlgorithm::CUSPARSE_SPMM_COO_ALG4),
    ];
    let ways = ways.map(|(name, storage, algorithm)| (name, storage, Interface::Vectors(SpMm { algorithm, shape })));
    Peers { present: present(&library, ways), absent: Vec::new() }
}

/// Returns one peer per name, storage and interface.
fn present<'e, T: Real>(
    library: &Rc<Library<'e>>,
    ways: impl IntoIterator<Item = (&'static str, Storage, Interface)>,
) -> Vec<Box<dyn Peer<T, Cuda> + 'e>> {
    let peer = |(name, storage, interface)| CuSparse { library: library.clone(), name, storage, interface };
    ways.into_iter().map(peer).map(|peer| Box::new(peer) as _).collect()
}

/// The storage of the matrix.
#[derive(Clone, Copy)]
enum Storage {
    Csr,
    Coo,
    Sell,
    Bsr,
}

/// The functions that multiply it.
#[derive(Clone, Copy)]
enum Interface {
    Vector(SpMv),
    /// For CSR and COO, and several vectors.
    Vectors(SpMm),
    /// `cusparseSpMVOp`, only for CSR.
    Operation(Functions, operation::Algorithm),
}

/// One way of multiplying by cuSPARSE.
struct CuSparse<'e> {
    library: Rc<Library<'e>>,
    name: &'static str,
    storage: Storage,
    interface: Interface,
}

impl<T: Real> Peer<T, Cuda> for CuSparse<'_> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn library(&self) -> String {
        self.library.name()
    }

    fn prepare<'a>(
        &'a self,
        matrix: &'a Csr<T, CudaMemory>,
        x: &CudaBuffer<T>,
        y: &mut CudaBuffer<T>,
    ) -> Result<Box<dyn Prepared<T, Cuda> + 'a>, PeerError> {
        let unfit = |reason: String| PeerError::Unfit { library: "cuSPARSE", reason };
        if matrix.nnz() == 0 || matrix.rows() == 0 || matrix.columns() == 0 {
            return Err(unfit("there is no entry".into()));
        }
        self.library.check_own(&[matrix.values()])?;
        self.library.check_own(&[matrix.column_indices()])?;
        let cuda = self.library.enter()?;
        let (stored, format) = match self.storage {
            Storage::Csr => (csr(cuda, matrix)?, "CSR".into()),
            Storage::Coo => (coo(cuda, matrix)?, "COO".into()),
            Storage::Sell => (sell(cuda, matrix)?, format!("SELL, {SLICE_SIZE} rows a slice")),
            Storage::Bsr => {
                let blocks = Blocks::new(&download(cuda, matrix)?).map_err(unfit)?;
                if !self.library.multiplies_blocks() {
                    if has_all(bsrmv::NEEDED).is_err() {
                        return Err(unfit("this version has no function for BSR".into()));
                    }
                    let library = self.library.clone();
                    return Ok(Box::new(LegacyBlocks::new(library, matrix, blocks)?));
                }
                let format = format!("BSR, blocks of {0} x {0}, row by row", blocks.size);
                (bsr(cuda, matrix, blocks)?, format)
            }
        };
        let library = self.library.clone();
        match self.interface {
            Interface::Vector(routine) => {
                Ok(Box::new(Generic::new(library, matrix, stored, routine, &format, [x, y])?))
            }
            Interface::Vectors(routine) => match Generic::new(library, matrix, stored, routine, &format, [x, y]) {
                // Not every algorithm supports every layout and index type.
                Err(error) if is_unsupported(&error) => Err(unfit(error.to_string())),
                prepared => Ok(Box::new(prepared?)),
            },
            Interface::Operation(functions, algorithm) => {
                Ok(Box::new(Operation::new(library, functions, matrix, stored, algorithm, [x, y])?))
            }
        }
    }
}

/// Returns the matrix on the host.
fn download<T: Real>(cuda: &Cuda, matrix: &Csr<T, CudaMemory>) -> Result<Csr<T>, Error> {
    let offsets = match matrix.row_offsets() {
        Offsets::Narrow(offsets) => Offsets::Narrow(cuda.download(offsets)?),
        Offsets::Wide(offsets) => Offsets::Wide(cuda.download(offsets)?),
    };
    let (columns, values) = (cuda.download(matrix.column_indices())?, cuda.download(matrix.values())?);
    Csr::try_new(matrix.rows(), matrix.columns(), offsets, columns, values)
}

/// Returns the arrays of the matrix itself. Offsets are signed in cuSPARSE, so lengths between 2^31 and 2^32 are widened.
fn csr<T: Real>(cuda: &Cuda, matrix: &Csr<T, CudaMemory>) -> Result<Stored, Error> {
    fn describe<T: Real, O: Element>(
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
fn coo<T: Real>(cuda: &Cuda, matrix: &Csr<T, CudaMemory>) -> Result<Stored, Error> {
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
fn sell<T: Real>(cuda: &Cuda, matrix: &Csr<T, CudaMemory>) -> Result<Stored, Error> {
    fn store<T: Real, O: Element>(
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
fn bsr<T: Real>(cuda: &Cuda, matrix: &Csr<T, CudaMemory>, blocks: Blocks<T>) -> Result<Stored, Error> {
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
