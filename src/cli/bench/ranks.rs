//! Products on several ranks.

use lab::measure::environment;
use lab::record::{Entry, Environment, OWN, Optimal, Run, SCHEMA, is_own_format};
use lab::subject::{self, Subject, SubjectVisitor};
use warp_spmv::distributed::Route;
use warp_spmv::executor::ExecutorName;
use warp_spmv::io::Number;

use super::Job;
use super::arguments::{Arguments, NONE_NAME};
use super::members::{Matrix, Wanted};
use crate::cli::distributed::{self, Partition, Place, RunRequest, World, check_options};
use crate::cli::error::Error;
use crate::cli::factor::Factor;
use crate::cli::pace::Pace;
use crate::cli::precision::in_precision;

/// The reason why a disproportionately large format has no result.
const UNFIT: &str = "would take disproportionate memory on a rank";

/// Returns the environment of a rank's executor.
struct Here;

impl SubjectVisitor for Here {
    type Output = Environment;

    fn visit<S: Subject>(self, subject: &S) -> Self::Output {
        environment(subject)
    }
}

/// Refuses what is measured only on one rank.
pub fn check(arguments: &Arguments) -> Result<(), Error> {
    let peers = !arguments.peers.is_empty() && arguments.peers != [NONE_NAME];
    check_options(&[
        ("--figure", !arguments.figure.is_empty()),
        ("--vectors", !arguments.vectors.is_empty()),
        ("--peers", peers),
        ("--seconds", arguments.seconds.is_some()),
        ("--samples", arguments.samples),
    ])
}

impl Job<'_> {
    /// Measures what is still missing on `ranks` ranks, which are threads.
    pub fn on_ranks(&mut self, name: ExecutorName, ranks: u32) -> Result<(), warp_spmv::Error> {
        let here = subject::with_tuning(name, self.arguments.grids.asked(), Here)?;
        let here = Environment { ranks: Some(ranks), tuning: self.arguments.grids.asked().if_any(), ..here };
        let open = self.members.iter().map(|Matrix { source, family, wanted }| {
            let open = wanted.iter().filter(|wanted| !self.has(&source.name(), &here, wanted));
            Matrix { source: source.clone(), family: family.clone(), wanted: open.cloned().collect() }
        });
        let open: Vec<_> = open.collect();
        let weights = open.iter().flat_map(|member| member.wanted.iter().map(|wanted| wanted.weight(&member.source)));
        let mut pace = Pace::new(weights.sum());
        for member in &open {
            for wanted in &member.wanted {
                let entry = in_precision!(wanted.precision, entry_of_ranks(self, name, &here, member, wanted));
                pace.done(wanted.weight(&member.source));
                let kept = self.tell(&entry, &pace).and_then(|()| self.keep(entry));
                kept.map_err(|error| warp_spmv::Error::Operation(Box::new(error)))?;
            }
        }
        Ok(())
    }

    /// Whether all that is wanted was measured before.
    fn has(&self, name: &str, here: &Environment, wanted: &Wanted) -> bool {
        let precision = wanted.precision.name();
        let entry = self
            .entries
            .iter()
            .find(|entry| entry.filename == name && entry.env.precision == precision && entry.env.is_like(here));
        entry.is_some_and(|entry| wanted.formats.iter().all(|format| entry.spmv.contains_key(&format.to_string())))
    }
}

/// Measures a matrix on ranks.
fn entry_of_ranks<T: Number>(
    job: &Job<'_>,
    executor: ExecutorName,
    here: &Environment,
    Matrix { source, family, .. }: &Matrix,
    wanted: &Wanted,
) -> Entry {
    let unix_time = std::time::SystemTime::UNIX_EPOCH.elapsed().map_or(0, |elapsed| elapsed.as_secs());
    let env = Environment { precision: T::NAME.into(), unix_time, ..here.clone() };
    let mut entry = Entry { schema: SCHEMA, filename: source.name(), family: family.clone(), env, ..Entry::default() };
    let world = World::Threads(here.ranks.unwrap_or(1) as usize);
    for &format in &wanted.formats {
        let request = RunRequest::<T> {
            source,
            format,
            place: Place { executor, grids: job.arguments.grids, note: None },
            factors: (T::ONE, T::ZERO),
            told: (Factor::ONE, Factor::ZERO),
            repeats: Some(job.effort.repetitions as u32),
            values: job.arguments.values.storage(),
            x: None,
            output: None,
            route: Route::Auto,
            transposed: false,
            partition: Partition::Rows,
            timeline: false,
            json: false,
        };
        let run = match distributed::measured(world, &request) {
            Ok(Some((shape, run))) => {
                (entry.rows, entry.cols, entry.nonzeros) =
                    (shape.rows as u64, shape.columns as u64, shape.nonzeros as u64);
                Run { library: Some(OWN.into()), reproducible: Some(format.reproducible()), ..run }
            }
            Ok(None) => Run { error: Some(UNFIT.into()), refused: true, library: Some(OWN.into()), ..Run::default() },
            Err(error) => Run { error: Some(error.to_string()), library: Some(OWN.into()), ..Run::default() },
        };
        entry.spmv.insert(format.to_string(), run);
    }
    if entry.nonzeros == 0 && entry.rows == 0 {
        // Nothing was measured, and every format has its reason.
        entry.error = entry.spmv.values().find_map(|run| run.error.clone());
    }
    entry.optimal = entry.fastest(is_own_format).map(|(name, _)| Optimal { spmv: name.to_owned() });
    entry
}
