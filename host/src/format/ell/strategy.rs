//! ELL: one thread per row, or several.

use cuda_std::launch::Launch;

use super::ell_bytes;
use super::fused;
use super::multivector;
use super::product;
use crate::device::Device;
use crate::error::Error;
use crate::executor::operation::KernelExecutor;
use crate::format::narrow::{HostValues, StoredAs, Values};
use crate::format::storage::ArraySource;
use crate::format::strategy::{self, HostStorage, Storage};
use crate::format::{Csr, Ell, FillLimit, Format};
use crate::memory::{Buffer, Memory};
use crate::real::Scalar;
use crate::spmv::multivector::Tiles;
use crate::spmv::{Fused, HostOperands, Room, Vectors};

/// Number of threads per row of ELL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EllStrategy {
    /// One.
    Row,
    /// Several where rows are few and long.
    Subwarp,
}

impl Format {
    /// ELLPACK, one thread per row.
    pub const ELL: Self = Self::Ell(EllStrategy::Row);
    /// ELLPACK, several threads per row where rows are few and long.
    pub const ELL_SUBWARP: Self = Self::Ell(EllStrategy::Subwarp);
}

/// ELL: one thread per row, or several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Strategy(pub EllStrategy);

impl strategy::Strategy for Strategy {
    type Matrix<T: Scalar, M: Memory> = Ell<T, M>;

    const ALL: &'static [Self] = &[Self(EllStrategy::Row), Self(EllStrategy::Subwarp)];

    const STANDARD: &'static [Self] = &[Self(EllStrategy::Row)];

    fn name(self) -> &'static str {
        match self.0 {
            EllStrategy::Row => "ell",
            EllStrategy::Subwarp => "ell-subwarp",
        }
    }

    fn storage(self) -> &'static str {
        "ELL"
    }

    fn multiplies_multivectors(self) -> bool {
        true
    }

    fn bytes<T: Scalar, V: Scalar>(self, matrix: &Csr<T>) -> Result<u128, Error> {
        Ok(ell_bytes::<V>(matrix.rows(), matrix.longest_row()))
    }

    fn convert<T: Scalar>(self, matrix: Csr<T>, limit: FillLimit) -> Result<Ell<T>, Error> {
        Ell::try_from_csr(&matrix, limit)
    }

    fn convert_by_kernels<T: Scalar, K: KernelExecutor>(
        self,
        executor: &K,
        matrix: Csr<T, K::Memory>,
        limit: FillLimit,
    ) -> Result<Ell<T, K::Memory>, Error> {
        super::by_kernels::from_csr(executor, &matrix, limit)
    }

    fn launches<T: Scalar, M: Memory>(
        self,
        matrix: &Ell<T, M>,
        vectors: Vectors<T>,
        room: &mut Room<'_, T, M>,
        device: &Device,
    ) -> Result<Vec<Launch>, Error> {
        self.narrow_launches(matrix, Values::as_they_are(matrix.values().global()), vectors, room, device)
    }

    fn fuses<T: Scalar, M: Memory>(self, matrix: &Ell<T, M>, device: &Device) -> bool {
        self.0 == EllStrategy::Row && device.has_few_rows(matrix.rows())
    }

    fn fused_launch<T: Scalar, M: Memory>(
        self,
        matrix: &Ell<T, M>,
        fused: &mut Fused<'_, T, M>,
        device: &Device,
    ) -> Result<Launch, Error> {
        match self.0 {
            EllStrategy::Row => fused::ell(matrix, fused, device),
            EllStrategy::Subwarp => Err(self.fuses_nothing()),
        }
    }

    fn multiplies_narrow(self) -> bool {
        true
    }

    fn narrow_launches<V: StoredAs<T>, T: Scalar, M: Memory>(
        self,
        matrix: &Ell<T, M>,
        values: Values<V, T>,
        vectors: Vectors<T>,
        _: &mut Room<'_, T, M>,
        device: &Device,
    ) -> Result<Vec<Launch>, Error> {
        Ok(vec![match self.0 {
            EllStrategy::Row => product::ell(matrix, values, vectors, device),
            EllStrategy::Subwarp => product::subwarp(matrix, values, vectors, device),
        }])
    }

    fn multiply_narrow_on_cpu<V: StoredAs<T>, T: Scalar>(
        self,
        matrix: &Ell<T>,
        values: HostValues<'_, V, T>,
        operands: HostOperands<'_, T>,
    ) -> Result<(), Error> {
        product::multiply_on_cpu(matrix, values, operands);
        Ok(())
    }

    fn multiply_on_cpu<T: Scalar>(self, matrix: &Ell<T>, operands: HostOperands<'_, T>) -> Result<(), Error> {
        product::multiply_on_cpu(matrix, HostValues::as_they_are(matrix.values()), operands);
        Ok(())
    }

    fn multivector_launches<T: Scalar, M: Memory>(
        self,
        matrix: &Ell<T, M>,
        tiles: &Tiles<T>,
        _: &mut Room<'_, T, M>,
        device: &Device,
    ) -> Result<Vec<Launch>, Error> {
        Ok(tiles.arguments().map(|arguments| multivector::launch(matrix, arguments, device)).collect())
    }

    fn multiply_rows_on_cpu<T: Scalar>(
        self,
        matrix: &Ell<T>,
        vectors: usize,
        operands: HostOperands<'_, T>,
    ) -> Result<(), Error> {
        multivector::multiply_on_cpu(matrix, vectors, operands);
        Ok(())
    }
}

impl<T: Scalar, M: Memory> Storage<T, M> for Ell<T, M> {
    const CONTAINER_NAME: &'static str = "ELL";

    fn bytes_moved(&self) -> u128 {
        self.bytes()
    }

    fn into_csr_by_kernels<K: KernelExecutor<Memory = M>>(self, executor: &K) -> Result<Csr<T, M>, Error> {
        super::by_kernels::into_csr(executor, self)
    }
}

impl<T: Scalar> HostStorage<T> for Ell<T> {
    fn for_each_entry(&self, visit: &mut dyn FnMut(usize, u32, T)) -> Result<(), Error> {
        Ell::for_each_entry(self, visit);
        Ok(())
    }

    fn into_csr(self) -> Result<Csr<T>, Error> {
        self.to_csr()
    }

    fn read<S: ArraySource<T>>(rows: usize, columns: usize, source: &mut S) -> Result<Self, String> {
        let [stride, width] = source.sizes()?;
        Self::try_new(rows, columns, stride, width, source.elements("column_indices")?, source.values()?)
            .map_err(|error| error.to_string())
    }
}
