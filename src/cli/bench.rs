//! `warp-spmv bench`: measures many matrices in many formats, and keeps the results in a file.

mod arguments;
mod members;
mod ranks;
mod summary;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use lab::measure::{Bench, Case, Chosen, Settings, UNIT};
use lab::peers::{Absent, Peer, Peers};
use lab::record::Entry;
use lab::results;
use lab::subject::{self, Subject, SubjectVisitor};
use lab::timing::Effort;
use warp_spmv::executor::ExecutorName;
use warp_spmv::io::{Number, in_turn};
use warp_spmv::{Complex, Csr, Format, Scalar, ValueStorage};

pub use arguments::{Arguments, TUNING_EFFORT};

use arguments::NONE_NAME;
use members::{Matrix, Wanted};
use summary::{compared, of_products, potential, shape, summary};

use super::error::Error;
use super::figures;
use super::output::{self, printable};
use super::pace::Pace;
use super::precision::in_precision;
use super::progress::Progress;

pub const EXAMPLES: &str = "\
Examples:
  warp-spmv bench
  warp-spmv bench --suite large --out results.json
  warp-spmv bench --suite large --out results.json --resume
  warp-spmv bench --suite real --folder matrices --out results.json
  warp-spmv bench --suite large --format all --format auto --multiplications 100 --out results.json
  warp-spmv bench --figure bg-13 --figure cmrs-7 --out results.json --svg figures
  warp-spmv bench --matrix 1138_bus.mtx --matrix stencil:27:100 --format csr-vector --format sell-p:slice=32
  warp-spmv bench --matrix 1138_bus.mtx --sweep cmrs-heights --threads-per-block 128
  warp-spmv bench --suite large --vectors 4,8,16,32 --layout row-major --peers cusparse --out results.json
  warp-spmv bench --executor cpu --precision float64 --format all --json > results.json";

/// The work to do, whatever the executor.
struct Job<'a> {
    arguments: &'a Arguments,
    members: Vec<Matrix>,
    effort: Effort,
    /// Entries measured before, or so far.
    entries: Vec<Entry>,
    /// Outcome of the measurements so far.
    tally: Tally,
}

/// The outcomes that determine the exit code.
#[derive(Default)]
struct Tally {
    wrong: BTreeSet<String>,
    failed: BTreeSet<String>,
}

pub fn bench(arguments: &Arguments) -> Result<(), Error> {
    let experiments = figures::experiments(&arguments.figure);
    let folder = arguments.svg.as_deref().or_else(|| arguments.out.as_ref()?.parent());
    let folder = folder.filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !experiments.is_empty() {
        figures::check_folder(folder)?;
    }
    let Job { entries, tally, .. } = job(arguments)?;
    let compared = || if arguments.vectors.is_empty() { String::new() } else { compared(&entries) };
    let told = || potential(&arguments.sweep, &entries) + &compared();
    output::print(&if arguments.json { output::json(&entries) } else { told() })?;
    if !experiments.is_empty() {
        let drawn = experiments.iter().map(|experiment| experiment.draw(&entries));
        for path in figures::write(drawn.collect::<Result<_, _>>()?, folder)? {
            if !arguments.json {
                output::print(&format!("{}\n", printable(&path.to_string_lossy())))?;
            }
        }
    }
    tally.verdict()
}

/// Returns the measurements if all went well.
pub fn measure(arguments: &Arguments) -> Result<Vec<Entry>, Error> {
    let Job { entries, tally, .. } = job(arguments)?;
    tally.verdict().map(|()| entries)
}

/// Measures what was requested on each executor.
fn job(arguments: &Arguments) -> Result<Job<'_>, Error> {
    if arguments.ranks.is_some() {
        ranks::check(arguments)?;
    }
    let mut job = Job::new(arguments)?;
    let mut names = arguments.executor.clone();
    if names.is_empty() {
        names.push(if cfg!(feature = "cuda") { ExecutorName::Cuda } else { ExecutorName::Cpu });
    }
    let mut measure = |name| match arguments.ranks {
        Some(ranks) => job.on_ranks(name, ranks).map(Ok),
        None => subject::with_tuning(name, arguments.grids.asked(), &mut job),
    };
    for name in names {
        match measure(name) {
            Err(warp_spmv::Error::Unavailable { reason, .. }) if arguments.executor.is_empty() => {
                output::say(&format!("no GPU: {reason}, measuring on the CPU"));
                measure(ExecutorName::Cpu)??;
            }
            done => done??,
        }
    }
    Ok(job)
}

impl Tally {
    fn verdict(self) -> Result<(), Error> {
        let [wrong, failed] = [self.wrong, self.failed].map(|names| names.into_iter().collect::<Vec<_>>());
        if wrong.is_empty() && failed.is_empty() { Ok(()) } else { Err(Error::Formats { wrong, failed }) }
    }
}

impl<'a> Job<'a> {
    fn new(arguments: &'a Arguments) -> Result<Self, Error> {
        let mut entries = Vec::new();
        if let Some(out) = &arguments.out {
            output::check_files([out], arguments.matrix.iter().map(Path::new))?;
            let exists = out.try_exists().map_err(|source| warp_spmv::Error::File { path: out.clone(), source })?;
            if exists && arguments.resume {
                entries = results::read(out)?;
            } else if exists {
                let out = printable(&out.to_string_lossy());
                return Err(Error::Usage(format!("{out} exists: continue it with --resume, or give another --out")));
            }
        }
        let effort = arguments.effort();
        let members = members::members(arguments)?;
        Ok(Self { arguments, members, effort, entries, tally: Tally::default() })
    }

    /// The measurements of a matrix that are still missing, with the peers that are available in each precision. If an
    /// entry lacks something, everything in it is measured again together with what it lacks, so that all of it is from the
    /// same time.
    fn open(&self, matrix: &Matrix, executor: &str, peers: &BTreeMap<&str, Available>) -> Vec<Wanted> {
        let name = matrix.source.name();
        let open = matrix.wanted.iter().filter_map(|wanted| {
            let Wanted { mut formats, peers: mut chosen, mut shapes, .. } = wanted.clone();
            let is_same =
                |entry: &&Entry| is_of(entry, &name, executor, wanted.precision.name()) && entry.env.ranks.is_none();
            if let Some(entry) = self.entries.iter().find(is_same) {
                let Available { single: peers, block: block_peers, .. } = &peers[wanted.precision.name()];
                let own = wanted.formats.iter().chain([&UNIT]).map(Format::to_string);
                let peers = peers.iter().filter(|name| wanted.peers.has(name)).map(|&name| name.to_owned());
                // A choice for another number of multiplications does not count.
                let asked = self.arguments.multiplications();
                let has = |name: String| {
                    entry.spmv.get(&name).is_some_and(|run| run.multiplications.is_none_or(|number| number == asked))
                };
                if own.chain(peers).all(has) && wanted.are_products_in(entry, block_peers) {
                    return None;
                }
                shapes.extend(entry.shapes().into_iter().filter(|shape| !wanted.shapes.contains(shape)));
                for name in entry.spmv.keys().chain(entry.products.keys()) {
                    match (name.parse(), &mut chosen) {
                        (Ok(format), _) if formats.contains(&format) => {}
                        (Ok(format), _) => formats.push(format),
                        (Err(_), Chosen::Named(names)) => names.push(name.clone()),
                        (Err(_), Chosen::All) => {}
                    }
                }
            }
            Some(Wanted { formats, peers: chosen, shapes, ..*wanted })
        });
        open.collect()
    }

    /// Replaces an incomplete entry by a new one, and saves all.
    fn keep(&mut self, entry: Entry) -> Result<(), Error> {
        let same = |old: &Entry| {
            let Entry { filename, env, .. } = &entry;
            is_of(old, filename, &env.executor, &env.precision) && old.env.ranks == env.ranks
        };
        let take = |entries: &mut Vec<Entry>| {
            entries.retain(|old| !same(old));
            entries.push(entry.clone());
        };
        let Some(out) = &self.arguments.out else {
            take(&mut self.entries);
            return Ok(());
        };
        in_turn(out, || {
            // Another process may have stored results there in the meantime.
            if out.exists() {
                self.entries = results::read(out)?;
            }
            take(&mut self.entries);
            Ok(results::write(out, &self.entries)?)
        })
    }
}

/// The names of the peers in one precision.
struct Available {
    single: Vec<&'static str>,
    /// For several vectors.
    block: Vec<&'static str>,
    absent: Vec<Absent>,
}

/// Returns the peers that suit what is to be measured.
fn available<T: Scalar>(subject: &impl Subject, arguments: &Arguments) -> Available {
    let names = |present: &[Box<dyn Peer<T, _> + '_>]| present.iter().map(|peer| peer.name()).collect();
    let Peers { present, mut absent } = subject.peers::<T>(arguments.values.storage());
    let (single, mut block) = (names(&present), Vec::new());
    if let Some(&shape) = arguments.shapes().first() {
        let peers = subject.multivector_peers::<T>(shape);
        block = names(&peers.present);
        absent.extend(peers.absent);
    }
    Available { single, block, absent }
}

fn is_of(entry: &Entry, name: &str, executor: &str, precision: &str) -> bool {
    entry.filename == name && entry.env.executor == executor && entry.env.precision == precision
}

impl SubjectVisitor for &mut Job<'_> {
    type Output = Result<(), Error>;

    fn visit<S: Subject>(self, subject: &S) -> Self::Output {
        let executor = subject.name().name();
        let other = self
            .entries
            .iter()
            .find(|entry| entry.env.executor == executor && entry.env.device != subject.device().name);
        if let Some(Entry { env, .. }) = other {
            let here = &subject.device().name;
            return Err(Error::Usage(format!(
                "the results to resume are from {}, but this is {here}: give another --out",
                printable(&env.device)
            )));
        }
        let grids = self.arguments.grids.asked();
        let tuned = |entry: &&Entry| entry.env.executor == executor && entry.env.tuning != grids.if_any();
        if let Some(Entry { env, .. }) = self.entries.iter().find(tuned) {
            let theirs = env.tuning.unwrap_or_default();
            return Err(Error::Usage(format!(
                "the results to resume are from {theirs}, but this is {grids}: give another --out"
            )));
        }
        let mut bench = None;
        let mut peers = BTreeMap::new();
        for precision in self.members.iter().flat_map(|member| &member.wanted).map(|wanted| wanted.precision) {
            let found = || in_precision!(precision, available(subject, self.arguments));
            peers.entry(precision.name()).or_insert_with(found);
        }
        let mut absent: Vec<Absent> = Vec::new();
        for one in peers.values().flat_map(|available| &available.absent) {
            if !absent.contains(one) {
                absent.push(one.clone());
            }
        }
        let asked = !self.arguments.peers.is_empty() && self.arguments.peers != [NONE_NAME];
        if asked || cfg!(feature = "peers") {
            absent.iter().for_each(|Absent { library, reason }| output::say(&format!("no {library}: {reason}")));
        }
        let open = self
            .members
            .iter()
            .map(|member| (member, self.open(member, executor, &peers)))
            .map(|(member, open)| (member.source.clone(), member.family.clone(), open));
        let open: Vec<_> = open.filter(|(_, _, wanted)| !wanted.is_empty()).collect();
        let weights = open.iter().flat_map(|(source, _, open)| open.iter().map(|wanted| wanted.weight(source)));
        let mut pace = Pace::new(weights.sum());
        for (source, family, wanted) in open {
            // Ceilings are measured only if there is something to compare with them.
            let bench = match &mut bench {
                Some(bench) => bench,
                empty => empty.insert(Bench::new(subject)?.tuned(grids)),
            };
            self.measure(bench, &Matrix { source, family, wanted }, &mut pace)?;
        }
        Ok(())
    }
}

impl Job<'_> {
    /// Measures one matrix.
    fn measure<S: Subject>(&mut self, bench: &mut Bench<'_, S>, matrix: &Matrix, pace: &mut Pace) -> Result<(), Error> {
        let (complex, real): (Vec<_>, _) = matrix.wanted.iter().partition(|wanted| wanted.precision.is_complex());
        self.measure_in::<f64, f32, S>(bench, matrix, &real, pace)?;
        self.measure_in::<Complex<f64>, Complex<f32>, S>(bench, matrix, &complex, pace)
    }

    /// Measures one matrix in the precisions `W`, in which it is read, and `N`.
    fn measure_in<W: Number, N: Number, S: Subject>(
        &mut self,
        bench: &mut Bench<'_, S>,
        Matrix { source, family, .. }: &Matrix,
        wanted: &[&Wanted],
        pace: &mut Pace,
    ) -> Result<(), Error> {
        if wanted.is_empty() {
            return Ok(());
        }
        let (name, family) = (source.name(), family.as_deref());
        let matrix =
            source.load::<W>().and_then(|input| Ok(input.matrix.into_csr()?)).map_err(|error| error.to_string());
        for wanted in wanted {
            let is_wide = wanted.precision.name() == W::NAME;
            let entry = match &matrix {
                Ok(matrix) if is_wide => self.entry(bench, &name, family, matrix, wanted),
                Ok(matrix) => match matrix.cast::<N>() {
                    Ok(matrix) => self.entry(bench, &name, family, &matrix, wanted),
                    Err(error) => bench.missing::<N>(&name, family, error.to_string()),
                },
                Err(error) if is_wide => bench.missing::<W>(&name, family, error.clone()),
                Err(error) => bench.missing::<N>(&name, family, error.clone()),
            };
            pace.done(wanted.weight(source));
            self.tell(&entry, pace)?;
            self.keep(entry)?;
        }
        Ok(())
    }

    fn entry<T: Number, S: Subject>(
        &self,
        bench: &mut Bench<'_, S>,
        name: &str,
        family: Option<&str>,
        matrix: &Csr<T>,
        wanted: &Wanted,
    ) -> Entry {
        let progress = Progress::times(format!("{}, {}", printable(name), T::NAME));
        let total = wanted.formats.len() as u64;
        let mut done = 0;
        let values = self.arguments.values.storage();
        let mut rounded = None;
        if let ValueStorage::Rounded(narrow_type) = values {
            let copy = matrix.try_clone().and_then(|mut copy| copy.round_values(narrow_type).map(|_| copy));
            match copy {
                Ok(copy) => rounded = Some(copy),
                Err(error) => return bench.missing::<T>(name, family, error.to_string()),
            }
        }
        // The correct result is the product of the values as stored.
        let case = Case { name, family, matrix: rounded.as_ref().unwrap_or(matrix) };
        let Wanted { formats, peers, shapes, .. } = wanted.clone();
        let (multiplications, samples) = (self.arguments.multiplications(), self.arguments.samples);
        let settings = Settings { formats, multiplications, shapes, values, peers, effort: self.effort, samples };
        let entry = bench.measure(&case, &settings, &mut |_, _| {
            done += 1;
            progress.update(done, total.max(done));
        });
        entry.unwrap_or_else(|error| bench.missing::<T>(name, family, error.to_string()))
    }

    /// Prints a line for an entry, and records what went wrong in it.
    fn tell(&mut self, entry: &Entry, pace: &Pace) -> Result<(), Error> {
        let of = format!("{} {}", printable(&entry.filename), entry.env.precision);
        if let Some(error) = &entry.error {
            output::say(&format!("{of}: {error}"));
            self.tally.failed.insert(entry.filename.clone());
        }
        let products = entry.products.iter().flat_map(|(name, all)| all.iter().map(move |product| (name, product)));
        let products = products.map(|(name, product)| (name, format!(", {}", shape(product.shape())), &product.run));
        let runs = entry.spmv.iter().map(|(format, run)| (format, String::new(), run));
        for (format, shape, run) in runs.chain(products) {
            if run.is_wrong() || run.has_failed() {
                output::say(&format!("{of}, {format}{shape}: {}", run.error.as_deref().unwrap_or_default()));
            }
            if run.is_wrong() {
                self.tally.wrong.insert(format.clone());
            } else if run.has_failed() {
                self.tally.failed.insert(format.clone());
            }
        }
        if self.arguments.json {
            return Ok(());
        }
        let summary = summary(entry, &self.arguments.sweep);
        output::print(&format!("{} {of}: {summary}\n{}", pace.left(), of_products(entry)))
    }
}
