//! The choice of a format.

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

/// What a format is chosen for.
#[derive(Clone, Debug)]
pub struct Selection {
    /// Multiplications that the matrix is for; none for so many that the conversion costs nothing in comparison.
    pub multiplications: Option<u64>,
    /// Bytes that the arrays may take.
    pub memory_budget: Option<u64>,
    /// Whether only formats are considered that give the same bits every time.
    pub reproducible: bool,
    /// Whether only formats are considered that multiply several vectors at once.
    pub multivectors: bool,
    /// Whether the transpose will be multiplied, too. Where that must be [`reproducible`](Self::reproducible), a
    /// [`Plan`](crate::Plan::automatic) stores the transpose as well, in a format chosen for it. Otherwise only formats are
    /// considered that multiply the transpose themselves: their kernels add atomically.
    pub transposed: bool,
    /// Whether [`Plan::update_values`](crate::Plan::update_values) will be called, as in
    /// [`PlanOptions`](crate::PlanOptions::updates). The choice does not depend on it.
    pub updates: bool,
    /// Whether the plan keeps places for updates, as in [`PlanOptions`](crate::PlanOptions::keep_places). The choice does not
    /// depend on it.
    pub keep_places: bool,
    /// How the values are stored, as in [`PlanOptions`](crate::PlanOptions::values): where that pays,
    /// [narrower](ValueStorage::Automatic). With
    /// [`Rounded`](ValueStorage::Rounded), only formats are considered that can do it.
    pub values: ValueStorage,
    /// How much a format may blow the matrix up.
    pub fill_limit: FillLimit,
    /// Which formats are measured, rather than that the prediction is believed.
    pub measure: Measure,
    /// The formats that are considered; all if there is none.
    pub among: Vec<Format>,
    /// Where calibrations are, and where outcomes of measurements are remembered.
    pub store: Option<Store>,
}

/// Which formats are measured before one is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Measure {
    /// None now; what the [store](Selection::store) remembers still counts. Without a store a matrix gets the same format
    /// each time.
    Never,
    /// Those that may well be faster than the one that is predicted to be the fastest, if what they may save over all
    /// [multiplications](Selection::multiplications) is more than it takes to try them. None where there is a
    /// [budget](Selection::memory_budget), which trials could exceed, and none on an executor
    /// [whose times say nothing](crate::executor::Executor::times_tell).
    #[default]
    WhereUnsure,
    /// So many of the most promising ones.
    Best(usize),
}

impl Selection {
    /// Multiplications that a matrix is for unless more is known: those of a few solves. Formats whose conversion takes
    /// longer than it saves them are for those who say that there will be more.
    pub const MULTIPLICATIONS: u64 = 1000;

    /// What a format stores the values in, where that is narrower.
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

    /// Whether a plan stores the transpose besides the matrix.
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
    /// What it stores the values in, where that is narrower than they are computed with.
    pub narrow: Option<NarrowType>,
    /// What it stores and moves.
    pub traffic: Traffic,
    /// Predicted seconds of a multiplication.
    pub multiply: f64,
    /// Predicted seconds of the conversion from CSR.
    pub convert: f64,
    /// How far the prediction may well be off, as a part of it.
    #[serde(skip)]
    pub error: f64,
    /// Measured seconds of a multiplication.
    pub measured: Option<f64>,
    /// Why it cannot be chosen.
    pub excluded: Option<Exclusion>,
}

/// How far predictions are off on a CPU, as a part of them.
const ERROR_ON_CPU: f64 = 0.25;

/// How many times as fast as CSR a format must be predicted to be on a CPU: CSR needs no conversion.
const LEAD_ON_CPU: f64 = 1.3;

/// Bytes of a matrix from which on narrow values are worth it, over those of the cache: smaller ones take as long, for a
/// value is looked up as well (docs/experiments/values.md).
const WORTH_NARROWING: f64 = 0.25;

/// Seconds that it takes a GPU to find out how values are stored narrower and to do so: at least, and for each value.
const NARROWING: (f64, f64) = (200e-6, 30e-12);

/// The formats that are tried at most where the prediction is not sure enough. With three, the best of them was within 5 %
/// of the fastest on 95 to 99 % of the suite `real` (docs/results/choice.md).
const MOST_TRIED: usize = 4;

/// Untimed multiplications before the timed ones, where a format is measured.
pub(crate) const WARM_UPS: usize = 2;

/// Timed multiplications in each format that is measured. The least counts: formats are timed one after the other, and
/// what else the machine does only adds.
pub(crate) const REPETITIONS: usize = 7;

/// What it takes to try a format besides its conversion, in multiplications: those that are timed, those before them, and
/// two for a copy of the matrix.
const TRIAL: f64 = (WARM_UPS + REPETITIONS + 2) as f64;

/// Which format was chosen, and why.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Choice {
    /// The format.
    #[serde(serialize_with = "name")]
    pub format: Format,
    /// All that were considered: the best first, and those that cannot be chosen last.
    pub candidates: Vec<Candidate>,
    /// See [`Selection::multiplications`].
    pub multiplications: Option<u64>,
    /// The device whose calibration was used.
    pub calibration: String,
    /// What went wrong with a file, so that it was not used.
    pub note: Option<String>,
    /// See [`Machine::has_kernels`].
    #[serde(skip)]
    has_kernels: bool,
}

fn name<S: serde::Serializer>(format: &Format, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(format)
}

impl Candidate {
    /// Seconds of a multiplication, measured or else predicted.
    pub fn seconds(&self) -> f64 {
        self.measured.unwrap_or(self.multiply)
    }

    /// Seconds of the conversion and so many multiplications, for each of these.
    fn cost(&self, multiplications: Option<u64>) -> f64 {
        self.seconds() + self.share(multiplications)
    }

    /// The same as it was predicted.
    fn predicted_cost(&self, multiplications: Option<u64>) -> f64 {
        self.multiply + self.share(multiplications)
    }

    /// Seconds of the conversion for each of so many multiplications.
    fn share(&self, multiplications: Option<u64>) -> f64 {
        multiplications.map_or(0.0, |count| self.convert / count.max(1) as f64)
    }
}

/// Chooses from what the user's files say, or else from what comes with the library. A file that is no good is left
/// aside, and [`Choice::note`] tells.
///
/// # Errors
/// When no format can be chosen, or the analysis is of a matrix with more rows or columns than one can have.
pub fn choose(analysis: &Analysis, device: &Device, selection: &Selection) -> Result<Choice, Error> {
    let mut notes = Vec::new();
    let calibration = selection.store.as_ref().map(|store| store.calibration(device));
    let calibration = note(&mut notes, calibration).flatten().unwrap_or_else(|| Calibration::shipped(device));
    let machine = Machine::from(device);
    let mut choice = choose_with(analysis, &machine, &calibration, &Outcomes::new(), selection)?;
    // Outcomes are kept by how values are stored, which the prediction says.
    let measured = selection.store.as_ref().map(|store| store.outcomes(analysis, device, choice.narrow_type()));
    let measured = note(&mut notes, measured).unwrap_or_default();
    if !measured.is_empty() {
        choice = choose_with(analysis, &machine, &calibration, &measured, selection)?;
    }
    choice.note = (!notes.is_empty()).then(|| notes.join("; "));
    Ok(choice)
}

fn note<R>(notes: &mut Vec<String>, read: Option<Result<R, Error>>) -> Option<R> {
    read?.map_err(|error| notes.push(error.to_string())).ok()
}

/// [`choose`] with a calibration, and with what was measured before.
///
/// # Errors
/// As [`choose`].
pub fn choose_with(
    analysis: &Analysis,
    machine: &Machine,
    calibration: &Calibration,
    measured: &Outcomes,
    selection: &Selection,
) -> Result<Choice, Error> {
    // Anyone can change the numbers of an analysis, or read them from a file.
    check_shape(analysis.rows, analysis.columns)?;
    let csr = Traffic::new(analysis, Format::CSR_SCALAR, machine).stored;
    let among = if selection.among.is_empty() { Format::ALL } else { &selection.among };
    // What stands for others is never chosen: those are there themselves.
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
    /// Puts the candidates in order, and takes the first. If the one that is predicted to be the best was measured, one of
    /// those that were measured comes first. Otherwise they were measured for another purpose, and the prediction decides:
    /// for CSR, unless another one is predicted to have the [lead](Self::lead).
    fn decide(&mut self, selection: &Selection) -> Result<(), Error> {
        let (multiplications, lead) = (self.multiplications, self.lead());
        let predicted = |candidate: &Candidate| {
            let stays = candidate.format.shares_arrays(Format::CSR_SCALAR);
            candidate.predicted_cost(multiplications) * if stays { 1.0 } else { lead }
        };
        let allowed = self.candidates.iter().filter(|candidate| candidate.excluded.is_none());
        let best = allowed.min_by(|left, right| predicted(left).total_cmp(&predicted(right)));
        let alike = |measured: &Candidate, best: &Candidate| {
            measured.measured.is_some()
                && (measured.format == best.format || !self.has_kernels && measured.format.shares_arrays(best.format))
        };
        let believed = best.is_some_and(|best| self.candidates.iter().any(|candidate| alike(candidate, best)));
        let rank = |candidate: &Candidate| (candidate.excluded.is_some(), believed && candidate.measured.is_none());
        let cost = |candidate: &Candidate| match candidate.measured {
            Some(_) if believed => candidate.cost(multiplications),
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
                smallest: self.candidates.iter().map(|candidate| candidate.traffic.stored).min().unwrap_or(0),
                budget: selection.memory_budget,
            }),
        }
    }

    /// How many times as fast as CSR another format must be predicted to be.
    fn lead(&self) -> f64 {
        if self.has_kernels { 1.0 } else { LEAD_ON_CPU }
    }

    /// The candidates that can be chosen, the best first: of those that are multiplied alike, the first alone.
    #[doc(hidden)]
    pub fn possible(&self) -> impl Iterator<Item = &Candidate> {
        let allowed = || self.candidates.iter().filter(|candidate| candidate.excluded.is_none());
        allowed().enumerate().filter_map(move |(place, candidate)| {
            let alike = |other: &Candidate| !self.has_kernels && other.format.shares_arrays(candidate.format);
            (!allowed().take(place).any(alike)).then_some(candidate)
        })
    }

    /// Whether the bytes of what was chosen are exact.
    pub(crate) fn is_exact(&self) -> bool {
        self.candidates.first().is_some_and(|candidate| candidate.traffic.exact)
    }

    /// The formats that are to be measured, the most promising first, if they were not measured before.
    pub(crate) fn to_measure(&self, selection: &Selection) -> Vec<Format> {
        match selection.measure {
            Measure::Never => Vec::new(),
            Measure::WhereUnsure if selection.memory_budget.is_some() => Vec::new(),
            Measure::WhereUnsure => self.worth_trying(),
            Measure::Best(count) => {
                let best = self.possible().take(count);
                best.filter(|candidate| candidate.measured.is_none()).map(|candidate| candidate.format).collect()
            }
        }
    }

    /// The best candidate and those that may well be faster, where trying all of them pays; none where it does not.
    fn worth_trying(&self) -> Vec<Format> {
        let multiplications = self.multiplications.map_or(f64::INFINITY, |count| count as f64);
        // Of those that are predicted alike to the bit, such as HYB with all entries in the same part, one is enough.
        let prediction = |candidate: &Candidate| {
            (candidate.multiply.to_bits(), candidate.convert.to_bits(), candidate.traffic.stored)
        };
        let mut tried: Vec<&Candidate> = Vec::with_capacity(MOST_TRIED);
        for candidate in self.possible() {
            if tried.len() < MOST_TRIED && tried.iter().all(|other| prediction(other) != prediction(candidate)) {
                tried.push(candidate);
            }
        }
        let Some((&best, rivals)) = tried.split_first() else { return Vec::new() };
        if best.measured.is_some() {
            return Vec::new();
        }
        let price = |candidate: &Candidate| match candidate.measured {
            Some(_) => 0.0,
            None => candidate.convert + TRIAL * candidate.multiply,
        };
        let gain = |rival: &Candidate| {
            let ratio = rival.predicted_cost(self.multiplications) / best.predicted_cost(self.multiplications);
            best.multiply * multiplications * expected_gain(ratio.ln(), best.error.hypot(rival.error))
        };
        let rivals = || rivals.iter().copied().filter(|rival| gain(rival) > price(rival));
        if rivals().map(|rival| gain(rival) - price(rival)).sum::<f64>() <= price(best) {
            return Vec::new();
        }
        let all = [best].into_iter().chain(rivals());
        all.filter(|candidate| candidate.measured.is_none()).map(|candidate| candidate.format).collect()
    }

    /// What the values are stored in, in those of the formats that store them narrower.
    pub(crate) fn narrow_type(&self) -> Option<NarrowType> {
        self.candidates.iter().find_map(|candidate| candidate.narrow)
    }

    /// The recipe for the values, if a format that was considered stores them narrower.
    pub(crate) fn recipe_for<'a, T>(&self, format: Format, recipe: &'a Option<Recipe<T>>) -> Option<&'a Recipe<T>> {
        let candidate = self.candidates.iter().find(|candidate| candidate.format == format)?;
        recipe.as_ref().filter(|_| candidate.narrow.is_some())
    }

    /// Decides anew with what was measured; a format without a time failed.
    ///
    /// # Errors
    /// When no format can be chosen.
    pub(crate) fn take(&mut self, measured: &[(Format, Option<f64>)], selection: &Selection) -> Result<(), Error> {
        for candidate in &mut self.candidates {
            match measured.iter().find(|(format, _)| *format == candidate.format) {
                Some((_, Some(seconds))) => candidate.measured = Some(*seconds),
                Some((_, None)) => candidate.excluded = Some(Exclusion::Failed),
                None => {}
            }
        }
        self.decide(selection)
    }
}

/// What knowing the times of two formats saves on average, as a part of a multiplication, where the logarithm of the
/// ratio of their predictions is `ahead` and its error has this deviation. That is the deviation times the normal
/// distribution's loss function, which this exponential is within about 3 % of, up to two deviations; beyond three, nothing.
fn expected_gain(ahead: f64, deviation: f64) -> f64 {
    if ahead > 3.0 * deviation {
        return 0.0;
    }
    let lead = (ahead / deviation).abs();
    let loss = (-0.919 - 1.24 * lead - 0.335 * lead * lead).exp();
    // A rival may be predicted to be the faster one, by less than the lead that CSR has on a CPU.
    deviation * loss + (-ahead).max(0.0)
}

/// The candidates as a table, and the reason in a sentence.
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
    /// Why the format was chosen, in a sentence.
    pub fn reason(&self) -> String {
        let mut possible = self.possible();
        let (best, next) = (possible.next(), possible.next());
        let how = match best.and_then(|best| best.measured) {
            Some(_) => "measured",
            None => "predicted",
        };
        let purpose = match self.multiplications {
            None => "many multiplications".to_owned(),
            Some(1) => "one multiplication with its conversion".to_owned(),
            Some(count) => format!("{count} multiplications with the conversion"),
        };
        let ratio =
            |best: &Candidate, next: &Candidate| next.cost(self.multiplications) / best.cost(self.multiplications);
        let why = match (best, next) {
            (Some(best), Some(next)) if best.measured.is_none() && ratio(best, next) < 1.0 => {
                format!("CSR, unless more than {} times the time of {} for {purpose}", self.lead(), next.format)
            }
            (Some(best), Some(next)) => {
                let ratio = ratio(best, next);
                format!("{how} to be the fastest for {purpose}; {} follows with {ratio:.2} times the time", next.format)
            }
            _ => format!("{how} to be the fastest for {purpose}"),
        };
        format!("{}: {why} (calibration of {})", self.format, self.calibration)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_trying_saves_falls_with_the_distance() {
        // Of two that are predicted to be as fast, half the mean of the larger half of a normal distribution.
        assert!((expected_gain(0.0, 0.1) - 0.0399).abs() < 1e-3);
        let gains = [-0.2, -0.1, 0.0, 0.1, 0.2, 0.5].map(|ahead| expected_gain(ahead, 0.1));
        assert!(gains.is_sorted_by(|left, right| left > right), "{gains:?}");
        assert!(gains[0] > 0.2 && gains[5] < 1e-6, "{gains:?}");
        assert!(expected_gain(0.1, 0.2) > expected_gain(0.1, 0.1));
    }
}
