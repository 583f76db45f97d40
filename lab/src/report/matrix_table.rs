//! A table of measurements of single matrices.

use std::collections::BTreeSet;

use crate::record::{Entry, Run, is_own_format};
use crate::report::group::{Names, labelled, matches, matrix};
use crate::report::speed_table::{emphasized, library_name, precisions};
use crate::report::table::{NONE, cell};
use crate::statistics::speed_ups;

/// The format whose arrays others are compared with.
const BASELINE: &str = "csr-vector";

/// What a column states.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Quantity {
    /// Microseconds of the fastest run.
    Time,
    /// Bytes of the arrays over those of CSR.
    Bytes,
    /// How many times as fast the fastest of our formats is as the fastest run.
    SpeedUp,
    /// The name of the fastest run.
    Fastest,
    /// Milliseconds of the conversion to the format of the fastest run, warm.
    Conversion,
    /// Millions of nonzeros.
    Nonzeros,
}

/// The quantities by name.
const QUANTITIES: [(&str, Quantity); 6] = [
    ("bytes", Quantity::Bytes),
    ("conversion", Quantity::Conversion),
    ("fastest", Quantity::Fastest),
    ("nonzeros", Quantity::Nonzeros),
    ("speed-up", Quantity::SpeedUp),
    ("time", Quantity::Time),
];
const KNOWN: &str = "bytes, conversion, fastest, nonzeros, speed-up or time";

/// A column: a quantity of the runs that meet conditions.
#[derive(Debug, PartialEq)]
struct Column {
    label: String,
    quantity: Quantity,
    precision: Option<String>,
    /// Ours if `None`.
    library: Option<String>,
    runs: Names,
}

impl Column {
    fn parse(label: &str, words: &[String]) -> Result<Self, String> {
        let Some((quantity, conditions)) = words.split_first() else {
            return Err(format!("the column '{label}' has no quantity, expected {KNOWN}"));
        };
        let Some((_, quantity)) = QUANTITIES.into_iter().find(|(name, _)| name == quantity) else {
            return Err(format!("unknown quantity '{quantity}', expected {KNOWN}"));
        };
        let mut column = Self { label: label.into(), quantity, precision: None, library: None, runs: Names::default() };
        for condition in conditions {
            if let Some(value) = condition.strip_prefix("precision=") {
                column.precision = Some(value.into());
            } else if let Some(value) = condition.strip_prefix("library=") {
                column.library = Some(value.into());
            } else if !column.runs.read("run", condition) {
                let known = "library=, precision=, run= or run!=";
                return Err(format!("unknown condition '{condition}', expected {known}"));
            }
        }
        Ok(column)
    }

    fn takes(&self, name: &str, run: &Run) -> bool {
        let of_library = match &self.library {
            None => is_own_format(name, run),
            Some(library) => run.is_peer() && run.library.as_deref().map(library_name) == Some(library),
        };
        of_library && self.runs.take(name)
    }

    fn value(&self, entry: &Entry) -> Option<String> {
        let (name, seconds) = entry.fastest(|name, run| self.takes(name, run))?;
        match self.quantity {
            Quantity::Time => Some(format!("{:.1}", 1e6 * seconds)),
            Quantity::Bytes => {
                let stored = |name: &str| entry.spmv.get(name)?.storage;
                Some(format!("{:.2}", stored(name)? as f64 / stored(BASELINE)? as f64))
            }
            Quantity::SpeedUp => {
                let found = speed_ups(std::slice::from_ref(entry), is_own_format, |name, run| self.takes(name, run));
                found.mean().map(emphasized)
            }
            Quantity::Fastest => Some(cell(name)),
            Quantity::Conversion => {
                let conversion = entry.spmv.get(name)?.conversion.as_ref()?;
                Some(format!("{:.0}", 1e3 * conversion.warm))
            }
            Quantity::Nonzeros => Some(format!("{:.1}", 1e-6 * entry.nonzeros as f64)),
        }
    }

    /// The values in each precision, one where all are the same.
    fn cell(&self, entries: &[&Entry]) -> String {
        let of_precision = |entry: &&&Entry| self.precision.as_ref().is_none_or(|name| entry.env.precision == *name);
        let mut values: Vec<_> =
            entries.iter().filter(of_precision).map(|entry| self.value(entry).unwrap_or(NONE.into())).collect();
        values.dedup();
        values.join(", ")
    }
}

/// A table in Markdown with a row for each matrix. The first of the lines is `matrices:` with their names or patterns, and
/// each other `LABEL: QUANTITY CONDITION …`. Values in several precisions are listed, float64 first.
///
/// # Errors
/// With the number of the line in `lines` and what is wrong there.
pub(super) fn matrix_table(entries: &[Entry], lines: &[String]) -> Result<String, (usize, String)> {
    let mut names = Vec::new();
    let mut columns = Vec::new();
    for (place, line) in lines.iter().enumerate() {
        let at = |reason| (place, reason);
        let (label, words) = labelled(line).map_err(at)?;
        match (place, label) {
            (0, "matrices") => names = words,
            (0, _) => return Err(at("the first line of a table of matrices is 'matrices: NAME …'".into())),
            (_, label) => columns.push(Column::parse(label, &words).map_err(at)?),
        }
    }
    let precisions = precisions(entries);
    let labels: Vec<_> = columns.iter().map(|column| &*column.label).collect();
    let mut text = format!("| matrix | {} |\n|---|{}\n", labels.join(" | "), "--:|".repeat(columns.len()));
    for name in &names {
        let chosen: BTreeSet<_> =
            entries.iter().map(|entry| &*entry.filename).filter(|file| matches(name, matrix(file))).collect();
        if chosen.is_empty() {
            return Err((0, format!("no matrix '{name}' is in the results")));
        }
        for file in chosen {
            let mut of_matrix: Vec<_> = entries.iter().filter(|entry| entry.filename == file).collect();
            of_matrix.sort_by_key(|entry| precisions.iter().position(|name| *name == entry.env.precision));
            let cells: Vec<_> = columns.iter().map(|column| column.cell(&of_matrix)).collect();
            text += &format!("| {} | {} |\n", cell(matrix(file)), cells.join(" | "));
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Conversion, Environment};

    fn entry(precision: &str, times: &[(&str, &str, f64)]) -> Entry {
        let run = |&(name, library, seconds): &(&str, &str, f64)| {
            let library = Some(library.into());
            let storage = Some(if name == BASELINE { 100 } else { 54 });
            let conversion = Conversion { first: 1.0, warm: 0.5, back: None, peak_bytes: None, csr_calls: None };
            let conversion = Some(conversion);
            let run = Run { completed: true, time: Some(seconds), library, storage, conversion, ..Run::default() };
            (name.to_owned(), run)
        };
        Entry {
            filename: "real/a.npz".into(),
            nonzeros: 2_500_000,
            spmv: times.iter().map(run).collect(),
            env: Environment { precision: precision.into(), ..Environment::default() },
            ..Entry::default()
        }
    }

    fn table(lines: &[&str]) -> Result<String, (usize, String)> {
        let entries = [
            entry("float32", &[("csr-vector", "warp-spmv", 1e-6), ("cusparse-coo", "cuSPARSE 12", 0.5e-6)]),
            entry("float64", &[("csr-vector", "warp-spmv", 2e-6), ("ell", "warp-spmv", 1e-6)]),
        ];
        matrix_table(&entries, &lines.iter().map(|&line| line.into()).collect::<Vec<_>>())
    }

    #[test]
    fn columns_are_made_of_the_runs_that_meet_their_conditions() {
        let made = table(&[
            "matrices: a",
            "fastest: fastest",
            "µs: time run!=ell",
            "cuSPARSE: time library=cuSPARSE precision=float32",
            "against it: speed-up library=cuSPARSE",
            "bytes: bytes run=ell precision=float64",
            "10⁶ nonzeros: nonzeros",
            "ms: conversion run=ell",
        ]);
        let expected = "\
| matrix | fastest | µs | cuSPARSE | against it | bytes | 10⁶ nonzeros | ms |
|---|--:|--:|--:|--:|--:|--:|--:|
| a | ell, csr-vector | 2.0, 1.0 | 0.5 | –, **0.50** | 0.54 | 2.5 | 500, – |
";
        assert_eq!(made.unwrap(), expected);
    }

    #[test]
    fn mistakes_have_a_line() {
        for (lines, place, reason) in [
            (vec!["a: time"], 0, "the first line of a table of matrices is"),
            (vec!["matrices: b"], 0, "no matrix 'b' is in the results"),
            (vec!["matrices: a", "t:"], 1, "the column 't' has no quantity"),
            (vec!["matrices: a", "t: speed"], 1, "unknown quantity 'speed'"),
            (vec!["matrices: a", "t: time", "u: time format=ell"], 2, "unknown condition 'format=ell'"),
        ] {
            let (at, found) = table(&lines).unwrap_err();
            assert!(at == place && found.starts_with(reason), "{lines:?}: {at}, {found}");
        }
    }
}
