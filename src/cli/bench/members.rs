//! What is to be measured.

use clap::ValueEnum;
use lab::figures;
use lab::measure::{Chosen, standard};
use lab::suite::{self, Suite};
use warp_spmv::Format;

use super::{ALL_NAME, Arguments, Formats};
use crate::cli::error::Error;
use crate::cli::figures::experiments;
use crate::cli::input::Source;
use crate::cli::run::Precision;

/// A matrix to measure.
pub struct Matrix {
    pub source: Source,
    pub family: Option<&'static str>,
    pub wanted: Vec<Wanted>,
}

/// What is measured of a matrix in one precision.
#[derive(Clone)]
pub struct Wanted {
    pub precision: Precision,
    pub formats: Vec<Format>,
    pub peers: Chosen,
}

impl Wanted {
    /// About how much work it is.
    pub fn weight(&self, source: &Source) -> f64 {
        source.weight() * self.formats.len() as f64
    }
}

/// The matrices that are asked for. Generators' texts are checked before anything is measured.
pub fn members(arguments: &Arguments) -> Result<Vec<Matrix>, Error> {
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
        precisions.extend([Precision::Float64, Precision::Float32]);
    }
    let peers = peers(arguments).unwrap_or(Chosen::All);
    let wanted =
        precisions.into_iter().map(|precision| Wanted { precision, formats: formats.clone(), peers: peers.clone() });
    let wanted: Vec<_> = wanted.collect();
    if arguments.matrix.is_empty() {
        let members = arguments.suite.unwrap_or(Suite::Quick).members().into_iter();
        let matrix = |member: suite::Member| Matrix {
            source: Source::new(member.text.into()),
            family: Some(member.family),
            wanted: wanted.clone(),
        };
        return Ok(members.map(matrix).collect());
    }
    let members = arguments.matrix.iter().map(|matrix| {
        let family = matrix.to_str().and_then(suite::family_of);
        let source = Source::new(matrix.clone());
        source.check()?;
        Ok(Matrix { source, family, wanted: wanted.clone() })
    });
    members.collect()
}

/// The peers that are asked for; none where nothing is said of them.
fn peers(arguments: &Arguments) -> Option<Chosen> {
    match &arguments.peers[..] {
        [] => None,
        names if names.iter().any(|name| name == ALL_NAME) => Some(Chosen::All),
        names => Some(Chosen::Named(names.to_vec())),
    }
}

/// The matrices of the figures that are asked for.
fn of_figures(arguments: &Arguments) -> Vec<Matrix> {
    let precisions: Vec<_> = arguments.precision.iter().map(|precision| precision.name()).collect();
    let known = |name: &str| Precision::value_variants().iter().copied().find(|precision| precision.name() == name);
    let tasks = figures::tasks(&experiments(&arguments.figure), &precisions);
    let members = tasks.into_iter().map(|task| {
        let shown = || Chosen::Named(task.peers.iter().map(|&name| name.to_owned()).collect());
        let peers = peers(arguments).unwrap_or_else(shown);
        let wanted = task
            .formats
            .into_iter()
            .filter_map(|(name, formats)| Some(Wanted { precision: known(name)?, formats, peers: peers.clone() }));
        Matrix { family: suite::family_of(&task.text), wanted: wanted.collect(), source: Source::new(task.text.into()) }
    });
    members.collect()
}
