//! CSR: distribution of its rows over threads.

use cuda_std::launch::Launch;

use super::lanes::Lanes;
use super::{balanced, cpu, fused, multivector, product, transposed};
use crate::device::Device;
use crate::error::Error;
use crate::executor::operation::KernelExecutor;
use crate::format::narrow::{HostValues, StoredAs, Values};
use crate::format::storage::ArraySource;
use crate::format::strategy::{self, HostStorage, Storage};
use crate::format::{Csr, FillLimit, Format, Offsets};
use crate::memory::{Buffer, Memory};
use crate::real::Scalar;
use crate::spmv::multivector::Tiles;
use crate::spmv::transposed::Transposition;
use crate::spmv::{Fused, HostOperands, Room, Vectors};

/// Distribution of the rows of CSR over threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CsrStrategy {
    /// One thread per row.
    Scalar,
    /// Several lanes per row.
    Vector(Lanes),
    /// Equal shares of the entries for all warps.
    LoadBalanced,
    /// Equal shares of the entries for all warps, which update shared rows atomically. Not
    /// [reproducible](Format::reproducible).
    LoadBalancedAtomic,
    /// Equal shares of rows and entries for all warps.
    MergePath,
    /// Equal tiles of rows and entries for all blocks, several lanes per row.
    Tiled,
    /// One thread per row or load-balanced, as [`Format::resolve`] decides.
    Automatic,
}

impl Format {
    /// CSR, one thread per row.
    pub const CSR_SCALAR: Self = Self::Csr(CsrStrategy::Scalar);
    /// CSR, several lanes per row, chosen by the mean row length.
    pub const CSR_VECTOR: Self = Self::Csr(CsrStrategy::Vector(Lanes::ByMeanLength));
    /// CSR, equal shares of the entries for all warps.
    pub const CSR_LOAD_BALANCED: Self = Self::Csr(CsrStrategy::LoadBalanced);
    /// CSR, equal shares of the entries for all warps, which update shared rows atomically. Not
    /// [reproducible](Self::reproducible).
    pub const CSR_LOAD_BALANCED_ATOMIC: Self = Self::Csr(CsrStrategy::LoadBalancedAtomic);
    /// CSR, equal shares of rows and entries for all warps.
    pub const CSR_MERGE_PATH: Self = Self::Csr(CsrStrategy::MergePath);
    /// CSR, equal tiles of rows and entries for all blocks, several lanes per row.
    pub const CSR_TILED: Self = Self::Csr(CsrStrategy::Tiled);
    /// CSR, one thread per row or load-balanced, as [`resolve`](Self::resolve) decides.
    pub const CSR_AUTOMATIC: Self = Self::Csr(CsrStrategy::Automatic);
}

/// With more rows than this, [`CsrStrategy::Automatic`] is load-balanced (Anzt et al. 2020, Algorithm 2).
const BALANCED_ROWS: usize = 1_000_000;

/// With a row of more entries than this, [`CsrStrategy::Automatic`] is load-balanced.
const BALANCED_ROW_LENGTH: usize = 64;

/// CSR: distribution of its rows over threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Strategy(pub CsrStrategy);

impl strategy::Strategy for Strategy {
    type Matrix<T: Scalar, M: Memory> = Csr<T, M>;

    const ALL: &'static [Self] = &[
        Self(CsrStrategy::Scalar),
        Self(CsrStrategy::Vector(Lanes::ByMeanLength)),
        Self(CsrStrategy::Vector(Lanes::L2)),
        Self(CsrStrategy::Vector(Lanes::L4)),
        Self(CsrStrategy::Vector(Lanes::L8)),
        Self(CsrStrategy::Vector(Lanes::L16)),
        Self(CsrStrategy::Vector(Lanes::L32)),
        Self(CsrStrategy::LoadBalanced),
        Self(CsrStrategy::LoadBalancedAtomic),
        Self(CsrStrategy::MergePath),
        Self(CsrStrategy::Tiled),
        Self(CsrStrategy::Automatic),
    ];

    const STANDARD: &'static [Self] = &[
        Self(CsrStrategy::Vector(Lanes::ByMeanLength)),
        Self(CsrStrategy::Scalar),
        Self(CsrStrategy::LoadBalanced),
        Self(CsrStrategy::MergePath),
        Self(CsrStrategy::Tiled),
    ];

    fn name(self) -> &'static str {
        match self.0 {
            CsrStrategy::Scalar => "csr-scalar",
            CsrStrategy::Vector(Lanes::ByMeanLength) => "csr-vector",
            CsrStrategy::Vector(Lanes::L2) => "csr-vector-2",
            CsrStrategy::Vector(Lanes::L4) => "csr-vector-4",
            CsrStrategy::Vector(Lanes::L8) => "csr-vector-8",
            CsrStrategy::Vector(Lanes::L16) => "csr-vector-16",
            CsrStrategy::Vector(Lanes::L32) => "csr-vector-32",
            CsrStrategy::LoadBalanced => "csr-load-balanced",
            CsrStrategy::LoadBalancedAtomic => "csr-load-balanced-atomic",
            CsrStrategy::MergePath => "csr-merge-path",
            CsrStrategy::Tiled => "csr-tiled",
            CsrStrategy::Automatic => "csr-automatic",
        }
    }

    fn storage(self) -> &'static str {
        "CSR"
    }

    fn reproducible(self) -> bool {
        !matches!(self.0, CsrStrategy::LoadBalancedAtomic | CsrStrategy::Automatic)
    }

    fn multiplies_multivectors(self) -> bool {
        true
    }

    fn multiplies_transposed(self) -> bool {
        true
    }

    fn resolved_by(self, rows: usize, longest_row: impl FnOnce() -> usize) -> Self {
        Self(match self.0 {
            CsrStrategy::Automatic if rows > BALANCED_ROWS || longest_row() > BALANCED_ROW_LENGTH => {
                CsrStrategy::LoadBalancedAtomic
            }
            CsrStrategy::Automatic => CsrStrategy::Scalar,
            strategy => strategy,
        })
    }

    fn longest_chain(self, length: usize) -> usize {
        match self.0 {
            // One chain, at least on the CPU; Automatic is one of the strategies that it stands for; atomic additions
            // are sequential.
            CsrStrategy::Scalar | CsrStrategy::LoadBalancedAtomic | CsrStrategy::Automatic => length,
            CsrStrategy::Vector(lanes) => product::longest_chain(lanes, length),
            CsrStrategy::LoadBalanced | CsrStrategy::MergePath | CsrStrategy::Tiled => balanced::longest_chain(length),
        }
    }

    fn bytes<T: Scalar, V: Scalar>(self, matrix: &Csr<T>) -> Result<u128, Error> {
        Ok(matrix.bytes_with::<V>())
    }

    fn convert<T: Scalar>(self, matrix: Csr<T>, _: FillLimit) -> Result<Csr<T>, Error> {
        Ok(matrix)
    }

    fn convert_by_kernels<T: Scalar, K: KernelExecutor>(
        self,
        _: &K,
        matrix: Csr<T, K::Memory>,
        _: FillLimit,
    ) -> Result<Csr<T, K::Memory>, Error> {
        Ok(matrix)
    }

    fn launches<T: Scalar, M: Memory>(
        self,
        matrix: &Csr<T, M>,
        vectors: Vectors<T>,
        room: &mut Room<'_, T, M>,
        device: &Device,
    ) -> Result<Vec<Launch>, Error> {
        match self.0 {
            CsrStrategy::LoadBalanced => balanced::load_balanced(matrix, vectors, room, device),
            CsrStrategy::LoadBalancedAtomic => Ok(balanced::load_balanced_atomic(matrix, vectors, device)),
            CsrStrategy::MergePath => balanced::merge_path(matrix, vectors, room, device),
            CsrStrategy::Automatic => Err(Format::CSR_AUTOMATIC.stands_for_others()),
            CsrStrategy::Scalar | CsrStrategy::Vector(_) | CsrStrategy::Tiled => {
                self.narrow_launches(matrix, Values::as_they_are(matrix.values().global()), vectors, room, device)
            }
        }
    }

    fn fuses<T: Scalar, M: Memory>(self, matrix: &Csr<T, M>, device: &Device) -> bool {
        match (self.0, matrix.row_offsets()) {
            (CsrStrategy::Vector(lanes), Offsets::Narrow(_)) => fused::pays(matrix, lanes, device),
            _ => false,
        }
    }

    fn fused_launch<T: Scalar, M: Memory>(
        self,
        matrix: &Csr<T, M>,
        fused: &mut Fused<'_, T, M>,
        device: &Device,
    ) -> Result<Launch, Error> {
        match (self.0, matrix.row_offsets()) {
            (CsrStrategy::Vector(lanes), Offsets::Narrow(offsets)) => {
                fused::vector(matrix, offsets.global(), lanes, fused, device)
            }
            _ => Err(self.fuses_nothing()),
        }
    }

    fn multiplies_narrow(self) -> bool {
        matches!(self.0, CsrStrategy::Scalar | CsrStrategy::Vector(_) | CsrStrategy::Tiled)
    }

    fn narrow_launches<V: StoredAs<T>, T: Scalar, M: Memory>(
        self,
        matrix: &Csr<T, M>,
        values: Values<V, T>,
        vectors: Vectors<T>,
        room: &mut Room<'_, T, M>,
        device: &Device,
    ) -> Result<Vec<Launch>, Error> {
        match self.0 {
            CsrStrategy::Scalar => Ok(vec![product::scalar(matrix, values, vectors, device)]),
            CsrStrategy::Vector(lanes) => Ok(vec![product::vector(matrix, values, lanes, vectors, device)]),
            CsrStrategy::Tiled => balanced::tiled(matrix, values, vectors, room, device),
            _ => Err(self.multiplies_no_narrow_values()),
        }
    }

    fn multiply_narrow_on_cpu<V: StoredAs<T>, T: Scalar>(
        self,
        matrix: &Csr<T>,
        values: HostValues<'_, V, T>,
        operands: HostOperands<'_, T>,
    ) -> Result<(), Error> {
        cpu::multiply_on_cpu(matrix, values, operands);
        Ok(())
    }

    #[inline]
    fn multiply_on_cpu<T: Scalar>(self, matrix: &Csr<T>, operands: HostOperands<'_, T>) -> Result<(), Error> {
        cpu::multiply_on_cpu(matrix, HostValues::as_they_are(matrix.values()), operands);
        Ok(())
    }

    fn multivector_launches<T: Scalar, M: Memory>(
        self,
        matrix: &Csr<T, M>,
        tiles: &Tiles<T>,
        room: &mut Room<'_, T, M>,
        device: &Device,
    ) -> Result<Vec<Launch>, Error> {
        match self.0 {
            CsrStrategy::Scalar | CsrStrategy::Vector(_) => multivector::by_rows(matrix, tiles, device),
            CsrStrategy::LoadBalanced
            | CsrStrategy::LoadBalancedAtomic
            | CsrStrategy::MergePath
            | CsrStrategy::Tiled => multivector::in_shares(matrix, tiles, room, device),
            CsrStrategy::Automatic => Err(Format::CSR_AUTOMATIC.stands_for_others()),
        }
    }

    fn multiply_rows_on_cpu<T: Scalar>(
        self,
        matrix: &Csr<T>,
        vectors: usize,
        operands: HostOperands<'_, T>,
    ) -> Result<(), Error> {
        multivector::multiply_on_cpu(matrix, vectors, operands);
        Ok(())
    }

    fn transposed_launches<T: Scalar, M: Memory>(
        self,
        matrix: &Csr<T, M>,
        transposition: Transposition,
        vectors: Vectors<T>,
        device: &Device,
    ) -> Result<Vec<Launch>, Error> {
        Ok(transposed::launches(matrix, transposition, vectors, device))
    }

    fn multiply_transposed_on_cpu<T: Scalar>(
        self,
        matrix: &Csr<T>,
        transposition: Transposition,
        operands: HostOperands<'_, T>,
    ) -> Result<(), Error> {
        transposed::multiply_on_cpu(matrix, transposition, operands)
    }
}

impl<T: Scalar, M: Memory> Storage<T, M> for Csr<T, M> {
    const CONTAINER_NAME: &'static str = "CSR";

    fn offset_width(&self) -> usize {
        self.row_offsets().width()
    }

    fn bytes_moved(&self) -> u128 {
        self.bytes()
    }

    fn into_csr_by_kernels<K: KernelExecutor<Memory = M>>(self, _: &K) -> Result<Csr<T, M>, Error> {
        Ok(self)
    }
}

impl<T: Scalar> HostStorage<T> for Csr<T> {
    fn for_each_entry(&self, visit: &mut dyn FnMut(usize, u32, T)) -> Result<(), Error> {
        for row in 0..self.rows() {
            self.row(row).for_each(|(column, value)| visit(row, column, value));
        }
        Ok(())
    }

    fn into_csr(self) -> Result<Csr<T>, Error> {
        Ok(self)
    }

    fn read<S: ArraySource<T>>(rows: usize, columns: usize, source: &mut S) -> Result<Self, String> {
        let (offsets, columns_of_entries) = (source.offsets("row_offsets")?, source.elements("column_indices")?);
        Self::try_new(rows, columns, offsets, columns_of_entries, source.values()?).map_err(|error| error.to_string())
    }
}
