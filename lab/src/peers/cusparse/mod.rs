//! cuSPARSE, on the same arrays and the same stream.

mod bsrmv;
mod descriptors;
mod generic;
mod library;
mod operation;
mod spgemm;
mod spmm;
mod spmv;
mod stored;

use std::rc::Rc;

use cudarc::cusparse::sys::cusparseSpMMAlg_t as BlockAlgorithm;
use cudarc::cusparse::sys::cusparseSpMVAlg_t as Algorithm;
use host::executor::{Cuda, CudaBuffer, CudaMemory};
use host::memory::ElementType;
use host::{Csr, Multivector, NarrowType, Scalar, ValueStorage};

use self::bsrmv::LegacyBlocks;
use self::generic::Generic;
pub use self::library::cusparse_name;
use self::library::{Library, has_all, is_unsupported};
use self::operation::{Functions, Operation};
pub use self::spgemm::{SpGemm, SpGemmProduct, SpGemms, sparse_product_peers};
use self::spmm::SpMm;
use self::spmv::SpMv;
use self::stored::{Entries, bsr, download, in_float32};
use super::blocks::Blocks;
use super::peer::{Peer, PeerError, Prepared};
use super::{Absent, Peers};

/// Returns all ways in which cuSPARSE multiplies a matrix by a vector, with values in full or stored as `values` does.
pub fn peers<T: Scalar>(cuda: &Cuda, values: ValueStorage) -> Peers<'_, T, Cuda> {
    let library = match Library::new(cuda) {
        Ok(library) => library,
        Err(reason) => return Peers::without("cuSPARSE", reason),
    };
    let by_spmv = [
        ("cusparse-csr-1", Storage::Entries(Entries::Csr), Algorithm::CUSPARSE_SPMV_CSR_ALG1),
        ("cusparse-csr-2", Storage::Entries(Entries::Csr), Algorithm::CUSPARSE_SPMV_CSR_ALG2),
        ("cusparse-coo-1", Storage::Entries(Entries::Coo), Algorithm::CUSPARSE_SPMV_COO_ALG1),
        ("cusparse-coo-2", Storage::Entries(Entries::Coo), Algorithm::CUSPARSE_SPMV_COO_ALG2),
        ("cusparse-sell", Storage::Entries(Entries::Sell), Algorithm::CUSPARSE_SPMV_SELL_ALG1),
        ("cusparse-bsr", Storage::Blocks, Algorithm::CUSPARSE_SPMV_BSR_ALG1),
    ];
    let by_spmv_in_float32 = [
        ("cusparse-csr-1-float32", Storage::InFloat32(Entries::Csr), Algorithm::CUSPARSE_SPMV_CSR_ALG1),
        ("cusparse-csr-2-float32", Storage::InFloat32(Entries::Csr), Algorithm::CUSPARSE_SPMV_CSR_ALG2),
        ("cusparse-coo-1-float32", Storage::InFloat32(Entries::Coo), Algorithm::CUSPARSE_SPMV_COO_ALG1),
        ("cusparse-coo-2-float32", Storage::InFloat32(Entries::Coo), Algorithm::CUSPARSE_SPMV_COO_ALG2),
        ("cusparse-sell-float32", Storage::InFloat32(Entries::Sell), Algorithm::CUSPARSE_SPMV_SELL_ALG1),
    ];
    let of_spmv = |(name, storage, algorithm)| (name, storage, Interface::Vector(SpMv(algorithm)));
    let mut ways = by_spmv.map(of_spmv).to_vec();
    if T::TYPE == ElementType::Float64 && values == ValueStorage::Rounded(NarrowType::Float32) {
        ways.extend(by_spmv_in_float32.map(of_spmv));
    }
    let mut absent = Vec::new();
    match Functions::find(&library) {
        Ok(functions) => ways.extend([
            (
                "cusparse-csr-op-1",
                Storage::Entries(Entries::Csr),
                Interface::Operation(functions, operation::Algorithm::Alg1),
            ),
            (
                "cusparse-csr-op-2",
                Storage::Entries(Entries::Csr),
                Interface::Operation(functions, operation::Algorithm::Alg2),
            ),
        ]),
        Err(reason) => absent.push(Absent { library: "SpMVOp of cuSPARSE", reason }),
    }
    Peers { present: present(&library, ways), absent }
}

/// Returns all ways in which cuSPARSE multiplies a matrix in CSR or COO by several vectors of this shape.
pub fn multivector_peers<T: Scalar>(cuda: &Cuda, shape: Multivector) -> Peers<'_, T, Cuda> {
    let library = match Library::new(cuda) {
        Ok(library) => library,
        Err(reason) => return Peers::without("cuSPARSE", reason),
    };
    if let Err(reason) = has_all(spmm::NEEDED) {
        return Peers::without("SpMM of cuSPARSE", reason);
    }
    let ways = [
        ("cusparse-spmm-csr-1", Entries::Csr, BlockAlgorithm::CUSPARSE_SPMM_CSR_ALG1),
        ("cusparse-spmm-csr-2", Entries::Csr, BlockAlgorithm::CUSPARSE_SPMM_CSR_ALG2),
        ("cusparse-spmm-csr-3", Entries::Csr, BlockAlgorithm::CUSPARSE_SPMM_CSR_ALG3),
        ("cusparse-spmm-coo-1", Entries::Coo, BlockAlgorithm::CUSPARSE_SPMM_COO_ALG1),
        ("cusparse-spmm-coo-2", Entries::Coo, BlockAlgorithm::CUSPARSE_SPMM_COO_ALG2),
        ("cusparse-spmm-coo-3", Entries::Coo, BlockAlgorithm::CUSPARSE_SPMM_COO_ALG3),
        ("cusparse-spmm-coo-4", Entries::Coo, BlockAlgorithm::CUSPARSE_SPMM_COO_ALG4),
    ];
    let ways = ways.map(|(name, entries, algorithm)| {
        (name, Storage::Entries(entries), Interface::Vectors(SpMm { algorithm, shape }))
    });
    Peers { present: present(&library, ways), absent: Vec::new() }
}

/// Returns one peer per name, storage and interface.
fn present<'e, T: Scalar>(
    library: &Rc<Library<'e>>,
    ways: impl IntoIterator<Item = (&'static str, Storage, Interface)>,
) -> Vec<Box<dyn Peer<T, Cuda> + 'e>> {
    let peer = |(name, storage, interface)| CuSparse { library: library.clone(), name, storage, interface };
    ways.into_iter().map(peer).map(|peer| Box::new(peer) as _).collect()
}

/// The storage of the matrix.
#[derive(Clone, Copy)]
enum Storage {
    Entries(Entries),
    /// With vectors in float64.
    InFloat32(Entries),
    Blocks,
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

impl<T: Scalar> Peer<T, Cuda> for CuSparse<'_> {
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
            Storage::Entries(entries) => entries.of(cuda, matrix)?,
            Storage::InFloat32(entries) => {
                let narrow = in_float32(cuda, matrix)?.ok_or_else(|| unfit("float32 changes a value".into()))?;
                let (mut stored, format) = entries.of(cuda, &narrow)?;
                stored.arrays.push(Box::new(narrow));
                (stored, format + ", float32 values")
            }
            Storage::Blocks => {
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
        let (library, vectors) = (self.library.clone(), [x, y as &_]);
        let prepared = match self.interface {
            Interface::Vector(routine) => {
                Generic::new(library, matrix, stored, routine, &format, vectors).map(|plan| Box::new(plan) as Box<_>)
            }
            Interface::Vectors(routine) => {
                Generic::new(library, matrix, stored, routine, &format, vectors).map(|plan| Box::new(plan) as Box<_>)
            }
            Interface::Operation(functions, algorithm) => {
                Operation::new(library, functions, matrix, stored, algorithm, vectors).map(|plan| Box::new(plan) as _)
            }
        };
        match prepared {
            // Not every algorithm supports every layout, index type and number type.
            Err(error) if is_unsupported(&error) => Err(unfit(error.to_string())),
            prepared => Ok(prepared?),
        }
    }
}
