//! HYB: the ELL part, then the COO part, added by any of COO's strategies.

use cuda_std::launch::Launch;

use super::product;
use super::{Fraction, HybSplit, hyb_bytes};
use crate::device::Device;
use crate::error::Error;
use crate::executor::operation::KernelExecutor;
use crate::format::storage::ArraySource;
use crate::format::strategy::{self, HostStorage, Storage, Strategy as _};
use crate::format::text::{Key, Parameter, number};
use crate::format::{Coo, CooStrategy, Csr, Ell, FillLimit, Format, Hyb, coo};
use crate::memory::Memory;
use crate::real::Scalar;
use crate::spmv::multivector::Tiles;
use crate::spmv::{HostOperands, Room, Vectors};

/// Where HYB cuts the rows, and how it adds the COO part to the ELL part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HybStrategy {
    /// Number of entries per row in the ELL part.
    pub split: HybSplit,
    /// How the others are multiplied: with [`CooStrategy::Segmented`] the result is
    /// [reproducible](Format::reproducible); with any other strategy, one launch adds them atomically, as in Anzt et
    /// al. 2020, §4.
    pub coo: CooStrategy,
}

impl Format {
    /// HYB with the smallest arrays, adding the COO part atomically. Not [reproducible](Self::reproducible).
    pub const HYB_ATOMIC: Self = Self::Hyb(Strategy::ATOMIC.0);

    /// Returns HYB with the COO part by [`CooStrategy::Segmented`], which makes it [reproducible](Self::reproducible).
    pub const fn hyb(split: HybSplit) -> Self {
        Self::Hyb(HybStrategy { split, coo: CooStrategy::Segmented })
    }
}

/// HYB: the ELL part, then the COO part, added to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Strategy(pub HybStrategy);

impl Strategy {
    /// With the COO part as in Anzt et al. 2020, §4.
    pub(super) const ATOMIC: Self = Self(HybStrategy { split: HybSplit::SmallestStorage, coo: CooStrategy::Atomic });

    const fn segmented(split: HybSplit) -> Self {
        Self(HybStrategy { split, coo: CooStrategy::Segmented })
    }

    fn with_split(self, split: HybSplit) -> Self {
        Self(HybStrategy { split, ..self.0 })
    }
}

/// Description of a fraction.
const FRACTION: &str = "a fraction such as 1/3";

/// x of Q(x).
const QUANTILE: Key<Strategy> = Key {
    parameter: Parameter {
        name: "quantile",
        about: "x of Q(x), the largest number of entries per row in the ELL part",
        expected: FRACTION,
    },
    get: |strategy| match strategy.0.split {
        HybSplit::ImbalanceLimit(quantile) | HybSplit::ImbalanceBounded { quantile, .. } => Some(quantile.to_string()),
        _ => None,
    },
    set: |strategy, text| {
        let quantile: Fraction = text.parse().ok()?;
        Some(strategy.with_split(match strategy.0.split {
            HybSplit::ImbalanceBounded { part_of_rows, .. } => HybSplit::ImbalanceBounded { quantile, part_of_rows },
            _ => HybSplit::ImbalanceLimit(quantile),
        }))
    },
};

/// The fraction of the number of rows that bounds the ELL part.
const ROWS: Key<Strategy> = Key {
    parameter: Parameter {
        name: "rows",
        about: "limit of that number, as a fraction of the number of rows",
        expected: FRACTION,
    },
    get: |strategy| match strategy.0.split {
        HybSplit::ImbalanceBounded { part_of_rows, .. } => Some(part_of_rows.to_string()),
        _ => None,
    },
    set: |strategy, text| match strategy.0.split {
        HybSplit::ImbalanceBounded { quantile, .. } => {
            let part_of_rows = text.parse().ok()?;
            Some(strategy.with_split(HybSplit::ImbalanceBounded { quantile, part_of_rows }))
        }
        _ => None,
    },
};

/// The same number of entries for every matrix.
const COLUMNS: Key<Strategy> = Key {
    parameter: Parameter {
        name: "columns",
        about: "largest number of entries per row in the ELL part",
        expected: "a number from 0 to 4294967295",
    },
    get: |strategy| match strategy.0.split {
        HybSplit::ColumnLimit(limit) => Some(limit.to_string()),
        _ => None,
    },
    set: |strategy, text| Some(strategy.with_split(HybSplit::ColumnLimit(number(text, 0, u32::MAX)?))),
};

/// The strategy of the COO part.
const COO: Key<Strategy> = Key {
    parameter: Parameter {
        name: "coo",
        about: "how the COO part is multiplied",
        expected: "the name of a coordinate format such as coo-atomic",
    },
    get: |strategy| Some(coo::Strategy(strategy.0.coo).name().into()),
    set: |strategy, text| {
        let coo = coo::Strategy::ALL.iter().find(|coo| coo.name() == text)?.0;
        Some(Strategy(HybStrategy { coo, ..strategy.0 }))
    },
};

impl strategy::Strategy for Strategy {
    type Matrix<T: Scalar, M: Memory> = Hyb<T, M>;

    const ALL: &'static [Self] = &[
        Self::segmented(HybSplit::SmallestStorage),
        Self::ATOMIC,
        Self::segmented(HybSplit::BellGarland),
        Self::segmented(HybSplit::Q_0),
        Self::segmented(HybSplit::Q_1_4),
        Self::segmented(HybSplit::Q_1_3),
        Self::segmented(HybSplit::COLUMN_LIMIT),
        Self::segmented(HybSplit::IMBALANCE_LIMIT),
        Self::segmented(HybSplit::IMBALANCE_BOUNDED),
        Self::segmented(HybSplit::GinkgoAutomatic),
    ];

    const STANDARD: &'static [Self] = &[Self::segmented(HybSplit::SmallestStorage)];

    fn name(self) -> &'static str {
        match (self.0.split, self.0.coo) {
            (HybSplit::Q_0, CooStrategy::Segmented) => "hyb-q0",
            (HybSplit::Q_1_4, CooStrategy::Segmented) => "hyb-q1-4",
            (HybSplit::Q_1_3, CooStrategy::Segmented) => "hyb-q1-3",
            (HybSplit::IMBALANCE_LIMIT, CooStrategy::Segmented) => "hyb-imbalance-limit",
            (HybSplit::SmallestStorage | HybSplit::ImbalanceLimit(_), CooStrategy::Atomic) => "hyb-atomic",
            (HybSplit::SmallestStorage | HybSplit::ImbalanceLimit(_), _) => "hyb",
            (HybSplit::BellGarland, _) => "hyb-bell-garland",
            (HybSplit::ColumnLimit(_), _) => "hyb-column-limit",
            (HybSplit::ImbalanceBounded { .. }, _) => "hyb-imbalance-bounded",
            (HybSplit::GinkgoAutomatic, _) => "hyb-automatic",
        }
    }

    fn keys(self) -> &'static [Key<Self>] {
        match self.0.split {
            HybSplit::SmallestStorage => &[QUANTILE, COO],
            HybSplit::ColumnLimit(_) => &[COLUMNS, COO],
            HybSplit::ImbalanceBounded { .. } => &[QUANTILE, ROWS, COO],
            HybSplit::BellGarland | HybSplit::ImbalanceLimit(_) | HybSplit::GinkgoAutomatic => &[COO],
        }
    }

    fn storage(self) -> &'static str {
        match self.0.split {
            HybSplit::SmallestStorage => "HYB",
            HybSplit::BellGarland => "HYB, Bell-Garland",
            HybSplit::ColumnLimit(_) => "HYB, column limit",
            HybSplit::Q_0 => "HYB, Q(0)",
            HybSplit::Q_1_4 => "HYB, Q(1/4)",
            HybSplit::Q_1_3 => "HYB, Q(1/3)",
            HybSplit::ImbalanceLimit(_) => "HYB, imbalance limit",
            HybSplit::ImbalanceBounded { .. } => "HYB, imbalance-bounded",
            HybSplit::GinkgoAutomatic => "HYB, automatic",
        }
    }

    fn shares_arrays(self, other: Self) -> bool {
        self.0.split == other.0.split
    }

    fn reproducible(self) -> bool {
        coo::Strategy(self.0.coo).reproducible()
    }

    fn multiplies_multivectors(self) -> bool {
        true
    }

    fn bytes<T: Scalar, V: Scalar>(self, matrix: &Csr<T>) -> Result<u128, Error> {
        hyb_bytes::<T, V>(matrix, self.0.split)
    }

    fn convert<T: Scalar>(self, matrix: Csr<T>, limit: FillLimit) -> Result<Hyb<T>, Error> {
        Hyb::try_from_csr(&matrix, self.0.split, limit)
    }

    fn convert_by_kernels<T: Scalar, K: KernelExecutor>(
        self,
        executor: &K,
        matrix: Csr<T, K::Memory>,
        limit: FillLimit,
    ) -> Result<Hyb<T, K::Memory>, Error> {
        super::by_kernels::from_csr(executor, &matrix, self.0.split, limit)
    }

    fn is_chosen_for<T: Scalar>(self, matrix: &Hyb<T>) -> Result<bool, Error> {
        matrix.is_split_by(self.0.split)
    }

    fn launches<T: Scalar, M: Memory>(
        self,
        matrix: &Hyb<T, M>,
        vectors: Vectors<T>,
        room: &mut Room<'_, T, M>,
        device: &Device,
    ) -> Result<Vec<Launch>, Error> {
        product::hyb(self.0.coo, matrix, vectors, room, device)
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
