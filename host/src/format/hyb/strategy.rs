//! HYB: the ELL part, then the COO part on top of it.

use cuda_std::launch::Launch;

use super::product;
use super::{HybSplit, hyb_bytes};
use crate::device::Device;
use crate::error::Error;
use crate::executor::operation::KernelExecutor;
use crate::format::storage::ArraySource;
use crate::format::strategy::{self, HostStorage, Storage};
use crate::format::{Coo, Csr, Ell, FillLimit, Hyb};
use crate::memory::Memory;
use crate::real::Scalar;
use crate::spmv::multivector::Tiles;
use crate::spmv::{HostOperands, Room, Vectors};

/// HYB: the ELL part, then the COO part on top of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Strategy(pub HybSplit);

impl strategy::Strategy for Strategy {
    type Matrix<T: Scalar, M: Memory> = Hyb<T, M>;

    const ALL: &'static [Self] = &[
        Self(HybSplit::SmallestStorage),
        Self(HybSplit::BellGarland),
        Self(HybSplit::COLUMN_LIMIT),
        Self(HybSplit::IMBALANCE_LIMIT),
        Self(HybSplit::IMBALANCE_BOUNDED),
        Self(HybSplit::GinkgoAutomatic),
    ];

    const STANDARD: &'static [Self] = &[Self(HybSplit::SmallestStorage)];

    fn name(self) -> &'static str {
        match self.0 {
            HybSplit::SmallestStorage => "hyb",
            HybSplit::BellGarland => "hyb-bell-garland",
            HybSplit::ColumnLimit(_) => "hyb-column-limit",
            HybSplit::ImbalanceLimit(_) => "hyb-imbalance-limit",
            HybSplit::ImbalanceBounded { .. } => "hyb-imbalance-bounded",
            HybSplit::GinkgoAutomatic => "hyb-automatic",
        }
    }

    fn storage(self) -> &'static str {
        match self.0 {
            HybSplit::SmallestStorage => "HYB",
            HybSplit::BellGarland => "HYB, Bell-Garland",
            HybSplit::ColumnLimit(_) => "HYB, column limit",
            HybSplit::ImbalanceLimit(_) => "HYB, imbalance limit",
            HybSplit::ImbalanceBounded { .. } => "HYB, imbalance-bounded",
            HybSplit::GinkgoAutomatic => "HYB, automatic",
        }
    }

    fn multiplies_multivectors(self) -> bool {
        true
    }

    fn bytes<T: Scalar, V: Scalar>(self, matrix: &Csr<T>) -> Result<u128, Error> {
        hyb_bytes::<T, V>(matrix, self.0)
    }

    fn convert<T: Scalar>(self, matrix: Csr<T>, limit: FillLimit) -> Result<Hyb<T>, Error> {
        Hyb::try_from_csr(&matrix, self.0, limit)
    }

    fn convert_by_kernels<T: Scalar, K: KernelExecutor>(
        self,
        executor: &K,
        matrix: Csr<T, K::Memory>,
        limit: FillLimit,
    ) -> Result<Hyb<T, K::Memory>, Error> {
        super::by_kernels::from_csr(executor, &matrix, self.0, limit)
    }

    fn is_chosen_for<T: Scalar>(self, matrix: &Hyb<T>) -> Result<bool, Error> {
        matrix.is_split_by(self.0)
    }

    fn launches<T: Scalar, M: Memory>(
        self,
        matrix: &Hyb<T, M>,
        vectors: Vectors<T>,
        room: &mut Room<'_, T, M>,
        device: &Device,
    ) -> Result<Vec<Launch>, Error> {
        product::hyb(matrix, vectors, room, device)
    }

    fn multiply_on_cpu<T: Scalar>(self, matrix: &Hyb<T>, operands: HostOperands<'_, T>) -> Result<(), Error> {
        product::multiply_on_cpu(matrix, operands)
    }

    fn multivector_launches<T: Scalar, M: Memory>(
        self,
        matrix: &Hyb<T, M>,
        tiles: &Tiles<T>,
        room: &mut Room<'_, T, M>,
        device: &Device,
    ) -> Result<Vec<Launch>, Error> {
        product::multivector(matrix, tiles, room, device)
    }

    fn multiply_rows_on_cpu<T: Scalar>(
        self,
        matrix: &Hyb<T>,
        vectors: usize,
        operands: HostOperands<'_, T>,
    ) -> Result<(), Error> {
        product::multiply_rows_on_cpu(matrix, vectors, operands)
    }
}

impl<T: Scalar, M: Memory> Storage<T, M> for Hyb<T, M> {
    const CONTAINER_NAME: &'static str = "HYB";

    fn bytes_moved(&self) -> u128 {
        self.bytes()
    }

    fn into_csr_by_kernels<K: KernelExecutor<Memory = M>>(self, executor: &K) -> Result<Csr<T, M>, Error> {
        super::by_kernels::into_csr(executor, self)
    }
}

impl<T: Scalar> HostStorage<T> for Hyb<T> {
    fn for_each_entry(&self, visit: &mut dyn FnMut(usize, u32, T)) -> Result<(), Error> {
        Hyb::for_each_entry(self, visit);
        Ok(())
    }

    fn into_csr(self) -> Result<Csr<T>, Error> {
        Hyb::into_csr(self)
    }

    fn read<S: ArraySource<T>>(rows: usize, columns: usize, source: &mut S) -> Result<Self, String> {
        source.part("ell.");
        let ell = <Ell<T> as HostStorage<T>>::read(rows, columns, source)?;
        source.part("coo.");
        let coo = <Coo<T> as HostStorage<T>>::read(rows, columns, source)?;
        Self::try_new(ell, coo).map_err(|error| error.to_string())
    }
}
