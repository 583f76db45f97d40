//! Data remembered between runs: calibrations, and which formats measured best.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::analysis::Analysis;
use super::calibration::{Calibration, model_of};
use super::sample::scramble;
use crate::device::Device;
use crate::error::Error;
use crate::format::{Format, NarrowType};
use crate::replace::{in_turn, replace_file};
use crate::small_file::read_text;

/// The folder in the user's data folder.
const FOLDER: &str = "warp-spmv";

/// Maximum number of matrices remembered.
const MOST_MATRICES: usize = 1000;

/// Maximum size of a file in bytes.
const LARGEST_FILE: u64 = 1 << 26;

/// A folder of remembered data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Store {
    folder: PathBuf,
}

/// Measured seconds of a multiplication, by the name of the format.
pub type Outcomes = BTreeMap<String, f64>;

/// Measured times of all matrices, as read once.
#[derive(Default)]
pub(super) struct Remembered(BTreeMap<String, Outcomes>);

impl Remembered {
    /// Those of a matrix with values of this type on a device.
    pub fn outcomes(&self, analysis: &Analysis, device: &Device, narrow: Option<NarrowType>) -> Outcomes {
        match self.0.is_empty() {
            true => Outcomes::new(),
            false => self.0.get(&fingerprint(analysis, device, narrow)).cloned().unwrap_or_default(),
        }
    }
}

impl Store {
    /// The store in the user's data folder, if the system provides one.
    pub fn of_user() -> Option<Self> {
        dirs::data_dir().map(|folder| Self::at(folder.join(FOLDER)))
    }

    /// A store in another folder, which need not exist yet.
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// The file of a device's calibration.
    pub fn calibration_path(&self, device: &str) -> PathBuf {
        let letters = model_of(device).chars().map(|letter| if letter.is_alphanumeric() { letter } else { '-' });
        self.folder.join(format!("calibration-{}.json", letters.collect::<String>().to_lowercase()))
    }

    /// The calibration of a device, if there is one.
    ///
    /// # Errors
    /// When the file exists but cannot be read or is not a calibration.
    pub fn calibration(&self, device: &Device) -> Result<Option<Calibration>, Error> {
        found(Calibration::read(&self.calibration_path(&device.name)))
    }

    /// Stores the calibration of its device, and returns the file's path.
    ///
    /// # Errors
    /// When the folder or the file cannot be written.
    pub fn keep_calibration(&self, calibration: &Calibration) -> Result<PathBuf, Error> {
        self.make_folder()?;
        let path = self.calibration_path(&calibration.device);
        calibration.write(&path).map(|()| path)
    }

    /// Measured times for a matrix with values of this type on a device, by the names of formats; empty if there are none.
    ///
    /// # Errors
    /// When the file exists but cannot be read.
    pub fn outcomes(
        &self,
        analysis: &Analysis,
        device: &Device,
        narrow: Option<NarrowType>,
    ) -> Result<Outcomes, Error> {
        Ok(self.remembered()?.outcomes(analysis, device, narrow))
    }

    /// Measured times of all matrices.
    pub(super) fn remembered(&self) -> Result<Remembered, Error> {
        self.all().map(Remembered)
    }

    /// Adds measured times for a matrix with values of this type on a device.
    ///
    /// # Errors
    /// When the file cannot be read or written.
    pub fn keep_outcomes(
        &self,
        analysis: &Analysis,
        device: &Device,
        narrow: Option<NarrowType>,
        measured: &[(Format, f64)],
    ) -> Result<(), Error> {
        self.make_folder()?;
        let path = self.outcomes_path();
        in_turn(&path, || {
            let mut all = self.all()?;
            let fingerprint = fingerprint(analysis, device, narrow);
            if all.len() >= MOST_MATRICES && !all.contains_key(&fingerprint) {
                all.pop_first();
            }
            let outcomes = all.entry(fingerprint).or_default();
            outcomes.extend(measured.iter().map(|&(format, seconds)| (format.to_string(), seconds)));
            replace_file(&path, |file| {
                serde_json::to_writer(&mut *file, &all)?;
                file.write_all(b"\n")
            })
        })
    }

    fn all(&self) -> Result<BTreeMap<String, Outcomes>, Error> {
        let path = self.outcomes_path();
        let Some(text) = found(text(&path, LARGEST_FILE))? else { return Ok(BTreeMap::new()) };
        let all: BTreeMap<String, Outcomes> =
            serde_json::from_str(&text).map_err(|error| Error::contents(&path, error.to_string()))?;
        match all.values().flatten().find(|&(_, &seconds)| seconds <= 0.0) {
            Some((format, seconds)) => {
                Err(Error::contents(&path, format!("{format} took {seconds} seconds, expected more than 0")))
            }
            None => Ok(all),
        }
    }

    fn outcomes_path(&self) -> PathBuf {
        self.folder.join("outcomes.json")
    }

    fn make_folder(&self) -> Result<(), Error> {
        fs::create_dir_all(&self.folder).map_err(|source| Error::File { path: self.folder.clone(), source })
    }
}

/// The text of a file, if it is no larger than any valid file.
pub(super) fn text(path: &Path, limit: u64) -> Result<String, Error> {
    read_text(path, limit).map_err(|source| Error::File { path: path.into(), source })
}

/// `None` if a file does not exist.
fn found<R>(read: Result<R, Error>) -> Result<Option<R>, Error> {
    match read {
        Ok(read) => Ok(Some(read)),
        Err(Error::File { source, .. }) if source.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// A number that two matrices share only if all their analysed properties are equal, on devices with the same name, in
/// this version of the library.
fn fingerprint(analysis: &Analysis, device: &Device, narrow: Option<NarrowType>) -> String {
    let mut numbers =
        vec![analysis.rows, analysis.columns, analysis.nnz, analysis.value_bytes, analysis.diagonals.count];
    // Complex numbers of 8 bytes use other kernels than real ones.
    numbers.extend(analysis.complex.then_some(1));
    numbers.extend(analysis.lengths.counts().iter().flat_map(|&(length, rows)| [length, rows]));
    numbers.extend(analysis.sums.lane_steps);
    numbers.extend(analysis.locality.reuse.iter().map(|&(_, sectors)| sectors.to_bits() as usize));
    numbers.extend(analysis.fills.iter().map(|fill| fill.blocks().to_bits() as usize));
    let texts = [Some(&*device.name), Some(env!("CARGO_PKG_VERSION")), narrow.map(NarrowType::name)];
    let bytes = texts.iter().flatten().flat_map(|text| text.bytes().chain([0])).map(u64::from);
    let mixed = |seed: u64| {
        let all = bytes.clone().chain(numbers.iter().map(|&number| number as u64));
        all.fold(seed, |mixed, number| scramble(mixed ^ number))
    };
    format!("{:016x}{:016x}", mixed(0), mixed(1))
}
