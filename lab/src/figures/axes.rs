//! The axes of figures: properties of matrices, and quantities of runs.

use host::Format;

use super::Series;
use crate::record::{Entry, Run};
use crate::statistics;

/// A property of a matrix.
#[derive(Clone, Copy, Debug)]
pub enum X {
    /// Rows.
    Rows,
    /// Nonzeros.
    Nonzeros,
    /// Nonzeros over rows.
    MeanRowLength,
    /// One plus the variance of the rows' lengths, so that equal rows fit on a logarithmic axis.
    RowLengthVariance,
    /// Nonzeros of the longest row over rows (Anzt et al. 2020, Algorithm 4).
    LongestRowOfRows,
    /// An option of the generator.
    Option {
        /// The option in the generator's text.
        key: &'static str,
        /// The label of the axis.
        label: &'static str,
    },
}

/// A quantity that is compared.
#[derive(Clone, Copy, Debug)]
pub enum Quantity {
    /// 2 nonzeros over the time.
    Gflops,
    /// 10^9 bytes per second if every nonzero loaded its element of x again.
    UncachedGbps,
    /// 10^9 bytes per second of the nonzeros' values alone: an upper limit of 2 operations per value (Choi et al. 2010,
    /// §5.2).
    ValueGbps,
    /// Bytes per second, with x counted once, relative to those of a copy: η₊ of Koza et al. 2014, eq. 6.2.
    Utilization,
    /// The same if every nonzero loaded its element of x again: η₋ there.
    UncachedUtilization,
    /// The time.
    Microseconds,
    /// Speed in float64 over speed in float32.
    OfFloat32,
    /// Ratio of the time to that of a format: the speed-up of that format.
    SpeedUpOf(Format),
    /// Ratio of a format's time to that of the series: the speed-up of the series.
    SpeedUpOver(Format),
    /// Time of the conversion in multiplications with CSR.
    ConversionCalls,
    /// Time of the conversion back to CSR in multiplications with CSR.
    ConversionBackCalls,
}

impl X {
    /// Returns the label of the axis.
    pub fn label(self) -> &'static str {
        match self {
            Self::Rows => "rows",
            Self::Nonzeros => "nonzeros",
            Self::MeanRowLength => "nonzeros per row",
            Self::RowLengthVariance => "1 + variance of the nonzeros per row",
            Self::LongestRowOfRows => "nonzeros of the longest row over rows",
            Self::Option { label, .. } => label,
        }
    }

    /// Returns the value for a matrix.
    pub fn of(self, entry: &Entry) -> Option<f64> {
        let lengths = entry.row_lengths.as_ref();
        match self {
            Self::Rows => Some(entry.rows as f64),
            Self::Nonzeros => Some(entry.nonzeros as f64),
            Self::MeanRowLength => Some(entry.nonzeros as f64 / entry.rows as f64),
            Self::RowLengthVariance => Some(1.0 + lengths?.deviation.powi(2)),
            Self::LongestRowOfRows => Some(lengths?.longest as f64 / entry.rows as f64),
            Self::Option { key, .. } => {
                let mut options = entry.filename.split([':', ',']).filter_map(|option| option.split_once('='));
                options.find(|&(name, _)| name == key)?.1.parse().ok()
            }
        }
    }
}

impl Quantity {
    /// Returns the label of an axis.
    pub fn label(self) -> String {
        match self {
            Self::Gflops => "GFLOP/s".into(),
            Self::UncachedGbps => "GB/s, counting x at each use".into(),
            Self::ValueGbps => "GB/s, counting values only".into(),
            Self::Utilization => "part of a copy's bandwidth".into(),
            Self::UncachedUtilization => "fraction of a copy's bandwidth, counting x at each use".into(),
            Self::Microseconds => "time, µs".into(),
            Self::OfFloat32 => "speed in float64 over speed in float32".into(),
            Self::SpeedUpOf(format) => format!("speed-up of {format}"),
            Self::SpeedUpOver(format) => format!("speed-up over {format}"),
            Self::ConversionCalls => "conversion, in multiplications with CSR".into(),
            Self::ConversionBackCalls => "conversion to CSR, in multiplications with CSR".into(),
        }
    }

    /// Returns the value for a series in an entry; `all` has the entry in other precisions.
    pub fn of(self, series: &Series, entry: &Entry, all: &[Entry]) -> Option<f64> {
        let run = series.run(entry)?;
        let seconds = run.seconds()?;
        let number = match self {
            Self::Gflops => statistics::gflops(entry, run)?,
            Self::UncachedGbps => uncached_bytes(entry, run)? / seconds / 1e9,
            Self::ValueGbps => value_bytes(entry) * entry.nonzeros as f64 / seconds / 1e9,
            Self::Utilization => run.bytes_needed? as f64 / seconds / 1e9 / entry.ceilings.as_ref()?.copy_gbps,
            Self::UncachedUtilization => {
                uncached_bytes(entry, run)? / seconds / 1e9 / entry.ceilings.as_ref()?.copy_gbps
            }
            Self::Microseconds => 1e6 * seconds,
            Self::OfFloat32 => {
                let there = (&entry.filename, &entry.env.executor, &entry.env.device);
                let single = all.iter().find(|other| {
                    (&other.filename, &other.env.executor, &other.env.device) == there
                        && other.env.precision == "float32"
                })?;
                series.run(single)?.seconds()? / seconds
            }
            Self::SpeedUpOf(format) => seconds / entry.spmv.get(format.name())?.seconds()?,
            Self::SpeedUpOver(format) => entry.spmv.get(format.name())?.seconds()? / seconds,
            Self::ConversionCalls => run.conversion.as_ref()?.csr_calls?,
            Self::ConversionBackCalls => {
                let conversion = run.conversion.as_ref()?;
                conversion.back? / conversion.warm * conversion.csr_calls?
            }
        };
        Some(number).filter(|number| number.is_finite() && *number > 0.0)
    }

    /// Returns whether 1 means equal speed.
    pub fn is_speed_up(self) -> bool {
        matches!(self, Self::SpeedUpOf(_) | Self::SpeedUpOver(_))
    }
}

/// Returns the bytes of a value.
fn value_bytes(entry: &Entry) -> f64 {
    if entry.env.precision == "float32" { 4.0 } else { 8.0 }
}

/// Returns the bytes moved if every nonzero loads its element of x again.
fn uncached_bytes(entry: &Entry, run: &Run) -> Option<f64> {
    Some(run.bytes_needed? as f64 + value_bytes(entry) * (entry.nonzeros as f64 - entry.cols as f64))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::record::{Ceilings, Conversion, RowLengths};

    fn run(time: f64, storage: u64) -> Run {
        Run {
            completed: true,
            time: Some(time),
            storage: Some(storage),
            bytes_needed: Some(1_000_000),
            ..Run::default()
        }
    }

    /// An entry with runs of these names, times and bytes of storage.
    pub fn entry(precision: &str, runs: &[(&str, f64, u64)]) -> Entry {
        let spmv = runs.iter().map(|&(name, time, storage)| (name.to_owned(), run(time, storage))).collect();
        let mut entry = Entry { filename: "banded:rows=10,bands=3,seed=1".into(), spmv, ..Entry::default() };
        (entry.rows, entry.cols, entry.nonzeros) = (1_000, 2_000, 10_000);
        entry.env.precision = precision.into();
        entry
    }

    #[test]
    fn quantities() {
        let mut double = entry("float64", &[("coo", 2e-6, 100), ("ell", 1e-6, 300)]);
        let single = entry("float32", &[("coo", 1e-6, 60)]);
        let [coo, ell] = [Series::of("coo", &[Format::COO]), Series::of("ell", &[Format::ELL])];
        let none_of = |quantity: Quantity, series: &Series, entry: &Entry| {
            assert_eq!(quantity.of(series, entry, &[double.clone(), single.clone()]), None, "{quantity:?}");
        };
        none_of(Quantity::OfFloat32, &ell, &double);
        none_of(Quantity::Utilization, &coo, &double);
        none_of(Quantity::ConversionCalls, &coo, &double);
        none_of(Quantity::ConversionBackCalls, &coo, &double);
        double.ceilings = Some(Ceilings { copy_gbps: 4_000.0, ..Ceilings::default() });
        let conversion =
            Conversion { first: 1.0, warm: 3e-6, back: Some(6e-6), peak_bytes: None, csr_calls: Some(1.5) };
        double.spmv.get_mut("coo").unwrap().conversion = Some(conversion);
        let all = [double.clone(), single.clone()];
        let near = |quantity: Quantity, series: &Series, entry: &Entry, expected: f64| {
            let number = quantity.of(series, entry, &all).unwrap();
            assert!((number / expected - 1.0).abs() < 1e-12, "{quantity:?}: {number}");
        };
        near(Quantity::Gflops, &coo, &double, 10.0);
        near(Quantity::Microseconds, &coo, &double, 2.0);
        near(Quantity::OfFloat32, &coo, &double, 0.5);
        near(Quantity::SpeedUpOf(Format::ELL), &coo, &double, 2.0);
        near(Quantity::SpeedUpOver(Format::COO), &ell, &double, 2.0);
        near(Quantity::UncachedGbps, &coo, &double, (1_000_000.0 + 8.0 * 8_000.0) / 2e-6 / 1e9);
        near(Quantity::UncachedGbps, &coo, &single, (1_000_000.0 + 4.0 * 8_000.0) / 1e-6 / 1e9);
        near(Quantity::ValueGbps, &coo, &double, 40.0);
        near(Quantity::ValueGbps, &coo, &single, 40.0);
        near(Quantity::Utilization, &coo, &double, 500.0 / 4_000.0);
        near(Quantity::UncachedUtilization, &coo, &double, 532.0 / 4_000.0);
        near(Quantity::ConversionCalls, &coo, &double, 1.5);
        near(Quantity::ConversionBackCalls, &coo, &double, 3.0);
    }

    #[test]
    fn places_of_a_matrix() {
        let mut entry = entry("float64", &[]);
        assert_eq!(X::RowLengthVariance.of(&entry), None);
        let histogram = vec![0, 1_000];
        entry.row_lengths = Some(RowLengths { shortest: 1, longest: 50, mean: 10.0, deviation: 3.0, histogram });
        assert_eq!(X::MeanRowLength.of(&entry), Some(10.0));
        assert_eq!(X::RowLengthVariance.of(&entry), Some(10.0));
        assert_eq!(X::LongestRowOfRows.of(&entry), Some(0.05));
        assert_eq!(X::Option { key: "bands", label: "" }.of(&entry), Some(3.0));
        assert_eq!(X::Option { key: "k", label: "" }.of(&entry), None);
    }
}
