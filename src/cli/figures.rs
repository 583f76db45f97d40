//! Figures: the papers' experiments by name, and the files to which plots are written.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use lab::figures::{Experiment, FIGURES};
use lab::report::Figure;
use warp_spmv::io::replace_file;

use super::error::Error;
use super::output;

/// The values of `--figure`.
#[derive(Clone, Copy, Debug)]
pub enum Asked {
    One(Experiment),
    All,
}

const ALL: &str = "all";

/// Accepts the name of an experiment, or all; the help has a line for each.
pub fn parser() -> impl TypedValueParser<Value = Asked> {
    let one = |experiment: &Experiment| {
        PossibleValue::new(experiment.name).help(format!("{}: {}", experiment.source, experiment.title))
    };
    let all = PossibleValue::new(ALL).help("Every one of them");
    PossibleValuesParser::new(FIGURES.iter().map(one).chain([all])).try_map(|name| match name.as_str() {
        ALL => Ok(Asked::All),
        name => name.parse().map(Asked::One),
    })
}

/// The requested experiments.
pub fn experiments(asked: &[Asked]) -> Vec<Experiment> {
    let of = |asked: &Asked| match asked {
        Asked::One(experiment) => vec![*experiment],
        Asked::All => FIGURES.to_vec(),
    };
    asked.iter().flat_map(of).collect()
}

/// Checks, before the work, that the folder exists or can be created.
pub fn check_folder(folder: &Path) -> Result<(), Error> {
    match folder.metadata() {
        Ok(metadata) if metadata.is_dir() => Ok(()),
        Ok(_) => Err(file_error(folder, io::ErrorKind::NotADirectory.into())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => output::check_folder(folder),
        Err(error) => Err(file_error(folder, error)),
    }
}

/// Writes each figure as a file into the folder, which is created if missing. Returns their paths.
pub fn write(figures: Vec<Figure>, folder: &Path) -> Result<Vec<PathBuf>, Error> {
    if !folder.is_dir() {
        fs::create_dir(folder).map_err(|error| file_error(folder, error))?;
    }
    let mut paths = Vec::new();
    for figure in figures {
        let path = folder.join(figure.file_name());
        replace_file(&path, |file| file.write_all(figure.svg.as_bytes()))?;
        paths.push(path);
    }
    Ok(paths)
}

fn file_error(path: &Path, source: io::Error) -> Error {
    warp_spmv::Error::File { path: path.into(), source }.into()
}
