//! Hybrid of ELLPACK and coordinates (Bell & Garland 2009, §3.5; Anzt et al. 2020, §4).

#[allow(unsafe_code, reason = "it launches kernels")]
pub(crate) mod by_kernels;
mod costs;
mod fraction;
pub(crate) mod product;
pub(crate) mod strategy;

use std::num::NonZeroU32;
use std::ops::Range;

use gpu_kernels::ell::PADDING;

use crate::error::Error;
use crate::executor::Executor;
use crate::format::check::AT_ONCE;
use crate::format::coo::coo_bytes;
use crate::format::ell::ell_bytes;
use crate::format::rows::{collect_rows, row_offsets};
use crate::format::storage::ArrayVisitor;
use crate::format::{Coo, Csr, Ell, FillLimit, ValueArrays};
use crate::memory::{HostMemory, Memory, Transfer, collect, copy, zeros};
use crate::parallel;
use crate::real::Scalar;

pub use fraction::Fraction;
pub use strategy::HybStrategy;
pub(crate) use strategy::Strategy;

/// Bytes of a column or row index.
const INDEX_BYTES: usize = 4;

/// If fewer rows than this have at least K entries, a K-th column of slots is not worthwhile (Bell & Garland 2009,
/// §3.5).
const BELL_GARLAND_LEAST_ROWS: usize = 4096;

/// Largest number of entries per row in the ELL part of a [`Hyb`] matrix; the rest goes to the COO part.
///
/// Q(x) is the quantile function of the row lengths: the smallest length such that more than the fraction x of all rows
/// are not longer (Anzt et al. 2020, eq. 6). Q(1) is the length of the longest row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum HybSplit {
    /// Q(p / (v + 2 p)) for values of v bytes and indices of p bytes, which minimizes the size of the arrays: Q(1/4)
    /// for `f64`, Q(1/3) for `f32`.
    #[default]
    SmallestStorage,
    /// Largest number of entries that at least max(4096, a third) of the rows have: Q(2/3) from 12,288 rows on.
    BellGarland,
    /// The same number for every matrix.
    ColumnLimit(u32),
    /// Q(x).
    ImbalanceLimit(Fraction),
    /// Q(x), but at most a given fraction of the number of rows, so the ELL part of a matrix with few rows stays
    /// narrow.
    ImbalanceBounded {
        /// x.
        quantile: Fraction,
        /// Fraction of the number of rows.
        part_of_rows: Fraction,
    },
    /// [`ImbalanceBounded`](Self::ImbalanceBounded) with Q(1/3) and a thousandth of the rows: Ginkgo's
    /// `automatic`.
    GinkgoAutomatic,
}

impl HybSplit {
    /// [`ColumnLimit`](Self::ColumnLimit) of 16 entries.
    pub const COLUMN_LIMIT: Self = Self::ColumnLimit(16);
    /// [`ImbalanceLimit`](Self::ImbalanceLimit) of Q(4/5), Ginkgo's default.
    pub const IMBALANCE_LIMIT: Self = Self::ImbalanceLimit(Fraction::new(4, NonZeroU32::new(5).unwrap()));
    /// [`ImbalanceLimit`](Self::ImbalanceLimit) of Q(0): no padding (Anzt et al. 2020, Table 1).
    pub const Q_0: Self = Self::ImbalanceLimit(Fraction::new(0, NonZeroU32::MIN));
    /// [`ImbalanceLimit`](Self::ImbalanceLimit) of Q(1/4): the smallest arrays for `f64`.
    pub const Q_1_4: Self = Self::ImbalanceLimit(Fraction::new(1, NonZeroU32::new(4).unwrap()));
    /// [`ImbalanceLimit`](Self::ImbalanceLimit) of Q(1/3): the smallest arrays for `f32`.
    pub const Q_1_3: Self = Self::ImbalanceLimit(Fraction::new(1, NonZeroU32::new(3).unwrap()));
    /// [`ImbalanceBounded`](Self::ImbalanceBounded) with Q(4/5) and a ten-thousandth of the rows, Ginkgo's default.
    pub const IMBALANCE_BOUNDED: Self = Self::ImbalanceBounded {
        quantile: Fraction::new(4, NonZeroU32::new(5).unwrap()),
        part_of_rows: Fraction::new(1, NonZeroU32::new(10_000).unwrap()),
    };

    /// Returns the slots per row in the ELL part of `matrix` if values were of type `V`. Takes O(rows) time on average,
    /// by selection, and a copy of the row lengths.
    ///
    /// # Errors
    /// When memory runs out.
    pub fn width<T: Scalar, V: Scalar>(self, matrix: &Csr<T>) -> Result<usize, Error> {
        self.width_of::<V, _>(matrix)
    }

    /// Same as [`width`](Self::width), from what it depends on.
    pub(crate) fn width_of<V: Scalar, L: RowLengths>(self, lengths: &L) -> Result<usize, L::Error> {
        let rows = lengths.rows();
        Ok(match self {
            Self::SmallestStorage => {
                let numerator = INDEX_BYTES as u32;
                let denominator = NonZeroU32::MIN.saturating_add((size_of::<V>() + 2 * INDEX_BYTES - 1) as u32);
                lengths.in_order(Fraction::new(numerator, denominator).of(rows))?
            }
            Self::BellGarland => match rows.checked_sub(BELL_GARLAND_LEAST_ROWS.max(rows.div_ceil(3))) {
                Some(shorter) => lengths.in_order(shorter)?,
                None => 0,
            },
            Self::ColumnLimit(limit) => lengths.longest()?.min(limit as usize),
            Self::ImbalanceLimit(quantile) => lengths.in_order(quantile.of(rows))?,
            Self::ImbalanceBounded { quantile, part_of_rows } => {
                lengths.in_order(quantile.of(rows))?.min(part_of_rows.of(rows))
            }
            Self::GinkgoAutomatic => {
                let quantile = Fraction::new(1, NonZeroU32::new(3).unwrap());
                let part_of_rows = Fraction::new(1, NonZeroU32::new(1000).unwrap());
                Self::ImbalanceBounded { quantile, part_of_rows }.width_of::<V, L>(lengths)?
            }
        })
    }
}

/// Queries of the split rules about the lengths of the rows, wherever those are stored.
pub(crate) trait RowLengths {
    /// Error of a query.
    type Error;

    /// Returns the number of rows.
    fn rows(&self) -> usize;

    /// Returns the length of the longest row; 0 if there are no rows.
    fn longest(&self) -> Result<usize, Self::Error>;

    /// Returns the length of the row with the zero-based number `place` if the rows were sorted by length; of the
    /// longest one if there are fewer rows, and 0 if there are none.
    fn in_order(&self, place: usize) -> Result<usize, Self::Error>;
}

impl<T: Scalar> RowLengths for Csr<T> {
    type Error = Error;

    fn rows(&self) -> usize {
        self.rows
    }

    fn longest(&self) -> Result<usize, Error> {
        Ok(self.longest_row())
    }

    fn in_order(&self, place: usize) -> Result<usize, Error> {
        Ok(select(&mut collect(self.row_lengths())?, place))
    }
}

impl RowLengths for Vec<usize> {
    type Error = Error;

    fn rows(&self) -> usize {
        self.len()
    }

    fn longest(&self) -> Result<usize, Error> {
        Ok(self.iter().copied().max().unwrap_or(0))
    }

    fn in_order(&self, place: usize) -> Result<usize, Error> {
        Ok(select(&mut copy(self)?, place))
    }
}

/// Same as [`RowLengths::in_order`], for lengths that may be reordered.
fn select(lengths: &mut [usize], place: usize) -> usize {
    lengths.len().checked_sub(1).map_or(0, |last| *lengths.select_nth_unstable(place.min(last)).1)
}

/// A sparse matrix in hybrid format: the first entries of each row in ELL, up to the same number for all, and the rest
/// in COO. A row's entries keep the order of CSR.
pub struct Hyb<T: Scalar, M: Memory = HostMemory> {
    pub(crate) ell: Ell<T, M>,
    pub(crate) coo: Coo<T, M>,
}

impl<T: Scalar, M: Memory> Hyb<T, M> {
    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        self.ell.rows()
    }

    /// Returns the number of columns of the matrix.
    pub fn columns(&self) -> usize {
        self.ell.columns()
    }

    /// Returns the number of stored entries, not counting padding.
    pub fn nnz(&self) -> usize {
        self.ell.nnz() + self.coo.nnz()
    }

    /// Returns the part with the first entries of each row.
    pub fn ell(&self) -> &Ell<T, M> {
        &self.ell
    }

    /// Returns the part with the other entries. It has the same shape.
    pub fn coo(&self) -> &Coo<T, M> {
        &self.coo
    }

    /// Returns the number of slots for entries, including padding.
    pub(crate) fn places(&self) -> usize {
        self.ell.places() + self.coo.places()
    }

    /// Returns the values of all slots if they are one array: here they are two.
    pub(crate) fn values_of_places(&mut self) -> Option<&mut M::Buffer<T>> {
        None
    }

    /// Returns the values of all slots, in both parts.
    pub(crate) fn value_arrays(&mut self) -> ValueArrays<'_, T, M> {
        ValueArrays { first: &mut self.ell.values, second: Some(&mut self.coo.values) }
    }

    /// Returns the bytes of the arrays.
    pub fn bytes(&self) -> u128 {
        self.ell.bytes() + self.coo.bytes()
    }

    /// Passes the parameters and every array of both parts to a visitor, those of the ELL part first.
    #[doc(hidden)]
    pub fn for_each_array<'a>(&'a self, visitor: &mut impl ArrayVisitor<'a, M>) {
        visitor.part("ell");
        self.ell.for_each_array(visitor);
        visitor.part("coo");
        self.coo.for_each_array(visitor);
    }

    /// Moves the arrays to another memory.
    pub(crate) fn transfer<N: Memory>(self, to: &impl Transfer<M, N>) -> Result<Hyb<T, N>, Error> {
        Ok(Hyb { ell: self.ell.transfer(to)?, coo: self.coo.transfer(to)? })
    }

    /// Copies the arrays to the host's memory.
    pub(crate) fn to_host<E: Executor<Memory = M>>(&self, executor: &E) -> Result<Hyb<T>, Error> {
        Ok(Hyb { ell: self.ell.to_host(executor)?, coo: self.coo.to_host(executor)? })
    }
}

impl<T: Scalar> Hyb<T> {
    /// Returns a copy.
    ///
    /// # Errors
    /// When memory runs out.
    pub fn try_clone(&self) -> Result<Self, Error> {
        Ok(Self { ell: self.ell.try_clone()?, coo: self.coo.try_clone()? })
    }
}

impl<T: Scalar> Clone for Hyb<T> {
    fn clone(&self) -> Self {
        Self { ell: self.ell.clone(), coo: self.coo.clone() }
    }
}

impl<T: Scalar> PartialEq for Hyb<T> {
    /// Returns whether shapes, parameters and the bits of every array are the same.
    fn eq(&self, other: &Self) -> bool {
        self.ell == other.ell && self.coo == other.coo
    }
}

/// Returns the bytes that the HYB arrays of `matrix` take with values of type `V`. Cannot overflow.
///
/// # Errors
/// When memory runs out.
pub(super) fn hyb_bytes<T: Scalar, V: Scalar>(matrix: &Csr<T>, split: HybSplit) -> Result<u128, Error> {
    Ok(bytes_with_width::<T, V>(matrix, split.width::<T, V>(matrix)?))
}

fn bytes_with_width<T: Scalar, V>(matrix: &Csr<T>, width: usize) -> u128 {
    let beyond = matrix.row_lengths().map(|length| length.saturating_sub(width)).sum();
    ell_bytes::<V>(matrix.rows(), width) + coo_bytes::<V>(beyond)
}

/// Returns the first entry of the COO part whose row has padding in the ELL part's last slot. Runs in parallel.
fn first_padded(last_columns: &[u32], rows: &[u32]) -> Option<usize> {
    let padded = |mut entries: Range<usize>| entries.find(|&entry| last_columns[rows[entry] as usize] == PADDING);
    parallel::first(rows.len(), AT_ONCE, &padded)
}

impl<T: Scalar> Hyb<T> {
    /// Builds a matrix from its two parts. Runs in parallel in O(entries of the COO part).
    ///
    /// # Errors
    /// When the parts have different shapes, or a row has entries in the COO part although it has padding in the ELL
    /// part.
    pub fn try_new(ell: Ell<T>, coo: Coo<T>) -> Result<Self, Error> {
        let fail = |reason| Err(Error::structure("HYB", reason));
        let [rows, columns] = [ell.rows(), ell.columns()];
        if [rows, columns] != [coo.rows(), coo.columns()] {
            return fail(format!(
                "parts of different shapes, {rows} x {columns} and {} x {}",
                coo.rows(),
                coo.columns()
            ));
        }
        if let Some(last) = ell.width().checked_sub(1) {
            let last_columns = &ell.column_indices()[last * ell.stride()..];
            if let Some(entry) = first_padded(last_columns, coo.row_indices()) {
                let row = coo.row_indices()[entry];
                return fail(format!("entry {entry} of the COO part is in row {row}, whose ELL part is not full"));
            }
        }
        Ok(Self { ell, coo })
    }

    /// Converts `matrix` to HYB. O(rows · width + nnz).
    ///
    /// # Errors
    /// When the arrays would exceed `limit`, or cannot be allocated.
    pub fn try_from_csr(matrix: &Csr<T>, split: HybSplit, limit: FillLimit) -> Result<Self, Error> {
        let width = split.width::<T, T>(matrix)?;
        limit.check("HYB", bytes_with_width::<T, T>(matrix, width), matrix.bytes())?;
        Ok(Self { ell: Ell::of_first_entries(matrix, width)?, coo: Coo::of_later_entries(matrix, width)? })
    }

    /// Returns whether `split` would cut the rows where this matrix does. O(rows · width + nnz).
    ///
    /// # Errors
    /// When memory runs out.
    pub(super) fn is_split_by(&self, split: HybSplit) -> Result<bool, Error> {
        let mut lengths = zeros(self.rows())?;
        self.for_each_entry(&mut |row, _, _| lengths[row] += 1);
        Ok(split.width_of::<T, _>(&lengths)? == self.ell.width())
    }

    /// Calls `visit` with row, column and value of each entry; a row's entries come in the order of CSR.
    pub(super) fn for_each_entry(&self, visit: &mut (impl FnMut(usize, u32, T) + ?Sized)) {
        self.ell.for_each_entry(visit);
        self.coo.for_each_entry(visit);
    }

    /// Converts the matrix to CSR. Runs in parallel in O(rows · width + nnz); besides the two matrices it takes an
    /// offset per row.
    ///
    /// # Errors
    /// When memory runs out.
    pub fn into_csr(self) -> Result<Csr<T>, Error> {
        let Self { ell, coo } = &self;
        let offsets = row_offsets(coo.rows(), coo.row_indices())?;
        collect_rows(ell.rows(), ell.columns(), |row| {
            let later = offsets.get(row)..offsets.get(row + 1);
            let entries = coo.column_indices()[later.clone()].iter().zip(&coo.values()[later]);
            ell.row(row).chain(entries.map(|(&column, &value)| (column, value)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::Offsets;

    /// A matrix with rows of the given lengths.
    fn with_lengths(lengths: &[usize]) -> Csr<f64> {
        let offsets = Offsets::from_lengths(lengths.iter().copied()).unwrap();
        let stored = offsets.get(lengths.len());
        Csr::try_new(lengths.len(), 1, offsets, vec![0; stored], vec![1.0; stored]).unwrap()
    }

    fn fraction(numerator: u32, denominator: u32) -> Fraction {
        Fraction::new(numerator, NonZeroU32::new(denominator).unwrap())
    }

    fn width(lengths: &[usize], split: HybSplit) -> usize {
        split.width::<f64, f64>(&with_lengths(lengths)).unwrap()
    }

    #[test]
    fn quantiles_are_those_of_the_definition() {
        let lengths = [5, 1, 9, 1, 3, 0, 7];
        for numerator in 0..=14 {
            // min { t : x < fraction of the rows not longer than t }, with x = numerator / 14.
            let not_longer = |t| 2 * lengths.iter().filter(|&&length| length <= t).count() as u32;
            let expected = (0..=9).find(|&t| numerator < not_longer(t)).unwrap_or(9);
            assert_eq!(width(&lengths, HybSplit::ImbalanceLimit(fraction(numerator, 14))), expected, "{numerator}");
        }
        assert_eq!(width(&lengths, HybSplit::ImbalanceLimit(fraction(3, 2))), 9);
        assert_eq!(width(&[], HybSplit::IMBALANCE_LIMIT), 0);
    }

    #[test]
    fn the_default_is_the_smallest_of_all_widths() {
        for lengths in [&[5, 1, 9, 1, 3, 0, 7, 2][..], &[4; 20], &[0; 9], &[1, 1, 1, 50], &[], &[3, 4, 4, 5, 6, 30, 31]]
        {
            let matrix = with_lengths(lengths);
            // Strides are rounded up; the rule considers only rows and their slots.
            let bytes = |width: usize, value: usize| {
                let beyond: usize = lengths.iter().map(|length| length.saturating_sub(width)).sum();
                lengths.len() * width * (value + 4) + beyond * (value + 8)
            };
            let smallest = |value| (0..=60).map(|width| bytes(width, value)).min().unwrap();
            let chosen = HybSplit::SmallestStorage.width::<f64, f64>(&matrix).unwrap();
            assert_eq!(bytes(chosen, 8), smallest(8), "{lengths:?}");
            let chosen = HybSplit::SmallestStorage.width::<f64, f32>(&matrix).unwrap();
            assert_eq!(bytes(chosen, 4), smallest(4), "{lengths:?}");
        }
        let quarter = HybSplit::ImbalanceLimit(fraction(1, 4));
        let lengths: Vec<usize> = (0..100).collect();
        assert_eq!((width(&lengths, HybSplit::SmallestStorage), width(&lengths, quarter)), (25, 25));
        assert_eq!(HybSplit::SmallestStorage.width::<f64, f32>(&with_lengths(&lengths)).unwrap(), 33);
    }

    #[test]
    #[cfg_attr(miri, ignore = "30,000 rows")]
    fn bell_and_garland_count_rows() {
        let with = |long, rows| {
            let lengths: Vec<usize> = (0..rows).map(|row| if row < long { 7 } else { 2 }).collect();
            width(&lengths, HybSplit::BellGarland)
        };
        // Below 4096 rows, no column of slots is worthwhile.
        assert_eq!(with(4095, 4095), 0);
        assert_eq!(with(4096, 4096), 7);
        assert_eq!(with(4095, 4096), 2);
        // From 3 * 4096 rows on, a third of the rows counts, rounded up.
        assert_eq!((with(4096, 12_288), with(4096, 12_289), with(4097, 12_289)), (7, 2, 7));
        assert_eq!((with(9999, 30_000), with(10_000, 30_000)), (2, 7));
    }

    #[test]
    #[cfg_attr(miri, ignore = "30,000 rows")]
    fn limits_bound_the_width() {
        let lengths = [&[3; 3000][..], &[40; 1000]].concat();
        assert_eq!(width(&lengths, HybSplit::COLUMN_LIMIT), 16);
        assert_eq!(width(&[3, 2], HybSplit::COLUMN_LIMIT), 3);
        assert_eq!(width(&lengths, HybSplit::ColumnLimit(0)), 0);
        assert_eq!(width(&lengths, HybSplit::IMBALANCE_LIMIT), 40);
        // A ten-thousandth of 4000 rows is 0, rounded down.
        assert_eq!(width(&lengths, HybSplit::IMBALANCE_BOUNDED), 0);
        assert_eq!(width(&[5; 30_000], HybSplit::IMBALANCE_BOUNDED), 3);
        assert_eq!(width(&lengths, HybSplit::GinkgoAutomatic), 3);
        assert_eq!(width(&[9; 4000], HybSplit::GinkgoAutomatic), 4);
    }

    #[test]
    fn rows_are_cut_at_the_width() {
        let columns = vec![4, 0, 2, 1, 3, 3];
        let matrix = Csr::try_new(3, 5, vec![0u32, 4, 5, 6], columns, vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
        let hyb = Hyb::try_from_csr(&matrix, HybSplit::ColumnLimit(2), FillLimit::default()).unwrap();
        assert_eq!((hyb.ell().width(), hyb.ell().nnz(), hyb.nnz()), (2, 4, 6));
        assert!(hyb.ell().row(0).eq([(4, 1.0), (0, 2.0)]));
        assert_eq!((&hyb.coo().row_indices()[..], &hyb.coo().column_indices()[..]), (&[0, 0][..], &[2, 1][..]));
        assert_eq!(hyb.into_csr().unwrap(), matrix);
    }

    #[test]
    #[cfg_attr(miri, ignore = "100,000 rows")]
    fn padding_beyond_the_limit_is_refused() {
        let lengths = [&[0; 100_000][..], &[1000; 1]].concat();
        let matrix = with_lengths(&lengths);
        let all_in_ell = HybSplit::ImbalanceLimit(fraction(1, 1));
        let error = Hyb::try_from_csr(&matrix, all_in_ell, FillLimit::default()).map(|_| ()).unwrap_err();
        let predicted = hyb_bytes::<f64, f64>(&matrix, all_in_ell).unwrap();
        assert!(matches!(error, Error::Fill { format: "HYB", predicted: p, .. } if p == predicted), "{error}");
    }
}
