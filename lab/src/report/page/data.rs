//! The data of the page: the displayed values of each run, as an array, because there may be thousands.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::Value;

use crate::cmrs_model::utilization;
use crate::record::{Ceilings, Entry, Environment, RowLengths, Run};
use crate::report::contents::Report;
use crate::report::series::Series;

/// The input of the page.
#[derive(Serialize)]
pub struct Data<'a> {
    series: &'a [Series],
    /// The index of the chosen format in `series`.
    chosen_format: Option<usize>,
    /// The index of the chosen entry in `entries`.
    chosen_entry: Option<usize>,
    environments: BTreeSet<String>,
    /// The names of each run's values, in order.
    columns: &'static [&'static str],
    entries: Vec<Matrix<'a>>,
}

/// An entry.
#[derive(Serialize)]
struct Matrix<'a> {
    filename: &'a str,
    qualifier: String,
    family: Option<&'a str>,
    precision: &'a str,
    executor: &'a str,
    device: &'a str,
    rows: u64,
    cols: u64,
    nonzeros: u64,
    /// Why nothing was measured.
    error: Option<&'a str>,
    row_lengths: Option<&'a RowLengths>,
    ceilings: Option<&'a Ceilings>,
    /// The values of `columns` for each run; trailing nulls are omitted.
    runs: Vec<Vec<Value>>,
}

const COLUMNS: &[&str] = &[
    "series",
    "seconds",
    "bytes_needed",
    "eta",
    "eta_uncached",
    "csr_calls",
    "break_even",
    "cold",
    "lower_quartile",
    "upper_quartile",
    "repetitions",
    "storage",
    "fill_ratio",
    "eta_read",
    "first",
    "warm",
    "error_of_bound",
    "max_relative_norm2",
    "reproducible",
    "strategy",
    "state",
    "error",
];

impl<'a> Data<'a> {
    pub fn new(report: &'a Report) -> Self {
        let Report { entries, series, chosen_format, chosen_entry } = report;
        let place_of = |name: &str| series.iter().position(|series| series.name == name);
        Self {
            series,
            chosen_format: chosen_format.as_deref().and_then(place_of),
            chosen_entry: *chosen_entry,
            environments: entries.iter().map(|entry| summary(&entry.env)).collect(),
            columns: COLUMNS,
            entries: (0..entries.len()).map(|place| Matrix::new(report, place)).collect(),
        }
    }
}

impl<'a> Matrix<'a> {
    fn new(report: &'a Report, place: usize) -> Self {
        let Entry { filename, family, rows, cols, nonzeros, row_lengths, error, ceilings, env, spmv, .. } =
            &report.entries[place];
        let runs = report.series.iter().enumerate();
        Self {
            filename,
            qualifier: report.qualifier(place),
            family: family.as_deref(),
            precision: &env.precision,
            executor: &env.executor,
            device: &env.device,
            rows: *rows,
            cols: *cols,
            nonzeros: *nonzeros,
            error: error.as_deref(),
            row_lengths: row_lengths.as_ref(),
            ceilings: ceilings.as_ref(),
            runs: runs
                .filter_map(|(series, Series { name, .. })| {
                    Some(values(series, &report.entries[place], spmv.get(name)?))
                })
                .collect(),
        }
    }
}

/// Returns the values of [`COLUMNS`].
fn values(series: usize, entry: &Entry, run: &Run) -> Vec<Value> {
    let (cached, uncached) = utilization(entry, run).unzip();
    let quartiles = run.cold.as_ref().map(|cold| cold.quartiles).or(run.quartiles);
    let repetitions = run.cold.as_ref().map(|cold| cold.repetitions).or(run.repetitions);
    let conversion = run.conversion.as_ref();
    let mut values = vec![
        series.into(),
        rounded(run.seconds()),
        run.bytes_needed.into(),
        rounded(cached),
        rounded(uncached),
        rounded(conversion.and_then(|conversion| conversion.csr_calls)),
        rounded(run.break_even),
        run.cold.is_some().then_some(true).into(),
        rounded(quartiles.map(|quartiles| quartiles[0])),
        rounded(quartiles.map(|quartiles| quartiles[1])),
        repetitions.into(),
        run.storage.into(),
        rounded(run.fill_ratio),
        rounded(run.eta_read),
        rounded(conversion.map(|conversion| conversion.first)),
        rounded(conversion.map(|conversion| conversion.warm)),
        rounded(run.error_of_bound),
        rounded(run.max_relative_norm2),
        run.reproducible.into(),
        run.strategy.clone().into(),
        state(run).into(),
        run.error.clone().into(),
    ];
    while values.last().is_some_and(Value::is_null) {
        values.pop();
    }
    values
}

/// Returns why a run has no valid time, in one word.
fn state(run: &Run) -> Option<&'static str> {
    match run {
        run if run.seconds().is_some() => None,
        run if run.is_wrong() => Some("wrong"),
        run if run.refused => Some("refused"),
        _ => Some("failed"),
    }
}

/// Returns a number with six digits, more than a measurement has, because numbers are most of the page.
fn rounded(number: Option<f64>) -> Value {
    number.and_then(|number| format!("{number:.5e}").parse::<f64>().ok()).into()
}

/// Returns the environment of an entry, on one line.
fn summary(env: &Environment) -> String {
    let Environment { executor, device, driver, clocks, threads, system, build, version, commit, timer, .. } = env;
    let or_unknown = |text: &str| if text.is_empty() { "unknown".to_owned() } else { text.to_owned() };
    let mut parts = vec![format!("{} on {}", or_unknown(executor), or_unknown(device))];
    parts.extend(driver.as_ref().map(|driver| format!("driver {driver}")));
    parts.extend(clocks.as_ref().map(|clocks| format!("{}/{} MHz", clocks.multiprocessor_mhz, clocks.memory_mhz)));
    parts.extend((*threads > 0).then(|| format!("{threads} threads")));
    parts.extend([system, timer].into_iter().filter(|text| !text.is_empty()).cloned());
    if !version.is_empty() {
        let commit = commit.as_ref().map_or(String::new(), |commit| format!(" ({commit})"));
        parts.push(format!("warp-spmv {version}{commit}, {build}"));
    }
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_has_a_value_for_each_column_at_most() {
        let run = Run { reproducible: Some(false), error: Some("out of memory".into()), ..Run::default() };
        let values = values(3, &Entry::default(), &run);
        assert_eq!(values.len(), COLUMNS.len());
        assert_eq!(values[0], 3);
        assert_eq!(values[COLUMNS.len() - 1], "out of memory");
        assert_eq!(values[18], false);
    }

    #[test]
    fn numbers_keep_six_digits() {
        for (number, expected) in [(1.234_567_89e-5, 1.234_57e-5), (0.1, 0.1), (123_456_789.0, 123_457_000.0)] {
            assert_eq!(rounded(Some(number)), expected);
        }
        assert_eq!([rounded(None), rounded(Some(f64::NAN))], [Value::Null, Value::Null]);
    }
}
