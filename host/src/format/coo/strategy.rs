//! COO: how the partial sums of a row are combined.

use cuda_std::launch::Launch;

use super::{coo_bytes, multivector, product, transposed};
use crate::device::Device;
use crate::error::Error;
use crate::executor::operation::KernelExecutor;
use crate::format::storage::ArraySource;
use crate::format::strategy::{self, HostStorage, Storage};
use crate::format::{Coo, Csr, FillLimit, Format};
use crate::memory::Memory;
use crate::real::Scalar;
use crate::spmv::multivector::Tiles;
use crate::spmv::transposed::Transposition;
use crate::spmv::{HostOperands, Room, Vectors};

/// How the partial sums of a row of COO are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CooStrategy {
    /// By a segmented reduction, with carries between warps.
    Segmented,
    /// By a segmented reduction, with atomic additions between warps. Not [reproducible](Format::reproducible).
    Atomic,
    /// By a reduction over lanes that a warp match brings together, with atomic additions between warps (Anzt et al.
    /// 2020, §3.2.2). Not [reproducible](Format::reproducible).
    Match,
}

impl Format {
    /// Coordinates, segmented reduction.
    pub const COO: Self = Self::Coo(CooStrategy::Segmented);
    /// Coordinates, segmented reduction with atomic additions. Not [reproducible](Self::reproducible).
    pub const COO_ATOMIC: Self = Self::Coo(CooStrategy::Atomic);
    /// Coordinates, reduction by matching lanes with atomic additions. Not [reproducible](Self::reproducible).
    pub const COO_MATCH: Self = Self::Coo(CooStrategy::Match);
}

/// COO: how the partial sums of a row are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Strategy(pub CooStrategy);

impl strategy::Strategy for Strategy {
    type Matrix<T: Scalar, M: Memory> = Coo<T, M>;

    const ALL: &'static [Self] = &[Self(CooStrategy::Segmented), Self(CooStrategy::Atomic), Self(CooStrategy::Match)];

    const STANDARD: &'static [Self] = &[Self(CooStrategy::Segmented), Self(CooStrategy::Atomic)];

    fn name(self) -> &'static str {
        match self.0 {
            CooStrategy::Segmented => "coo",
            CooStrategy::Atomic => "coo-atomic",
            CooStrategy::Match => "coo-match",
        }
    }

    fn storage(self) -> &'static str {
        "COO"
    }

    fn reproducible(self) -> bool {
        self.0 == CooStrategy::Segmented
    }

    fn multiplies_multivectors(self) -> bool {
        true
    }

    fn multiplies_transposed(self) -> bool {
        true
    }

    fn bytes<T: Scalar, V: Scalar>(self, matrix: &Csr<T>) -> Result<u128, Error> {
        Ok(coo_bytes::<V>(matrix.nnz()))
    }

    fn convert<T: Scalar>(self, matrix: Csr<T>, _: FillLimit) -> Result<Coo<T>, Error> {
        Coo::try_from_csr(matrix)
    }

    fn convert_by_kernels<T: Scalar, K: KernelExecutor>(
        self,
        executor: &K,
        matrix: Csr<T, K::Memory>,
        _: FillLimit,
    ) -> Result<Coo<T, K::Memory>, Error> {
        super::by_kernels::from_csr(executor, matrix)
    }

    fn launches<T: Scalar, M: Memory>(
        self,
        matrix: &Coo<T, M>,
        vectors: Vectors<T>,
        room: &mut Room<'_, T, M>,
        device: &Device,
    ) -> Result<Vec<Launch>, Error> {
        match self.0 {
            CooStrategy::Segmented => product::coo(matrix, vectors, room, device),
            strategy => Ok(vec![
                vectors.scale(matrix.rows(), device),
                product::add_product_atomically(matrix, strategy, vectors, device),
            ]),
        }
    }

    fn multiply_on_cpu<T: Scalar>(self, matrix: &Coo<T>, operands: HostOperands<'_, T>) -> Result<(), Error> {
        product::multiply_on_cpu(matrix, operands)
    }

    fn multivector_launches<T: Scalar, M: Memory>(
        self,
        matrix: &Coo<T, M>,
        tiles: &Tiles<T>,
        room: &mut Room<'_, T, M>,
        device: &Device,
    ) -> Result<Vec<Launch>, Error> {
        let mut launches = vec![tiles.scale(device)];
        launches.extend(multivector::add_products(matrix, tiles, room, device)?);
        Ok(launches)
    }

    fn multiply_rows_on_cpu<T: Scalar>(
        self,
        matrix: &Coo<T>,
        vectors: usize,
        operands: HostOperands<'_, T>,
    ) -> Result<(), Error> {
        multivector::multiply_on_cpu(matrix, vectors, operands)
    }

    fn transposed_launches<T: Scalar, M: Memory>(
        self,
        matrix: &Coo<T, M>,
        transposition: Transposition,
        vectors: Vectors<T>,
        device: &Device,
    ) -> Result<Vec<Launch>, Error> {
        Ok(transposed::launches(matrix, transposition, vectors, device))
    }

    fn multiply_transposed_on_cpu<T: Scalar>(
        self,
        matrix: &Coo<T>,
        transposition: Transposition,
        operands: HostOperands<'_, T>,
    ) -> Result<(), Error> {
        transposed::multiply_on_cpu(matrix, transposition, operands)
    }
}

impl<T: Scalar, M: Memory> Storage<T, M> for Coo<T, M> {
    const CONTAINER_NAME: &'static str = "COO";

    fn bytes_moved(&self) -> u128 {
        self.bytes()
    }

    fn into_csr_by_kernels<K: KernelExecutor<Memory = M>>(self, executor: &K) -> Result<Csr<T, M>, Error> {
        super::by_kernels::into_csr(executor, self)
    }
}

impl<T: Scalar> HostStorage<T> for Coo<T> {
    fn for_each_entry(&self, visit: &mut dyn FnMut(usize, u32, T)) -> Result<(), Error> {
        Coo::for_each_entry(self, visit);
        Ok(())
    }

    fn into_csr(self) -> Result<Csr<T>, Error> {
        Coo::into_csr(self)
    }

    fn read<S: ArraySource<T>>(rows: usize, columns: usize, source: &mut S) -> Result<Self, String> {
        let (row_indices, column_indices) = (source.elements("row_indices")?, source.elements("column_indices")?);
        Self::try_new(rows, columns, row_indices, column_indices, source.values()?).map_err(|error| error.to_string())
    }
}
