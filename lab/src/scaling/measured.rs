//! Records printed by `run` and `solve` on several ranks, for comparison with the model and for fitting it.

use std::path::Path;

use distributed::Statistics;
use host::small_file::read_text;
use serde::Deserialize;

use super::model::{Job, Load, Storage, loads};
use crate::error::{Error, Fault};

/// Largest size of a file in bytes.
const LARGEST_FILE: u64 = 1 << 28;

/// A job timed on several ranks.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredRun {
    /// The generator's text or the file of the matrix.
    pub matrix: String,
    /// The timed job.
    pub job: Job,
    /// The type of the values.
    pub precision: String,
    /// The time of the slowest rank.
    pub seconds: f64,
    /// The part of each rank.
    pub parts: Vec<MeasuredPart>,
}

/// The part of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct MeasuredPart {
    /// Number of rows.
    pub rows: u64,
    /// Number of entries.
    pub nonzeros: u64,
    /// Number of elements of x received from other ranks.
    pub halo: u64,
    /// Bytes of the stored rows.
    pub bytes: u64,
}

/// The fields of a record that are read.
#[derive(Deserialize)]
struct Record {
    matrix: Matrix,
    precision: String,
    method: Option<String>,
    preconditioner: Option<String>,
    parts: Vec<MeasuredPart>,
    times: Times,
}

#[derive(Deserialize)]
struct Matrix {
    name: String,
}

#[derive(Deserialize)]
struct Times {
    multiply: Option<Spread>,
    iteration: Option<f64>,
}

#[derive(Deserialize)]
struct Spread {
    median: f64,
}

/// Returns the runs of a file, which contains consecutive records.
///
/// # Errors
/// When the file cannot be read or, with the line, contains something other than records of ranks, or jobs that are not in
/// the model.
pub fn read(path: &Path) -> Result<Vec<MeasuredRun>, Error> {
    let text = read_text(path, LARGEST_FILE).map_err(|source| Error::File { path: path.into(), source })?;
    parse(&text).map_err(|fault| fault.in_file(path))
}

fn parse(text: &str) -> Result<Vec<MeasuredRun>, Fault> {
    let mut runs = Vec::new();
    let mut records = serde_json::Deserializer::from_str(text).into_iter::<Record>();
    loop {
        let begin = text.len() - text[records.byte_offset()..].trim_start().len();
        let Some(record) = records.next() else { break };
        runs.push(run(record?).map_err(|reason| {
            let line = 1 + text[..begin].matches('\n').count();
            Fault { line, column: 1, reason }
        })?);
    }
    if runs.is_empty() {
        return Err(Fault::from("the file has no record".to_owned()));
    }
    Ok(runs)
}

fn run(record: Record) -> Result<MeasuredRun, String> {
    let Record { matrix, precision, method, preconditioner, parts, times } = record;
    let (job, seconds) = match (method.as_deref(), times) {
        (None, Times { multiply: Some(Spread { median }), .. }) => (Job::Product, median),
        (Some(method @ ("cg" | "pipelined-cg")), Times { iteration, .. }) => {
            if let Some(preconditioner) = preconditioner {
                return Err(format!("the preconditioner {preconditioner} is not in the model"));
            }
            let iteration = iteration.ok_or("the solver made too few iterations for the time of one")?;
            (if method == "cg" { Job::Cg } else { Job::PipelinedCg }, iteration)
        }
        (Some(method), _) => {
            return Err(format!("the method {method} is not in the model, expected cg or pipelined-cg"));
        }
        (None, _) => return Err("has no time of a product or an iteration".into()),
    };
    if parts.is_empty() {
        return Err("has no parts of ranks: expected a record of run or solve with --ranks".into());
    }
    if !(seconds.is_finite() && seconds > 0.0) {
        return Err(format!("a time of {seconds} seconds, expected more than 0"));
    }
    Ok(MeasuredRun { matrix: matrix.name, job, precision, seconds, parts })
}

impl MeasuredRun {
    /// Returns the work of each rank: by the partition of the matrix, with the stored number of bytes per entry.
    ///
    /// # Errors
    /// When the partition is not the run's.
    pub fn loads(&self, statistics: &Statistics, value: usize, gpus_per_host: usize) -> Result<Vec<Load>, Error> {
        let refused = |reason: String| Error::Run { run: self.to_string(), reason };
        if statistics.parts.len() != self.parts.len() {
            let (found, expected) = (self.parts.len(), statistics.parts.len());
            return Err(refused(format!("{found} ranks, expected {expected}")));
        }
        for (rank, (part, expected)) in self.parts.iter().zip(&statistics.parts).enumerate() {
            let found = [part.rows, part.nonzeros, part.halo];
            let expected = [expected.rows, expected.nnz, expected.halo];
            if found != expected {
                let [rows, nonzeros, halo] =
                    std::array::from_fn(|place| format!("{}, not {}", found[place], expected[place]));
                let reason = format!(
                    "rank {rank} has a different part of the matrix: rows {rows}; entries {nonzeros}; halo {halo}"
                );
                return Err(refused(reason));
            }
        }
        let bytes = self.parts.iter().map(|part| part.bytes).sum::<u64>() as f64;
        let entries = self.parts.iter().map(|part| part.nonzeros).sum::<u64>() as f64;
        let entry = if entries > 0.0 { bytes / entries } else { 0.0 };
        Ok(loads(statistics, &Storage { entry, row: 0.0, value: value as f64 }, gpus_per_host))
    }
}

impl std::fmt::Display for MeasuredRun {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let job = match self.job {
            Job::Product => "product",
            Job::Cg => "CG",
            Job::PipelinedCg => "pipelined CG",
        };
        let ranks = self.parts.len();
        write!(f, "{job} of {}, {}, on {ranks} rank{}", self.matrix, self.precision, if ranks == 1 { "" } else { "s" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRODUCT: &str = r#"{"version": "0", "matrix": {"name": "stencil:3:4", "rows": 4}, "ranks": 2, "precision": "float64",
        "parts": [{"rank": 0, "rows": 2, "nonzeros": 5, "halo": 1, "bytes": 60, "format": "csr"},
                  {"rank": 1, "rows": 2, "nonzeros": 5, "halo": 1, "bytes": 60, "format": "csr"}],
        "times": {"multiply": {"repeats": 5, "median": 0.25}}}"#;

    fn iteration(method: &str, preconditioner: &str, iteration: &str) -> String {
        let times = format!("\"times\": {{\"iteration\": {iteration}}}");
        PRODUCT
            .replace("\"ranks\"", &format!("\"method\": \"{method}\", \"preconditioner\": {preconditioner}, \"ranks\""))
            .replace(r#""times": {"multiply": {"repeats": 5, "median": 0.25}}"#, &times)
    }

    #[test]
    fn records_are_read_one_after_the_other() {
        let text = format!("{PRODUCT}\n{}\n{}", iteration("cg", "null", "2.5"), iteration("pipelined-cg", "null", "2"));
        let runs = parse(&text).unwrap_or_else(|fault| panic!("{}", fault.reason));
        let found: Vec<_> = runs.iter().map(|run| (run.job, run.seconds, run.parts.len())).collect();
        assert_eq!(found, [(Job::Product, 0.25, 2), (Job::Cg, 2.5, 2), (Job::PipelinedCg, 2.0, 2)]);
        assert_eq!(runs[1].to_string(), "CG of stencil:3:4, float64, on 2 ranks");
    }

    #[test]
    fn other_records_are_refused() {
        let no_parts = PRODUCT.replace("\"parts\": [{", "\"parts\": [], \"others\": [{");
        for (text, line, expected) in [
            (String::new(), 1, "the file has no record"),
            (format!("{PRODUCT}\n{}", iteration("gmres", "null", "1")), 5, "the method gmres is not in the model"),
            (iteration("cg", "\"jacobi\"", "1"), 1, "the preconditioner jacobi is not in the model"),
            (iteration("cg", "null", "null"), 1, "the solver made too few iterations"),
            (PRODUCT.replace("0.25", "0"), 1, "a time of 0 seconds, expected more than 0"),
            (PRODUCT.replace("multiply", "copy"), 1, "has no time of a product or an iteration"),
            (no_parts, 1, "has no parts of ranks"),
            (format!("{PRODUCT}\n[1]"), 5, "invalid"),
        ] {
            let fault = parse(&text).map(|_| ()).unwrap_err();
            assert!(fault.reason.starts_with(expected) && fault.line == line, "{}: {}", fault.line, fault.reason);
        }
    }
}
