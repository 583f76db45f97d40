//! The distribution of a matrix's entries among its rows.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::record;

/// Statistics of the number of entries per row. All fields except `empty_rows` and `histogram` are null for a matrix
/// without rows.
#[derive(Debug, PartialEq, Serialize)]
pub struct RowLengths {
    /// Length of the shortest row.
    pub minimum: Option<usize>,
    /// Mean number of entries.
    pub mean: Option<f64>,
    /// The smallest length that half of the rows do not exceed.
    pub median: Option<usize>,
    /// The smallest length that 90 % of the rows do not exceed.
    pub quantile_90: Option<usize>,
    /// The smallest length that 99 % of the rows do not exceed.
    pub quantile_99: Option<usize>,
    /// Length of the longest row.
    pub maximum: Option<usize>,
    /// Standard deviation of the number of entries, over all rows.
    pub standard_deviation: Option<f64>,
    /// Number of rows without entries.
    pub empty_rows: usize,
    /// Number of rows by length, from 0 to the longest, in doubling ranges: 0, 1, 2-3, 4-7 and so on.
    pub histogram: Vec<Bin>,
}

/// Rows of similar length.
#[derive(Debug, PartialEq, Serialize)]
pub struct Bin {
    /// The shortest length of the range.
    pub from: usize,
    /// The longest length of the range.
    pub to: usize,
    /// Number of rows.
    pub rows: usize,
}

impl Bin {
    /// Returns the range in words.
    pub fn label(&self) -> String {
        if self.from == self.to { self.from.to_string() } else { format!("{}-{}", self.from, self.to) }
    }
}

impl RowLengths {
    /// Statistics of these lengths. O(rows log d) for d different lengths.
    pub fn new(lengths: impl Iterator<Item = usize>) -> Self {
        let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
        lengths.for_each(|length| *counts.entry(length).or_default() += 1);
        let rows: usize = counts.values().sum();
        let over_rows = |sum: f64| (rows > 0).then(|| sum / rows as f64);
        let mean = over_rows(counts.iter().map(|(&length, &rows)| length as f64 * rows as f64).sum());
        let variance = mean.and_then(|mean| {
            over_rows(counts.iter().map(|(&length, &rows)| (length as f64 - mean).powi(2) * rows as f64).sum())
        });
        let quantile = |percent: usize| {
            let wanted = (rows as u128 * percent as u128).div_ceil(100) as usize;
            let mut up_to = 0;
            counts.iter().find_map(|(&length, &rows)| {
                up_to += rows;
                (up_to >= wanted).then_some(length)
            })
        };
        Self {
            minimum: counts.keys().next().copied(),
            mean,
            median: quantile(50),
            quantile_90: quantile(90),
            quantile_99: quantile(99),
            maximum: counts.keys().next_back().copied(),
            standard_deviation: variance.map(f64::sqrt),
            empty_rows: counts.get(&0).copied().unwrap_or(0),
            histogram: histogram(&counts),
        }
    }
}

impl From<&RowLengths> for record::RowLengths {
    fn from(lengths: &RowLengths) -> Self {
        Self {
            shortest: lengths.minimum.unwrap_or(0) as u64,
            longest: lengths.maximum.unwrap_or(0) as u64,
            mean: lengths.mean.unwrap_or(0.0),
            deviation: lengths.standard_deviation.unwrap_or(0.0),
            histogram: lengths.histogram.iter().map(|bin| bin.rows as u64).collect(),
        }
    }
}

fn histogram(counts: &BTreeMap<usize, usize>) -> Vec<Bin> {
    let bin_of = |length: usize| length.checked_ilog2().map_or(0, |power| power as usize + 1);
    let bins = counts.keys().next_back().map_or(0, |&longest| bin_of(longest) + 1);
    let range = |bin: usize| match bin {
        0 => (0, 0),
        _ => (1 << (bin - 1), (1 << bin) - 1),
    };
    let mut histogram: Vec<_> = (0..bins).map(range).map(|(from, to)| Bin { from, to, rows: 0 }).collect();
    for (&length, &rows) in counts {
        histogram[bin_of(length)].rows += rows;
    }
    histogram
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_rows() {
        let lengths = RowLengths::new([3, 0, 1, 8, 0, 3, 3, 2, 0, 0].into_iter());
        assert_eq!((lengths.minimum, lengths.median, lengths.maximum), (Some(0), Some(1), Some(8)));
        assert_eq!((lengths.quantile_90, lengths.quantile_99), (Some(3), Some(8)));
        assert_eq!((lengths.mean, lengths.empty_rows), (Some(2.0), 4));
        // Squares: 9 + 0 + 1 + 64 + 0 + 9 + 9 + 4 + 0 + 0 = 96; 96 / 10 - 2² = 5.6.
        assert!((lengths.standard_deviation.unwrap() - 5.6f64.sqrt()).abs() < 1e-12);
        let bin = |from, to, rows| Bin { from, to, rows };
        assert_eq!(lengths.histogram, [bin(0, 0, 4), bin(1, 1, 1), bin(2, 3, 4), bin(4, 7, 0), bin(8, 15, 1)]);
    }

    #[test]
    fn of_one_row() {
        let lengths = RowLengths::new(std::iter::once(5));
        let five = Some(5);
        assert_eq!((lengths.minimum, lengths.median, lengths.quantile_99, lengths.maximum), (five, five, five, five));
        assert_eq!((lengths.mean, lengths.standard_deviation, lengths.empty_rows), (Some(5.0), Some(0.0), 0));
    }

    #[test]
    fn of_no_row() {
        let lengths = RowLengths::new(std::iter::empty());
        assert_eq!((lengths.minimum, lengths.mean, lengths.median, lengths.maximum), (None, None, None, None));
        assert_eq!((lengths.standard_deviation, lengths.histogram), (None, vec![]));
    }
}
