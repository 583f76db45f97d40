//! CMRS: one warp per strip of rows.

use cuda_std::launch::Launch;

use super::multivector::{self, Strips};
use super::product;
use super::{StripHeight, StripOrder, StripRows, cmrs_bytes};
use crate::device::Device;
use crate::error::Error;
use crate::executor::operation::KernelExecutor;
use crate::format::storage::ArraySource;
use crate::format::strategy::{self, HostStorage, Storage};
use crate::format::text::{Key, Parameter};
use crate::format::{Cmrs, Csr, FillLimit};
use crate::memory::Memory;
use crate::real::Scalar;
use crate::spmv::multivector::Tiles;
use crate::spmv::{HostOperands, Room, Vectors};

/// CMRS: one warp per strip of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Strategy(pub StripHeight);

const HEIGHT: Key<Strategy> = Key {
    parameter: Parameter { name: "height", about: "rows per strip", expected: "a number from 1 to 16" },
    get: |strategy| match strategy.0 {
        StripHeight::ByTraffic => None,
        StripHeight::Rows(rows) => Some(rows.get().to_string()),
    },
    set: |_, text| Some(Strategy(StripHeight::Rows(StripRows::new(text.parse().ok()?)?))),
};

impl strategy::Strategy for Strategy {
    type Matrix<T: Scalar, M: Memory> = Cmrs<T, M>;

    const ALL: &'static [Self] = &[
        Self(StripHeight::ByTraffic),
        Self(StripHeight::H4),
        Self(StripHeight::H6),
        Self(StripHeight::H8),
        Self(StripHeight::H12),
        Self(StripHeight::H16),
    ];

    const STANDARD: &'static [Self] = &[Self(StripHeight::ByTraffic)];

    fn name(self) -> &'static str {
        match self.0 {
            StripHeight::H4 => "cmrs-4",
            StripHeight::H6 => "cmrs-6",
            StripHeight::H8 => "cmrs-8",
            StripHeight::H12 => "cmrs-12",
            StripHeight::H16 => "cmrs-16",
            StripHeight::ByTraffic | StripHeight::Rows(_) => "cmrs",
        }
    }

    fn keys(self) -> &'static [Key<Self>] {
        match self.0 {
            StripHeight::ByTraffic => &[HEIGHT],
            StripHeight::Rows(_) => &[],
        }
    }

    fn storage(self) -> &'static str {
        match self.0 {
            StripHeight::ByTraffic => "CMRS",
            StripHeight::H4 => "CMRS, 4 rows",
            StripHeight::H6 => "CMRS, 6 rows",
            StripHeight::H8 => "CMRS, 8 rows",
            StripHeight::H12 => "CMRS, 12 rows",
            StripHeight::H16 => "CMRS, 16 rows",
            StripHeight::Rows(_) => "CMRS, given height",
        }
    }

    fn shares_arrays(self, other: Self) -> bool {
        self == other
    }

    fn sorts_rows(self) -> bool {
        true
    }

    fn multiplies_multivectors(self) -> bool {
        true
    }

    fn bytes<T: Scalar, V: Scalar>(self, matrix: &Csr<T>) -> Result<u128, Error> {
        let height = self.0.rows::<V>(matrix.rows(), matrix.nnz());
        Ok(cmrs_bytes::<V>(matrix.rows(), matrix.nnz(), height))
    }

    fn convert<T: Scalar>(self, matrix: Csr<T>, _: FillLimit) -> Result<Cmrs<T>, Error> {
        Cmrs::try_from_csr(matrix, self.0, StripOrder::default())
    }

    fn convert_by_kernels<T: Scalar, K: KernelExecutor>(
        self,
        executor: &K,
        matrix: Csr<T, K::Memory>,
        _: FillLimit,
    ) -> Result<Cmrs<T, K::Memory>, Error> {
        super::by_kernels::from_csr(executor, matrix, self.0, StripOrder::default())
    }

    fn is_chosen_for<T: Scalar>(self, matrix: &Cmrs<T>) -> Result<bool, Error> {
        Ok(matrix.height() == self.0.rows::<T>(matrix.rows(), matrix.nnz()))
    }

    fn launches<T: Scalar, M: Memory>(
        self,
        matrix: &Cmrs<T, M>,
        vectors: Vectors<T>,
        _: &mut Room<'_, T, M>,
        device: &Device,
    ) -> Result<Vec<Launch>, Error> {
        Ok(vec![product::cmrs(matrix, vectors, device)])
    }

    fn multiply_on_cpu<T: Scalar>(self, matrix: &Cmrs<T>, operands: HostOperands<'_, T>) -> Result<(), Error> {
        product::multiply_on_cpu(matrix, operands);
        Ok(())
    }

    fn multivector_launches<T: Scalar, M: Memory>(
        self,
        matrix: &Cmrs<T, M>,
        tiles: &Tiles<T>,
        _: &mut Room<'_, T, M>,
        device: &Device,
    ) -> Result<Vec<Launch>, Error> {
        Ok(tiles.arguments().map(|arguments| multivector::launch(strips(matrix), arguments, device)).collect())
    }

    fn multiply_rows_on_cpu<T: Scalar>(
        self,
        matrix: &Cmrs<T>,
        vectors: usize,
        operands: HostOperands<'_, T>,
    ) -> Result<(), Error> {
        multivector::multiply_on_cpu(matrix.height(), vectors, operands, |strip| matrix.entries(strip));
        Ok(())
    }
}

fn strips<T: Scalar, M: Memory>(matrix: &Cmrs<T, M>) -> Strips<'_, T, M> {
    let (offsets, words, values) = (matrix.strip_offsets(), matrix.words(), matrix.values());
    Strips { height: matrix.height(), padded: false, offsets, words, values }
}

impl<T: Scalar, M: Memory> Storage<T, M> for Cmrs<T, M> {
    const CONTAINER_NAME: &'static str = "CMRS";

    fn offset_width(&self) -> usize {
        self.strip_offsets().width()
    }

    fn bytes_moved(&self) -> u128 {
        self.bytes()
    }

    fn into_csr_by_kernels<K: KernelExecutor<Memory = M>>(self, executor: &K) -> Result<Csr<T, M>, Error> {
        super::by_kernels::into_csr(executor, self)
    }
}

impl<T: Scalar> HostStorage<T> for Cmrs<T> {
    fn for_each_entry(&self, visit: &mut dyn FnMut(usize, u32, T)) -> Result<(), Error> {
        self.for_each_entry(visit);
        Ok(())
    }

    fn into_csr(self) -> Result<Csr<T>, Error> {
        Cmrs::into_csr(self)
    }

    fn read<S: ArraySource<T>>(rows: usize, columns: usize, source: &mut S) -> Result<Self, String> {
        let [height] = source.sizes()?;
        let (offsets, words) = (source.offsets("strip_offsets")?, source.elements("words")?);
        Self::try_new(rows, columns, height, offsets, words, source.values()?).map_err(|error| error.to_string())
    }
}
