//! Quality of the model of blocked formats: its times on dense matrices (Fig. 10 to 12), and its choices compared with the
//! best of all measured, and with the least storage (§6.6 and 6.7).

use std::fmt::{self, Display};

use host::Format;
use host::format::{BlockSize, PartitionRows};
use host::select::{Analysis, Calibration, Machine, Traffic};

use super::{Blocked, Models, dense};
use crate::calibrate::accuracy::timed;
use crate::record::Entry;
use crate::statistics::quartiles;

/// The stand-ins for the matrices with dense blocks on which the paper tests the choice (Fig. 13).
const PAPER: &[&str] = &[
    "protein-like",
    "qcd-like",
    "cantilever-like",
    "spheres-like",
    "harbor-like",
    "ship-like",
    "wind-tunnel-like",
    "accelerator-like",
];

/// A speed within this fraction of the best counts as the best: smaller differences are noise.
const AS_GOOD: f64 = 0.01;

const STORAGES: [&str; 2] = ["BELLPACK", "BCSR"];
const MATRICES: [&str; 2] = ["the paper's", "others"];

/// Columns of the table of dense matrices.
const KINDS: [(&str, bool, usize); 4] = [
    ("BELLPACK float32", true, 4),
    ("BELLPACK float64", true, 8),
    ("BCSR float32", false, 4),
    ("BCSR float64", false, 8),
];

/// Quality of the model, judged by results.
pub struct BlockedCheck {
    /// |predicted - measured| / measured on dense matrices, per size and per element of [`KINDS`].
    dense: Vec<(BlockSize, [Vec<f64>; KINDS.len()])>,
    /// Number of kernels with a model, and number of those with a model by eq. 15 to 17.
    kernels: [usize; 2],
    /// The largest number of blocked formats measured on one matrix, of BELLPACK and of BCSR.
    measured: [usize; 2],
    choices: Vec<Choices>,
}

/// The choices for some matrices.
struct Choices {
    storage: &'static str,
    matrices: &'static str,
    /// Speeds of the model's choice, and of the least storage, relative to the best.
    shares: [Vec<f64>; 2],
    /// |predicted - measured| / measured of all formats.
    errors: Vec<f64>,
}

impl BlockedCheck {
    /// Judges by `entries`. The choice is checked on matrices that are not dense and were measured with all block sizes.
    pub(in crate::calibrate) fn new(entries: &[&Entry], machine: &Machine, calibration: &Calibration) -> Self {
        let models = Models::new(entries, machine, calibration);
        let by_equations = models.fitted.iter().filter(|fitted| fitted.by_equations).count();
        let mut check = Self {
            dense: BlockSize::ALL.iter().map(|&size| (size, Default::default())).collect(),
            kernels: [models.fitted.len(), by_equations],
            measured: [0; 2],
            choices: STORAGES
                .iter()
                .flat_map(|storage| MATRICES.map(|matrices| Choices::new(storage, matrices)))
                .collect(),
        };
        for &entry in entries {
            match (dense::of(entry), &entry.analysis) {
                (Some((entry, analysis)), _) => check.add_dense(&models, entry, analysis),
                (None, Some(analysis)) => check.add_choice(&models, entry, analysis, machine),
                (None, None) => {}
            }
        }
        check
    }

    fn add_dense(&mut self, models: &Models<'_>, entry: &Entry, analysis: &Analysis) {
        for (blocked, _, seconds) in blocked_times(entry) {
            let Some(predicted) = models.seconds(analysis, blocked) else { continue };
            let kind = (is_bellpack(blocked), analysis.value_bytes);
            let column = KINDS.iter().position(|&(_, bellpack, bytes)| (bellpack, bytes) == kind);
            let errors = self.dense.iter_mut().find(|(size, _)| *size == blocked.size());
            if let (Some(column), Some((_, errors))) = (column, errors) {
                errors[column].push((predicted / seconds - 1.0).abs());
            }
        }
    }

    fn add_choice(&mut self, models: &Models<'_>, entry: &Entry, analysis: &Analysis, machine: &Machine) {
        let is_of_paper = entry.filename.split(':').next().is_some_and(|name| PAPER.contains(&name));
        for number in 0..STORAGES.len() {
            let of_storage = |blocked| is_bellpack(blocked) == (number == 0);
            let tried = entry.spmv.keys().filter_map(|name| Blocked::of(name.parse().ok()?));
            let tried: Vec<_> = tried.filter(|&blocked| of_storage(blocked)).collect();
            let all_sizes = BlockSize::ALL.iter().all(|&size| tried.iter().any(|blocked| blocked.size() == size));
            let timed: Vec<_> = blocked_times(entry).filter(|&(blocked, ..)| of_storage(blocked)).collect();
            let best = timed.iter().map(|&(_, _, seconds)| seconds).min_by(f64::total_cmp);
            let among: Vec<_> = timed.iter().map(|&(blocked, ..)| blocked).collect();
            let (true, Some(best), Some(chosen)) = (all_sizes, best, models.choose(analysis, &among)) else { continue };
            let stored = |format: Format| Traffic::new(analysis, format, machine).stored;
            let least = timed.iter().min_by_key(|&&(_, format, _)| stored(format)).map(|&(blocked, ..)| blocked);
            let choices = &mut self.choices[number * MATRICES.len() + usize::from(!is_of_paper)];
            for (shares, taken) in choices.shares.iter_mut().zip([Some(chosen), least]) {
                let taken = timed.iter().find(|&&(blocked, ..)| Some(blocked) == taken);
                shares.extend(taken.map(|&(_, _, seconds)| best / seconds));
            }
            let error = |&(blocked, _, seconds): &(Blocked, Format, f64)| {
                Some((models.seconds(analysis, blocked)? / seconds - 1.0).abs())
            };
            choices.errors.extend(timed.iter().filter_map(error));
            self.measured[number] = self.measured[number].max(tried.len());
        }
    }
}

impl Choices {
    fn new(storage: &'static str, matrices: &'static str) -> Self {
        Self { storage, matrices, shares: Default::default(), errors: Vec::new() }
    }
}

fn is_bellpack(blocked: Blocked) -> bool {
    matches!(blocked, Blocked::Bellpack(..))
}

/// Returns the blocked formats with a time.
fn blocked_times(entry: &Entry) -> impl Iterator<Item = (Blocked, Format, f64)> {
    timed(entry).filter_map(|(format, _, seconds)| Some((Blocked::of(format)?, format, seconds)))
}

fn mean(numbers: &[f64]) -> f64 {
    numbers.iter().sum::<f64>() / numbers.len() as f64
}

/// Two tables in Markdown, with explanations; nothing without a model.
impl Display for BlockedCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [kernels, by_equations] = self.kernels;
        if kernels == 0 {
            return Ok(());
        }
        let by_fit = kernels - by_equations;
        writeln!(
            f,
            "\nThe model of Choi, Singh & Vuduc 2010, §6, on dense matrices (Fig. 10 to 12): of {kernels} kernels,"
        )?;
        writeln!(
            f,
            "{by_equations} have its numbers by eq. 15 to 17 and {by_fit} by least squares. Number of matrices, median and"
        )?;
        writeln!(f, "largest relative error of the predicted times:\n")?;
        let heads = KINDS.map(|(head, ..)| head).join(" | ");
        writeln!(f, "| blocks | {heads} |\n|---|{}", "--:|".repeat(KINDS.len()))?;
        for (size, errors) in self.dense.iter().filter(|(_, errors)| errors.iter().any(|errors| !errors.is_empty())) {
            let cells = errors.each_ref().map(|errors| match quartiles(errors) {
                None => "–".into(),
                Some([_, median, _]) => {
                    let largest = errors.iter().copied().fold(0.0, f64::max);
                    format!("{}: {:.1}, {:.0} %", errors.len(), 100.0 * median, 100.0 * largest)
                }
            });
            writeln!(f, "| {} x {} | {} |", size.rows(), size.columns(), cells.join(" | "))?;
        }
        if self.choices.iter().all(|choices| choices.errors.is_empty()) {
            return Ok(());
        }
        let [bellpack, bcsr] = self.measured;
        let combinations = BlockSize::ALL.len() * PartitionRows::ALL.len();
        writeln!(
            f,
            "\nIts choice against the best of the same storage (§6.6) and the least storage (§6.7): {bellpack} of the"
        )?;
        writeln!(
            f,
            "{combinations} combinations of BELLPACK and {bcsr} sizes of BCSR were measured. Shares of the best one's speed:\n"
        )?;
        writeln!(
            f,
            "| storage | matrices | number | choice by | mean share | median share | within 1 % | error of predicted times: quartiles |"
        )?;
        writeln!(f, "|---|---|--:|---|--:|--:|--:|--:|")?;
        for Choices { storage, matrices, shares, errors } in &self.choices {
            for (rule, shares) in ["the model", "least storage"].into_iter().zip(shares) {
                let Some([_, median, _]) = quartiles(shares) else { continue };
                let as_good = shares.iter().filter(|&&share| share >= 1.0 - AS_GOOD).count();
                let (number, mean) = (shares.len(), 100.0 * mean(shares));
                let median = 100.0 * median;
                let errors = match (rule, quartiles(errors)) {
                    ("the model", Some(errors)) => {
                        let [first, median, third] = errors.map(|error| 100.0 * error);
                        format!("{first:.0}, {median:.0}, {third:.0} %")
                    }
                    _ => "–".into(),
                };
                writeln!(
                    f,
                    "| {storage} | {matrices} | {number} | {rule} | {mean:.1} % | {median:.1} % | {as_good} | {errors} |"
                )?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use host::Csr;
    use host::executor::{Emulated, Executor};
    use synthetic::Generator;

    use crate::record::Run;

    const MACHINE: Machine =
        Machine { has_kernels: true, resident_threads: 132 * 2048, cache_bytes: 0, shared_bytes: None };

    /// An entry of a matrix with the times of these formats.
    fn entry(text: &str, family: &str, times: impl Fn(Blocked) -> f64) -> Entry {
        let matrix: Csr<f64> = text.parse::<Generator>().unwrap().generate().unwrap();
        let run = |seconds| Run { completed: true, time: Some(seconds), ..Run::default() };
        let blocked = Format::ALL.iter().filter_map(|&format| Some((format, Blocked::of(format)?)));
        let spmv = blocked.map(|(format, blocked)| (format.name().to_owned(), run(times(blocked)))).collect();
        let analysis = Some(Analysis::new(&matrix).unwrap());
        Entry { filename: text.into(), family: Some(family.into()), analysis, spmv, ..Entry::default() }
    }

    #[test]
    fn shares_and_errors_are_of_what_was_chosen() {
        let calibration = Calibration::shipped(Emulated::new(1).device());
        // For any work, 3 x 3 takes a second and every other size 9.
        let seconds = |blocked: Blocked| if blocked.size() == BlockSize::B3x3 { 1.0 } else { 9.0 };
        let dense = ["dense:rows=60", "dense:rows=80,columns=40", "dense:rows=20,columns=400"];
        let dense = dense.map(|text| entry(text, "dense", seconds));
        // So 3 x 3 is chosen. It takes 2 seconds here, the best 1, and the least storage 4.
        let blocks = entry("block-diagonal:blocks=60,size=6", "blocks", |blocked| match blocked.size() {
            BlockSize::B6x6 => 4.0,
            BlockSize::B2x2 => 1.0,
            _ => 2.0,
        });
        let entries: Vec<_> = dense.iter().chain([&blocks]).collect();
        let check = BlockedCheck::new(&entries, &MACHINE, &calibration);
        assert_eq!(check.kernels, [22, 0]);
        assert_eq!(check.measured[1], BlockSize::ALL.len());
        // The paper's matrices come first.
        let bellpack = &check.choices[1];
        assert_eq!((bellpack.matrices, &bellpack.shares[1][..]), ("others", &[0.25][..]));
        assert_eq!(bellpack.shares[0], [0.5]);
        // Predicted 1 second, actual 2; and predicted 9, actual 1, 4 and 2.
        let expected = [0.5, 8.0, 1.25, 3.5];
        let is = |error: &f64, expected: &f64| (error - expected).abs() < 1e-2;
        assert!(bellpack.errors.iter().all(|error| expected.iter().any(|expected| is(error, expected))));
        assert!(expected.iter().all(|expected| bellpack.errors.iter().any(|error| is(error, expected))));
        let text = check.to_string();
        assert!(text.contains("| the model | 50.0 % | 50.0 % | 0 |"), "{text}");
        assert!(text.contains("| least storage | 25.0 % | 25.0 % | 0 | – |"), "{text}");
        assert!(text.contains("of 22 kernels,\n0 have"), "{text}");
    }

    #[test]
    fn nothing_is_said_without_dense_matrices() {
        let calibration = Calibration::shipped(Emulated::new(1).device());
        let blocks = entry("block-diagonal:blocks=60,size=6", "blocks", |_| 1.0);
        assert_eq!(BlockedCheck::new(&[&blocks], &MACHINE, &calibration).to_string(), "");
    }
}
