//! The choice of a format.

mod known;
mod trials;

use std::cmp::Ordering;
use std::fmt::{self, Display};

use serde::Serialize;

use super::analysis::Analysis;
use super::calibration::Calibration;
use super::exclusion::Exclusion;
use super::machine::Machine;
use super::store::{Outcomes, Store};
use super::traffic::Traffic;
use super::work::KernelWork;
use crate::device::Device;
use crate::error::Error;
use crate::format::narrow::Recipe;
use crate::format::{FillLimit, Format, NarrowType, ValueStorage, check_shape};

pub(super) use known::Known;
pub(crate) use trials::{REPETITIONS, WARM_UPS};

/// The purpose for which a format is chosen.
#[derive(Clone, Debug)]
pub struct Selection {
    /// Number of multiplications planned with the matrix; `None` for so many that the conversion's cost is negligible.
    pub multiplications: Option<u64>,
    /// Maximum size of the arrays in bytes.
    pub memory_budget: Option<u64>,
    /// Whether only formats that give the same bits every time are considered.
    pub reproducible: bool,
    /// Whether only formats that multiply several vectors at once are considered.
    pub multivectors: bool,
    /// Whether the transpose will also be multiplied. If that must be [`reproducible`](Self::reproducible), a
    /// [`Plan`](crate::Plan::automatic) stores the transpose as well, in a format chosen for it. Otherwise only formats that
    /// multiply the transpose themselves are considered: their kernels add atomically.
    pub transposed: bool,
    /// Whether [`Plan::update_values`](crate::Plan::update_values) will be called, as in
    /// [`PlanOptions`](crate::PlanOptions::updates). The choice does not depend on it.
    pub updates: bool,
    /// Whether the plan keeps slots for updates, as in [`PlanOptions`](crate::PlanOptions::keep_places). The choice does not
    /// depend on it.
    pub keep_places: bool,
    /// How the values are stored, as in [`PlanOptions`](crate::PlanOptions::values):
    /// [narrower](ValueStorage::Automatic) if that pays. With [`Rounded`](ValueStorage::Rounded), only formats that
    /// support it are considered.
    pub values: ValueStorage,
    /// How much a format may inflate the matrix.
    pub fill_limit: FillLimit,
    /// Which formats are measured instead of relying on the prediction.
    pub measure: Measure,
    /// The formats to consider; all if empty.
    pub among: Vec<Format>,
    /// The store of calibrations and outcomes of measurements.
    pub store: Option<Store>,
}

/// Which formats are measured before one is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Measure {
    /// None now; outcomes remembered in the [store](Selection::store) still count. Without a store, a matrix gets the same
    /// format each time.
    Never,
    /// Formats that may well be faster than the one predicted to be the fastest, if their potential savings over all
    /// [multiplications](Selection::multiplications) exceed the cost of trying them. None if there is a
    /// [budget](Selection::memory_budget), which trials could exceed, and none on an executor [whose times are not
    /// representative](crate::executor::Executor::times_tell).
    #[default]
    WhereUnsure,
    /// This many of the most promising formats.
    Best(usize),
}

impl Selection {
    /// Default number of multiplications: those of a few solves. Formats whose conversion costs more than these save
    /// are only chosen for callers that announce more multiplications, or if a trial that was to settle it has converted
    /// the matrix.
    pub const MULTIPLICATIONS: u64 = 1000;

    /// The type that a format stores the values in, if that is narrower.
    fn narrow_type(&self, analysis: &Analysis, format: Format, machine: &Machine) -> Option<NarrowType> {
        let narrow_type = match self.values {
            ValueStorage::Full => None,
            ValueStorage::Automatic => {
                let plain = !self.updates && !self.multivectors && (!self.transposed || self.stores_transpose());
                let is_large = || {
                    let stored = Traffic::new(analysis, format, machine).stored;
                    machine.has_kernels && stored as f64 > WORTH_NARROWING * machine.cache_bytes as f64
                };
                analysis.narrow.filter(|_| plain && is_large())
            }
            ValueStorage::Lossless => analysis.narrow,
            ValueStorage::Rounded(narrow_type) => Some(narrow_type),
        };
        narrow_type.filter(|_| format.multiplies_narrow())
    }

    /// Whether a plan stores the transpose in addition to the matrix.
    pub(crate) fn stores_transpose(&self) -> bool {
        self.transposed && self.reproducible
    }
}

impl Default for Selection {
    fn default() -> Self {
        Self {
            multiplications: Some(Self::MULTIPLICATIONS),
            memory_budget: None,
            reproducible: true,
            multivectors: false,
            transposed: false,
            updates: false,
            keep_places: false,
            values: ValueStorage::Automatic,
            fill_limit: FillLimit::default(),
            measure: Measure::default(),
            among: Vec::new(),
            store: Store::of_user(),
        }
    }
}

/// A format that was considered.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Candidate {
    /// Its name.
    #[serde(serialize_with = "name")]
    pub format: Format,
    /// The type that the values are stored in, if that is narrower than the one of the computation.
    pub narrow: Option<NarrowType>,
    /// Bytes stored and moved.
    pub traffic: Traffic,
    /// Predicted time of a multiplication, in seconds.
    pub multiply: f64,
    /// Predicted time of the conversion from CSR, in seconds.
    pub convert: f64,
    /// Likely relative error of the prediction.
    #[serde(skip)]
    pub error: f64,
    /// Measured time of a multiplication, in seconds.
    pub measured: Option<f64>,
    /// Whether the matrix was stored in it already, for measuring, when the format was chosen.
    #[serde(skip)]
    pub converted: bool,
    /// Why it cannot be chosen.
    pub excluded: Option<Exclusion>,
}

/// Relative error of predictions on a CPU.
const ERROR_ON_CPU: f64 = 0.25;

/// The factor by which a format must be predicted to be faster than CSR on a CPU: CSR needs no conversion.
const LEAD_ON_CPU: f64 = 1.3;

/// The factor by which it must be faster when both are measured, because times on a CPU vary.
const MEASURED_LEAD_ON_CPU: f64 = 1.05;

/// Minimum size of a matrix, relative to the cache, for which narrow values pay: smaller ones take as long, because each
/// value is also looked up (docs/experiments/values.md).
const WORTH_NARROWING: f64 = 0.25;

/// Seconds that a GPU needs to determine the narrower storage of values and to convert them: constant part, and per
/// value.
const NARROWING: (f64, f64) = (200e-6, 30e-12);

/// The chosen format, and the reasons.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Choice {
    /// The format.
    #[serde(serialize_with = "name")]
    pub format: Format,
    /// All formats considered, the best first and the excluded last.
    pub candidates: Vec<Candidate>,
    /// See [`Selection::multiplications`].
    pub multiplications: Option<u64>,
    /// The device whose calibration was used.
    pub calibration: String,
    /// Problems with files that were therefore not used.
    pub note: Option<String>,
    /// See [`Machine::has_kernels`].
    #[serde(skip)]
    has_kernels: bool,
}

fn name<S: serde::Serializer>(format: &Format, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(format)
}

impl Candidate {
    /// Time of a multiplication in seconds, measured or else predicted.
    pub fn seconds(&self) -> f64 {
        self.measured.unwrap_or(self.multiply)
    }

    /// Time of the conversion, unless that is done, and `multiplications` multiplications, in seconds per multiplication.
    fn cost(&self, multiplications: Option<u64>) -> f64 {
        self.seconds() + if self.converted { 0.0 } else { self.share(multiplications) }
    }

    /// The same, as predicted.
    fn predicted_cost(&self, multiplications: Option<u64>) -> f64 {
        self.multiply + self.share(multiplications)
    }

    /// The conversion's time in seconds per multiplication.
    fn share(&self, multiplications: Option<u64>) -> f64 {
        per_multiplication(self.convert, multiplications)
    }
}

/// A cost that is paid once, in seconds per multiplication.
fn per_multiplication(seconds: f64, multiplications: Option<u64>) -> f64 {
    multiplications.map_or(0.0, |count| seconds / count.max(1) as f64)
}

/// Chooses a format from the user's files or else from the calibrations shipped with the library. An invalid file is
/// ignored and reported by [`Choice::note`].
///
/// # Errors
/// When no format can be chosen, or the analysis is of a matrix with more rows or columns than supported.
pub fn choose(analysis: &Analysis, device: &Device, selection: &Selection) -> Result<Choice, Error> {
    Known::new(device, selection).choose(analysis, selection)
}

/// [`choose`] with a calibration and earlier measurements.
///
/// # Errors
/// As for [`choose`].
pub fn choose_with(
    analysis: &Analysis,
    machine: &Machine,
    calibration: &Calibration,
    measured: &Outcomes,
    selection: &Selection,
) -> Result<Choice, Error> {
    // An analysis can be modified, or read from a file.
    check_shape(analysis.rows, analysis.columns)?;
    let csr = Traffic::new(analysis, Format::CSR_SCALAR, machine).stored;
    let among = if selection.among.is_empty() { Format::ALL } else { &selection.among };
    // Formats that stand for others are never chosen, since those others are candidates themselves.
    let is_concrete = |format: &Format| *format != Format::Auto && analysis.resolve(*format) == *format;
    let concrete = among.iter().copied().filter(is_concrete);
    let candidate = |format: Format| {
        let seconds = |narrow| {
            let work = KernelWork::with_values(analysis, format, machine, narrow);
            (calibration.multiply_seconds(analysis, &work), work)
        };
        let narrowing = NARROWING.0 + NARROWING.1 * analysis.nnz as f64;
        let mut narrow = selection.narrow_type(analysis, format, machine);
        let (mut multiply, mut work) = seconds(narrow);
        if narrow.is_some() && selection.values == ValueStorage::Automatic {
            let full = seconds(None);
            let saved = (full.0 - multiply) * selection.multiplications.map_or(f64::INFINITY, |count| count as f64);
            if saved <= narrowing {
                (narrow, (multiply, work)) = (None, full);
            }
        }
        let convert = calibration.conversion_seconds(analysis, format, &work.traffic, machine);
        let impossible = with_values!(analysis, V => format.exclusion::<V>(analysis, machine));
        let excluded = impossible.or_else(|| exclusion(format, &work.traffic, csr, selection));
        Candidate {
            format,
            narrow,
            traffic: work.traffic,
            multiply,
            convert: convert + narrow.map_or(0.0, |_| narrowing),
            error: calibration.error(analysis, &work).max(if machine.has_kernels { 0.0 } else { ERROR_ON_CPU }),
            measured: measured.get(&format.to_string()).copied(),
            converted: false,
            excluded,
        }
    };
    let candidates = concrete.map(candidate).collect();
    let calibration = calibration.device.clone();
    let multiplications = selection.multiplications;
    let has_kernels = machine.has_kernels;
    let mut choice = Choice { format: Format::Auto, candidates, multiplications, calibration, note: None, has_kernels };
    choice.decide(selection)?;
    Ok(choice)
}

fn exclusion(format: Format, traffic: &Traffic, csr: u128, selection: &Selection) -> Option<Exclusion> {
    let over_budget = selection.memory_budget.is_some_and(|budget| traffic.stored > budget.into());
    if selection.reproducible && !format.reproducible() {
        Some(Exclusion::NotReproducible)
    } else if selection.multivectors && !format.multiplies_multivectors() {
        Some(Exclusion::NoMultivectors)
    } else if matches!(selection.values, ValueStorage::Rounded(_)) && !format.multiplies_narrow() {
        Some(Exclusion::NoNarrowValues)
    } else if selection.transposed && !selection.stores_transpose() && !format.multiplies_transposed() {
        Some(Exclusion::NoTranspose)
    } else if !selection.fill_limit.allows(traffic.stored, csr) {
        Some(Exclusion::Fill)
    } else {
        over_budget.then_some(Exclusion::Memory)
    }
}

impl Choice {
    /// Sorts the candidates and takes the first. If the one predicted to be the best was measured, a measured one comes
    /// first. Otherwise the measurements served another purpose, and the prediction decides. Either way it is CSR, unless
    /// another format has the [lead](Self::lead).
    fn decide(&mut self, selection: &Selection) -> Result<(), Error> {
        let (multiplications, lead) = (self.multiplications, self.lead());
        let predicted =
            |candidate: &Candidate| candidate.predicted_cost(multiplications) * lead(candidate.format, false);
        let allowed = self.candidates.iter().filter(|candidate| candidate.excluded.is_none());
        let best = allowed.min_by(|left, right| predicted(left).total_cmp(&predicted(right)));
        let alike = |measured: &Candidate, best: &Candidate| {
            measured.measured.is_some()
                && (measured.format == best.format || !self.has_kernels && measured.format.shares_arrays(best.format))
        };
        let believed = best.is_some_and(|best| self.candidates.iter().any(|candidate| alike(candidate, best)));
        let rank = |candidate: &Candidate| (candidate.excluded.is_some(), believed && candidate.measured.is_none());
        let cost = |candidate: &Candidate| match candidate.measured {
            Some(_) if believed => candidate.cost(multiplications) * lead(candidate.format, true),
            _ => predicted(candidate),
        };
        self.candidates.sort_by(|left, right| match rank(left).cmp(&rank(right)) {
            Ordering::Equal => cost(left).total_cmp(&cost(right)),
            different => different,
        });
        match self.candidates.first() {
            Some(best) if best.excluded.is_none() => {
                self.format = best.format;
                Ok(())
            }
            _ => Err(Error::NoFormat {
                considered: self.candidates.len(),
                smallest: self.smallest(),
                budget: selection.memory_budget,
            }),
        }
    }

    /// The fewest bytes that a candidate stores; those of clusters that were not looked at are unknown.
    fn smallest(&self) -> u128 {
        let known = self.candidates.iter().filter(|candidate| candidate.excluded != Some(Exclusion::NotClustered));
        known.map(|candidate| candidate.traffic.stored).min().unwrap_or(0)
    }

    /// The factor by which a format must be faster than CSR, if both are measured or if neither is.
    pub(crate) fn lead(&self) -> impl Fn(Format, bool) -> f64 + use<> {
        let has_kernels = self.has_kernels;
        move |format, measured| match (has_kernels || format.shares_arrays(Format::CSR_SCALAR), measured) {
            (true, _) => 1.0,
            (false, true) => MEASURED_LEAD_ON_CPU,
            (false, false) => LEAD_ON_CPU,
        }
    }

    /// The candidates that can be chosen, the best first; only the first of those that multiply alike.
    #[doc(hidden)]
    pub fn possible(&self) -> impl Iterator<Item = &Candidate> {
        let allowed = || self.candidates.iter().filter(|candidate| candidate.excluded.is_none());
        allowed().enumerate().filter_map(move |(place, candidate)| {
            let alike = |other: &Candidate| !self.has_kernels && other.format.shares_arrays(candidate.format);
            (!allowed().take(place).any(alike)).then_some(candidate)
        })
    }

    /// Whether the size in bytes of the chosen format is exact.
    pub(crate) fn is_exact(&self) -> bool {
        self.candidates.first().is_some_and(|candidate| candidate.traffic.exact)
    }

    /// The type of the values in formats that store them narrower.
    pub(crate) fn narrow_type(&self) -> Option<NarrowType> {
        self.candidates.iter().find_map(|candidate| candidate.narrow)
    }

    /// The recipe for the values, if the format is a candidate that stores them narrower.
    pub(crate) fn recipe_for<'a, T>(&self, format: Format, recipe: &'a Option<Recipe<T>>) -> Option<&'a Recipe<T>> {
        let candidate = self.candidates.iter().find(|candidate| candidate.format == format)?;
        recipe.as_ref().filter(|_| candidate.narrow.is_some())
    }
}

/// The candidates as a table, and the reason as a sentence.
impl Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let micro = |seconds: f64| format!("{:.1}", seconds * 1e6);
        writeln!(
            f,
            "{:21} {:8} {:>15} {:>15} {:>13} {:>13} {:>13}",
            "format", "values", "stored, bytes", "needed, bytes", "convert, µs", "predicted, µs", "measured, µs"
        )?;
        for candidate in &self.candidates {
            let Candidate { format, narrow, traffic, multiply, convert, measured, excluded, .. } = candidate;
            let about = if traffic.exact { "" } else { "~" };
            let [stored, needed] = [traffic.stored, traffic.needed].map(|bytes| format!("{about}{bytes}"));
            let values = narrow.map_or("", NarrowType::name);
            write!(f, "{format:21} {values:8} {stored:>15} {needed:>15} ")?;
            match excluded {
                Some(excluded) => writeln!(f, "{excluded}")?,
                None => {
                    let measured = measured.map_or("-".into(), micro);
                    writeln!(f, "{:>13} {:>13} {measured:>13}", micro(*convert), micro(*multiply))?;
                }
            }
        }
        writeln!(f, "\n{}", self.reason())?;
        match &self.note {
            Some(note) => writeln!(f, "not used: {note}"),
            None => Ok(()),
        }
    }
}

impl Choice {
    /// The reason for the choice as a sentence.
    pub fn reason(&self) -> String {
        let mut possible = self.possible();
        let (best, next) = (possible.next(), possible.next());
        let how = match best.and_then(|best| best.measured) {
            Some(_) => "measured",
            None => "predicted",
        };
        let converted = best.is_some_and(|best| best.converted);
        let purpose = match self.multiplications {
            None => "many multiplications".to_owned(),
            Some(1) if converted => "one multiplication".to_owned(),
            Some(count) if converted => format!("{count} multiplications"),
            Some(1) => "one multiplication with its conversion".to_owned(),
            Some(count) => format!("{count} multiplications with the conversion"),
        };
        let ratio = |best: &Candidate, next: &Candidate| match converted {
            true => next.seconds() / best.seconds(),
            false => next.cost(self.multiplications) / best.cost(self.multiplications),
        };
        let why = match (best, next) {
            (Some(best), Some(next)) => {
                let ratio = ratio(best, next);
                let lead = self.lead()(next.format, best.measured.is_some());
                if ratio < 1.0 && lead > 1.0 {
                    format!(
                        "CSR, unless {how} to take more than {lead} times the time of {} for {purpose}",
                        next.format
                    )
                } else {
                    let next = next.format;
                    format!("{how} to be the fastest for {purpose}; {next} follows with {ratio:.2} times the time")
                }
            }
            _ => format!("{how} to be the fastest for {purpose}"),
        };
        format!("{}: {why} (calibration of {})", self.format, self.calibration)
    }
}
