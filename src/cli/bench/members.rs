//! The matrices to measure.

use std::ffi::OsString;

use clap::ValueEnum;
use lab::measure::{Chosen, UNIT, standard};
use lab::record::Entry;
use lab::suite::{self, Suite};
use lab::{figures, folder};
use warp_spmv::{Format, Multivector};

use super::arguments::{ALL_NAME, Arguments, Formats, Suites};
use crate::cli::error::Error;
use crate::cli::figures::experiments;
use crate::cli::input::Source;
use crate::cli::precision::AnyPrecision;

/// A matrix to measure.
pub struct Matrix {
    pub source: Source,
    pub family: Option<String>,
    pub wanted: Vec<Wanted>,
}

/// The measurements of a matrix in one precision.
#[derive(Clone)]
pub struct Wanted {
    pub precision: AnyPrecision,
    pub formats: Vec<Format>,
    pub peers: Chosen,
    /// Vectors that are multiplied at once, besides one.
    pub shapes: Vec<Multivector>,
}

impl Wanted {
    /// Whether an entry has all products with several vectors: those of every format in which it was multiplied, and
    /// those of the wanted ones among `peers`.
    pub fn are_products_in(&self, entry: &Entry, peers: &[&str]) -> bool {
        let formats = self.formats.iter().chain([&UNIT]).filter(|format| format.multiplies_multivectors());
        let stored = |name: &String| entry.spmv.get(name).is_some_and(|run| run.storage.is_some());
        let own = formats.map(Format::to_string).filter(stored);
        let peers = peers.iter().filter(|name| self.peers.has(name)).map(|&name| name.to_owned());
        own.chain(peers).all(|name| self.shapes.iter().all(|&shape| entry.product(&name, shape).is_some()))
    }

    /// Approximate amount of work.
    pub fn weight(&self, source: &Source) -> f64 {
        source.weight() * self.formats.len() as f64
    }
}

/// The requested matrices. Generators' texts are checked before anything is measured.
pub fn members(arguments: &Arguments) -> Result<Vec<Matrix>, Error> {
    let chooses = arguments.format.iter().any(|asked| matches!(asked, Formats::One(Format::Auto)));
    if arguments.multiplications.is_some() && !chooses {
        return Err(Error::Usage("--multiplications requires --format auto".into()));
    }
    if !arguments.figure.is_empty() {
        return Ok(of_figures(arguments));
    }
    let mut formats: Vec<_> = arguments.sweep.iter().flat_map(|sweep| sweep.formats()).collect();
    if arguments.format.is_empty() && arguments.sweep.is_empty() {
        formats.extend(standard());
    }
    for asked in &arguments.format {
        match asked {
            Formats::One(format) => formats.push(*format),
            Formats::Standard => formats.extend(standard()),
            Formats::All => formats.extend(Format::ALL),
        }
    }
    let mut precisions = arguments.precision.clone();
    if precisions.is_empty() {
        precisions.extend([AnyPrecision::Float64, AnyPrecision::Float32]);
    }
    let peers = peers(arguments).unwrap_or(Chosen::All);
    let all = Wanted { precision: AnyPrecision::Float64, formats, peers, shapes: arguments.shapes() };
    let wanted: Vec<_> = precisions.into_iter().map(|precision| Wanted { precision, ..all.clone() }).collect();
    let matrix = |text: OsString, family: Option<String>| {
        let source = Source::new(text);
        source.check()?;
        Ok(Matrix { source, family, wanted: wanted.clone() })
    };
    if !arguments.matrix.is_empty() {
        let family = |text: &OsString| Some(suite::family_of(text.to_str()?)?.to_owned());
        return arguments.matrix.iter().map(|text| matrix(text.clone(), family(text))).collect();
    }
    match (arguments.suite.unwrap_or(Suites::Generated(Suite::Quick)), &arguments.folder) {
        (Suites::Generated(_), Some(_)) => Err(Error::Usage("--folder requires --suite real".into())),
        (Suites::Generated(suite), None) => {
            let members = suite.members().into_iter();
            members.map(|member| matrix(member.text.into(), Some(member.family.to_owned()))).collect()
        }
        (Suites::Real, None) => {
            Err(Error::Usage("--suite real requires --folder, which scripts/real-matrices.py creates".into()))
        }
        (Suites::Real, Some(folder)) => {
            let stored = folder::matrices(folder)?.into_iter();
            stored.map(|stored| matrix(stored.path.into(), Some(stored.family))).collect()
        }
    }
}

/// The requested peers; none if the option was not given.
fn peers(arguments: &Arguments) -> Option<Chosen> {
    match &arguments.peers[..] {
        [] => None,
        names if names.iter().any(|name| name == ALL_NAME) => Some(Chosen::All),
        names => Some(Chosen::Named(names.to_vec())),
    }
}

/// The matrices of the requested figures.
fn of_figures(arguments: &Arguments) -> Vec<Matrix> {
    let precisions: Vec<_> = arguments.precision.iter().map(|precision| precision.name()).collect();
    let known = |name: &str| AnyPrecision::value_variants().iter().copied().find(|precision| precision.name() == name);
    let tasks = figures::tasks(&experiments(&arguments.figure), &precisions);
    let members = tasks.into_iter().map(|task| {
        let shown = || Chosen::Named(task.peers.iter().map(|&name| name.to_owned()).collect());
        let peers = peers(arguments).unwrap_or_else(shown);
        let wanted = task.formats.into_iter().filter_map(|(name, formats)| {
            Some(Wanted { precision: known(name)?, formats, peers: peers.clone(), shapes: arguments.shapes() })
        });
        Matrix {
            family: suite::family_of(&task.text).map(str::to_owned),
            wanted: wanted.collect(),
            source: Source::new(task.text.into()),
        }
    });
    members.collect()
}
