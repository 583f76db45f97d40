//! Quality of the choice of a format, judged by results.

use std::fmt::{self, Display};

use host::Format;
use host::executor::ExecutorName;
use host::select::{Calibration, Choice, Machine, Outcomes, Selection, choose_with};

use super::blocked::{BENCHMARK_FAMILY, Blocked, BlockedCheck, Models};
use super::{Measurement, fit};
use crate::error::Error;
use crate::record::{Entry, Run};

/// With fewer formats than this, a matrix does not allow judging the choice.
pub(crate) const FEWEST_FORMATS: usize = 10;

/// One matrix in this number is held out of the calibration.
const HELD_OUT_ONE_OF: u64 = 3;

/// Numbers of multiplications planned where formats are tried.
const PLANNED: [u64; 2] = [1_000, 10_000];

/// Number of matrices whose loss is listed.
const TOLD: usize = 10;

/// Returns whether a matrix is held out of every calibration, to see the quality for matrices that were not fitted. Its
/// name without its size decides: a larger matrix of the same kind tells too much about it.
pub fn is_held_out(name: &str) -> bool {
    let kind = name.split_once(":times=").map_or(name, |(kind, _)| kind).trim_end_matches(':');
    // FNV-1a.
    let hash = kind
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    (hash >> 32).is_multiple_of(HELD_OUT_ONE_OF)
}

/// The results that allow judging the choice of a format: those of one device, with analyses of the matrices.
pub struct Sample<'a> {
    device: &'a str,
    machine: Machine,
    entries: Vec<&'a Entry>,
    /// Number of unusable entries.
    pub left_out: usize,
}

impl<'a> Sample<'a> {
    /// Takes the usable entries.
    ///
    /// # Errors
    /// When there are none, or they are of several devices.
    pub fn new(entries: &'a [Entry]) -> Result<Self, Error> {
        let useful = |entry: &&Entry| entry.analysis.is_some() && entry.env.resident_threads.is_some();
        let useful: Vec<_> = entries.iter().filter(useful).collect();
        let refused = |reason: String| Error::Calibration { reason };
        let Some(first) = useful.first() else {
            return Err(refused(
                "no entry has an analysis of its matrix, as written by `bench` of this version".into(),
            ));
        };
        let device = &*first.env.device;
        if let Some(other) = useful.iter().find(|entry| entry.env.device != device) {
            return Err(refused(format!("the results are of {device} and of {}", other.env.device)));
        }
        let machine = Machine {
            has_kernels: !matches!(first.env.executor.parse(), Ok(ExecutorName::Cpu | ExecutorName::Reference)),
            resident_threads: first.env.resident_threads.unwrap_or(1),
            cache_bytes: first.env.cache_bytes.unwrap_or(0),
            shared_bytes: None,
        };
        let left_out = entries.len() - useful.len();
        Ok(Self { device, machine, entries: useful, left_out })
    }

    /// Returns the calibration that fits all matrices that are not [held out](is_held_out), or all of them.
    pub fn calibration(&self, all: bool) -> Calibration {
        let mut measurements = Vec::new();
        let counts = |entry: &&&Entry| {
            let is_benchmark = entry.family.as_deref() == Some(BENCHMARK_FAMILY);
            !is_benchmark && (all || !is_held_out(&entry.filename))
        };
        for entry in self.entries.iter().filter(counts) {
            let Some(analysis) = &entry.analysis else { continue };
            for (format, run, seconds) in timed(entry) {
                let conversion = run.conversion.as_ref().map(|conversion| conversion.warm);
                measurements.push(Measurement { analysis, format, seconds, conversion });
            }
        }
        fit(self.device, &self.machine, &measurements)
    }

    /// Returns the losses of the choices of several rules against the fastest format.
    pub fn accuracy(&self, calibration: &Calibration) -> Accuracy {
        let mut accuracy = Accuracy::default();
        let blocked = Models::new(&self.entries, &self.machine, calibration);
        for entry in &self.entries {
            accuracy.add(entry, &self.machine, calibration, &blocked);
        }
        accuracy
    }

    /// Judges the model of Choi, Singh & Vuduc 2010, §6, for BELLPACK and BCSR, made from the dense matrices here.
    pub fn blocked(&self, calibration: &Calibration) -> BlockedCheck {
        BlockedCheck::new(&self.entries, &self.machine, calibration)
    }
}

/// Returns our own formats with a time, except aliases and those with parameters not covered by an analysis, which covers
/// all of BELLPACK's.
pub(super) fn timed(entry: &Entry) -> impl Iterator<Item = (Format, &Run, f64)> {
    let own = entry.spmv.iter().filter(|(_, run)| !run.is_peer());
    own.filter_map(|(name, run)| {
        let known = |format: &Format| Format::ALL.contains(format) || matches!(format, Format::Bellpack(_));
        let format = name.parse().ok().filter(known).filter(|&format| format != Format::CSR_AUTOMATIC)?;
        Some((format, run, run.seconds()?))
    })
}

/// Returns the seconds of the conversion from CSR, if the format needs none or they were measured.
fn converted(format: Format, run: &Run) -> Option<f64> {
    let is_csr = format.storage() == Format::CSR_SCALAR.storage();
    run.conversion.as_ref().map(|conversion| conversion.warm).or(is_csr.then_some(0.0))
}

/// Measured times of the formats for one matrix.
struct Measured(Vec<Own>);

/// One of our own formats.
struct Own {
    format: Format,
    /// Seconds of a multiplication.
    multiply: f64,
    /// Seconds of the conversion from CSR.
    conversion: Option<f64>,
}

impl Measured {
    fn of(entry: &Entry) -> Self {
        let own = |(format, run, multiply)| Own { format, multiply, conversion: converted(format, run) };
        Self(timed(entry).map(own).collect())
    }

    fn find(&self, format: Format) -> Option<&Own> {
        self.0.iter().find(|own| own.format == format)
    }

    /// Returns the seconds of a multiplication.
    fn multiply(&self, format: Format) -> Option<f64> {
        self.find(format).map(|own| own.multiply)
    }

    /// Returns the formats that give the same bits every time: ours may not add atomically, those of the papers' rules may.
    fn reproducible(&self) -> impl Iterator<Item = &Own> {
        self.0.iter().filter(|own| own.format.reproducible())
    }

    /// Returns the loss of a choice that tried these formats against the least time, for `count` products, the conversion,
    /// and all trials with theirs.
    fn loss_in_all(&self, choice: &Choice, tried: &[(Format, Option<f64>)], count: u64) -> Option<f64> {
        let in_all = |own: &Own| Some(count as f64 * own.multiply + own.conversion?);
        let least = self.reproducible().filter_map(in_all).min_by(f64::total_cmp)?;
        let trial = |&(format, multiply): &(Format, Option<f64>)| {
            // What is chosen is converted once.
            let converted = if format == choice.format { 0.0 } else { self.find(format)?.conversion? };
            Some(converted + choice.trial_seconds(multiply.unwrap_or(0.0)))
        };
        let trials: f64 = tried.iter().map(trial).sum::<Option<f64>>()?;
        Some((in_all(self.find(choice.format)?)? + trials) / least - 1.0)
    }
}

/// A rule for choosing a format, and the losses of its choices against the fastest, or against the format with the least time
/// of all products and the conversion.
struct Rule {
    name: &'static str,
    /// For matrices of the calibration, and for held-out ones: the loss, as a fraction of the best time.
    losses: [Vec<f64>; 2],
}

/// Quality of choices, compared with the fastest of all measured formats that give the same bits every time.
#[derive(Default)]
pub struct Accuracy {
    rules: Vec<Rule>,
    /// The losses of our own choice: matrix and precision, chosen and fastest format.
    own: Vec<(f64, String)>,
}

impl Accuracy {
    fn add(&mut self, entry: &Entry, machine: &Machine, calibration: &Calibration, blocked: &Models<'_>) {
        let Some(analysis) = &entry.analysis else { return };
        let measured = Measured::of(entry);
        let seconds = |format: Format| measured.multiply(format);
        let times: Vec<_> = measured.reproducible().map(|own| (own.format, own.multiply)).collect();
        let Some(&(fastest, best)) = times.iter().min_by(|left, right| left.1.total_cmp(&right.1)) else { return };
        if times.len() < FEWEST_FORMATS {
            return;
        }
        let among = times.iter().map(|&(format, _)| format).collect();
        // Times of products are judged, so conversions must not count.
        let selection = Selection { among, multiplications: None, store: None, ..Selection::default() };
        let Ok(choice) = choose_with(analysis, machine, calibration, &Outcomes::new(), &selection) else { return };
        let best_of = |count: usize| {
            choice.possible().take(count).filter_map(|candidate| seconds(candidate.format)).min_by(f64::total_cmp)
        };
        let [thousand, ten_thousand] = PLANNED.map(|count| {
            let selection = Selection { multiplications: Some(count), ..selection.clone() };
            let mut choice = choose_with(analysis, machine, calibration, &Outcomes::new(), &selection).ok()?;
            let tried = choice.try_with(seconds, &selection).ok()?;
            Some((seconds(choice.format)?, measured.loss_in_all(&choice, &tried, count)))
        });
        let least_bytes = choice
            .possible()
            .min_by_key(|candidate| candidate.traffic.needed)
            .and_then(|candidate| seconds(candidate.format));
        let formats = || times.iter().map(|&(format, _)| format);
        let bellpacks = || formats().filter(|format| matches!(Blocked::of(*format), Some(Blocked::Bellpack(..))));
        let chosen = blocked.choose(analysis, &bellpacks().filter_map(Blocked::of).collect::<Vec<_>>());
        let bellpack =
            bellpacks().find(|&format| Blocked::of(format) == chosen).filter(|_| chosen.is_some()).and_then(seconds);
        let best_bellpack = bellpacks().filter_map(seconds).min_by(f64::total_cmp);
        let hyb = "hyb-bell-garland".parse().ok().and_then(seconds);
        let unit = crate::measure::UNIT;
        let loss = |taken: Option<f64>| taken.map(|taken| taken / best - 1.0);
        for (name, loss) in [
            ("auto", loss(best_of(1))),
            ("auto, 2 measured", loss(best_of(2))),
            ("auto, 3 measured", loss(best_of(3))),
            ("auto for 10,000 multiplications", loss(ten_thousand.map(|(multiply, _)| multiply))),
            ("auto for 1,000, with conversions and trials", thousand.and_then(|(_, loss)| loss)),
            ("auto for 10,000, with conversions and trials", ten_thousand.and_then(|(_, loss)| loss)),
            ("fewest bytes", loss(least_bytes)),
            ("csr-vector", loss(seconds(unit))),
            ("csr-automatic (Anzt et al. 2020, Algorithm 2)", loss(seconds(analysis.resolve(Format::CSR_AUTOMATIC)))),
            ("hyb-bell-garland (Bell & Garland 2009, §3.5)", loss(hyb)),
            ("bellpack by its model (Choi, Singh & Vuduc 2010, §6)", loss(bellpack)),
            ("bellpack with the best size", loss(best_bellpack)),
        ] {
            let Some(loss) = loss else { continue };
            let losses = match self.rules.iter_mut().position(|rule| rule.name == name) {
                Some(place) => &mut self.rules[place].losses,
                None => {
                    self.rules.push(Rule { name, losses: Default::default() });
                    &mut self.rules.last_mut().expect("it was just pushed").losses
                }
            };
            losses[usize::from(is_held_out(&entry.filename))].push(loss);
        }
        if let Some(taken) = seconds(choice.format) {
            let (name, precision, format) = (&entry.filename, &entry.env.precision, choice.format);
            self.own.push((taken / best - 1.0, format!("{name} {precision}: {format}, fastest {fastest}")));
        }
    }
}

/// A table in Markdown, and the largest losses.
impl Display for Accuracy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| rule | matrices | number | within 5 % | within 15 % | mean loss | largest loss |")?;
        writeln!(f, "|---|---|---|---|---|---|---|")?;
        for Rule { name, losses } in &self.rules {
            for (of, losses) in ["calibration", "held out"].into_iter().zip(losses) {
                if losses.is_empty() {
                    continue;
                }
                let part = |limit: f64| {
                    100.0 * losses.iter().filter(|&&loss| loss <= limit).count() as f64 / losses.len() as f64
                };
                let mean = 100.0 * losses.iter().sum::<f64>() / losses.len() as f64;
                let largest = 100.0 * losses.iter().copied().fold(0.0, f64::max);
                let number = losses.len();
                let [five, fifteen] = [part(0.05), part(0.15)];
                writeln!(
                    f,
                    "| {name} | {of} | {number} | {five:.0} % | {fifteen:.0} % | {mean:.1} % | {largest:.0} % |"
                )?;
            }
        }
        let mut own: Vec<_> = self.own.iter().filter(|(loss, _)| *loss > 0.0).collect();
        own.sort_by(|left, right| right.0.total_cmp(&left.0));
        if !own.is_empty() {
            writeln!(f, "\nThe largest losses of auto:\n")?;
        }
        own.into_iter().take(TOLD).try_for_each(|(loss, text)| writeln!(f, "- {:.1} % {text}", 100.0 * loss))
    }
}
