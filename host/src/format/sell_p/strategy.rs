//! SELL-P: one thread per row.

use cuda_std::launch::Launch;

use super::{Slicing, fused, multivector, predicted_bytes, product};
use crate::device::Device;
use crate::error::Error;
use crate::executor::operation::KernelExecutor;
use crate::format::narrow::{HostValues, StoredAs, Values};
use crate::format::storage::ArraySource;
use crate::format::strategy::{self, HostStorage, Storage};
use crate::format::text::{Key, Parameter, number};
use crate::format::{Csr, FillLimit, Format, SellP};
use crate::memory::{Buffer, Memory};
use crate::real::Scalar;
use crate::spmv::multivector::Tiles;
use crate::spmv::{Fused, HostOperands, Room, Vectors};

impl Format {
    /// Sliced ELLPACK, [`Slicing::UNSORTED`], one thread per row.
    pub const SELL_P: Self = Self::SellP(Slicing::UNSORTED);
    /// Sliced ELLPACK, [`Slicing::SORTED`], one thread per row.
    pub const SELL_P_SORTED: Self = Self::SellP(Slicing::SORTED);
}

/// SELL-P: one thread per row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Strategy(pub Slicing);

/// Valid values of each parameter.
const AT_LEAST_1: &str = "a number from 1 to 4294967295";

const SLICE: Key<Strategy> = Key {
    parameter: Parameter { name: "slice", about: "rows per slice", expected: AT_LEAST_1 },
    get: |strategy| Some(strategy.0.slice_size.to_string()),
    set: |strategy, text| Some(Strategy(Slicing { slice_size: number(text, 1, u32::MAX)?, ..strategy.0 })),
};

const STRIDE: Key<Strategy> = Key {
    parameter: Parameter { name: "stride", about: "divisor of the width of each slice", expected: AT_LEAST_1 },
    get: |strategy| Some(strategy.0.stride_factor.to_string()),
    set: |strategy, text| Some(Strategy(Slicing { stride_factor: number(text, 1, u32::MAX)?, ..strategy.0 })),
};

const SIGMA: Key<Strategy> = Key {
    parameter: Parameter {
        name: "sigma",
        about: "rows per window in which the longest come first: 1, or a multiple of slice",
        expected: AT_LEAST_1,
    },
    get: |strategy| Some(strategy.0.sigma.to_string()),
    set: |strategy, text| Some(Strategy(Slicing { sigma: number(text, 1, u32::MAX)?, ..strategy.0 })),
};

impl strategy::Strategy for Strategy {
    type Matrix<T: Scalar, M: Memory> = SellP<T, M>;

    const ALL: &'static [Self] = &[Self(Slicing::UNSORTED), Self(Slicing::SORTED)];

    fn name(self) -> &'static str {
        match self.0 {
            Slicing::SORTED => "sell-p-sorted",
            _ => "sell-p",
        }
    }

    fn keys(self) -> &'static [Key<Self>] {
        &[SLICE, STRIDE, SIGMA]
    }

    fn contradiction(self) -> Option<String> {
        self.0.contradiction()
    }

    fn storage(self) -> &'static str {
        if self.0.sigma > 1 { "SELL-P, sorted" } else { "SELL-P" }
    }

    fn shares_arrays(self, other: Self) -> bool {
        self == other
    }

    fn multiplies_multivectors(self) -> bool {
        true
    }

    fn bytes<T: Scalar, V: Scalar>(self, matrix: &Csr<T>) -> Result<u128, Error> {
        predicted_bytes::<T, V>(matrix, self.0)
    }

    fn convert<T: Scalar>(self, matrix: Csr<T>, limit: FillLimit) -> Result<SellP<T>, Error> {
        SellP::try_from_csr(&matrix, self.0, limit)
    }

    fn convert_by_kernels<T: Scalar, K: KernelExecutor>(
        self,
        executor: &K,
        matrix: Csr<T, K::Memory>,
        limit: FillLimit,
    ) -> Result<SellP<T, K::Memory>, Error> {
        super::by_kernels::from_csr(executor, &matrix, self.0, limit)
    }

    fn is_chosen_for<T: Scalar>(self, matrix: &SellP<T>) -> Result<bool, Error> {
        Ok(matrix.slicing() == self.0)
    }

    fn launches<T: Scalar, M: Memory>(
        self,
        matrix: &SellP<T, M>,
        vectors: Vectors<T>,
        room: &mut Room<'_, T, M>,
        device: &Device,
    ) -> Result<Vec<Launch>, Error> {
        self.narrow_launches(matrix, Values::as_they_are(matrix.values().global()), vectors, room, device)
    }

    fn fuses<T: Scalar, M: Memory>(self, matrix: &SellP<T, M>, device: &Device) -> bool {
        device.has_few_rows(matrix.rows())
    }

    fn fused_launch<T: Scalar, M: Memory>(
        self,
        matrix: &SellP<T, M>,
        fused: &mut Fused<'_, T, M>,
        device: &Device,
    ) -> Result<Launch, Error> {
        fused::sell_p(matrix, fused, device)
    }

    fn multiplies_narrow(self) -> bool {
        true
    }

    fn narrow_launches<V: StoredAs<T>, T: Scalar, M: Memory>(
        self,
        matrix: &SellP<T, M>,
        values: Values<V, T>,
        vectors: Vectors<T>,
        _: &mut Room<'_, T, M>,
        device: &Device,
    ) -> Result<Vec<Launch>, Error> {
        Ok(vec![product::sell_p(matrix, values, vectors, device)])
    }

    fn multiply_narrow_on_cpu<V: StoredAs<T>, T: Scalar>(
        self,
        matrix: &SellP<T>,
        values: HostValues<'_, V, T>,
        operands: HostOperands<'_, T>,
    ) -> Result<(), Error> {
        product::multiply_on_cpu(matrix, values, operands);
        Ok(())
    }

    fn multiply_on_cpu<T: Scalar>(self, matrix: &SellP<T>, operands: HostOperands<'_, T>) -> Result<(), Error> {
        product::multiply_on_cpu(matrix, HostValues::as_they_are(matrix.values()), operands);
        Ok(())
    }

    fn multivector_launches<T: Scalar, M: Memory>(
        self,
        matrix: &SellP<T, M>,
        tiles: &Tiles<T>,
        _: &mut Room<'_, T, M>,
        device: &Device,
    ) -> Result<Vec<Launch>, Error> {
        Ok(tiles.arguments().map(|arguments| multivector::launch(matrix, arguments, device)).collect())
    }

    fn multiply_rows_on_cpu<T: Scalar>(
        self,
        matrix: &SellP<T>,
        vectors: usize,
        operands: HostOperands<'_, T>,
    ) -> Result<(), Error> {
        multivector::multiply_on_cpu(matrix, vectors, operands);
        Ok(())
    }
}

impl<T: Scalar, M: Memory> Storage<T, M> for SellP<T, M> {
    const CONTAINER_NAME: &'static str = "SELL-P";

    fn bytes_moved(&self) -> u128 {
        self.bytes()
    }

    fn into_csr_by_kernels<K: KernelExecutor<Memory = M>>(self, executor: &K) -> Result<Csr<T, M>, Error> {
        super::by_kernels::into_csr(executor, self)
    }
}

impl<T: Scalar> HostStorage<T> for SellP<T> {
    fn for_each_entry(&self, visit: &mut dyn FnMut(usize, u32, T)) -> Result<(), Error> {
        for position in 0..self.rows() {
            let row = self.row_at(position);
            self.entries_at(position).for_each(|(column, value)| visit(row, column, value));
        }
        Ok(())
    }

    fn into_csr(self) -> Result<Csr<T>, Error> {
        self.to_csr()
    }

    fn read<S: ArraySource<T>>(rows: usize, columns: usize, source: &mut S) -> Result<Self, String> {
        let [slice_size, stride_factor, sigma] = source.sizes()?;
        let slicing = Slicing { slice_size, stride_factor, sigma };
        let (begins, row_indices) = (source.elements("slice_begins")?, source.elements("row_indices")?);
        let column_indices = source.elements("column_indices")?;
        Self::try_new(rows, columns, slicing, begins, row_indices, column_indices, source.values()?)
            .map_err(|error| error.to_string())
    }
}
