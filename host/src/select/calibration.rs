//! How fast each kernel of a device is: fitted to measurements, kept in a file.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::analysis::Analysis;
use super::fit::{Sample, fit};
use super::least_squares;
use super::machine::Machine;
use super::time;
use super::traffic::Traffic;
use super::work::{KernelWork, Terms};
use crate::device::{Device, KernelResources};
use crate::error::Error;
use crate::executor::Executor;
use crate::format::bellpack::product::entry;
use crate::format::{BlockSize, Format};
use crate::real::Scalar;
use crate::replace::replace_file;

/// The version of the files; it grows when a number changes its meaning.
const SCHEMA: u32 = 2;

/// The calibration that comes with the library.
const H200: &str = include_str!("h200.json");

/// The largest file that is read.
const LARGEST_FILE: u64 = 1 << 24;

/// The numbers that the time of a conversion is made of: 1, bytes of the CSR arrays, and bytes of the new ones.
const CONVERSION_TERMS: usize = 3;

/// How much longer than others a kernel is taken to be of which there are no measurements: better one that is known.
const UNKNOWN: f64 = 1.5;

/// Seconds for each of [`TERMS`](super::TERMS) on a device of which nothing is known, but for that the CPU's longest
/// row and waves cost nothing of their own.
const NEUTRAL_GPU: Terms = [4e-6, 3e-13, 3e-13, 1.5e-13, 1e-13, 1e-12, 5e-9, 5e-9];
const NEUTRAL_CPU: Terms = [2e-6, 1e-10, 1e-10, 2e-11, 1e-11, 1e-10, 0.0, 0.0];

/// How much the expectation of a rate counts, as a number of measurements: that all kernels together have what is known
/// of a device without measurements, and that each kernel has what all have together.
const STRENGTH_OF_NEUTRAL: f64 = 0.01;
const STRENGTH_OF_ALL: f64 = 0.05;

/// How much less a slow format counts: the power of the fastest time over its own.
const SLOW: f64 = 0.5;

/// Seconds for each of the conversion's numbers on a device of which nothing is known.
const NEUTRAL_CONVERSION: [f64; CONVERSION_TERMS] = [1e-4, 2.0, 2.0];

/// How fast the kernels of a device are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    schema: u32,
    /// The device's name.
    pub device: String,
    /// What all kernels take together, by precision: what is expected of one of which nothing else is known.
    other: BTreeMap<String, Terms>,
    /// What each kernel takes, by precision and name.
    kernels: BTreeMap<String, BTreeMap<String, Fitted>>,
    /// What each conversion takes, by precision and kind of format.
    conversions: BTreeMap<String, BTreeMap<String, [f64; CONVERSION_TERMS]>>,
    /// What kernels take of a multiprocessor, by entry point.
    #[serde(default)]
    resources: BTreeMap<String, KernelResources>,
}

/// What was fitted to the measurements of a kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Fitted {
    /// Seconds for each of [`TERMS`](super::TERMS).
    seconds: Terms,
    /// Measurements that it was fitted to.
    measurements: usize,
    /// The median of |predicted - measured| / measured among them.
    error: f64,
}

/// A time that was measured.
#[derive(Clone, Copy, Debug)]
pub struct Measurement<'a> {
    /// Of this matrix.
    pub analysis: &'a Analysis,
    /// In this format.
    pub format: Format,
    /// Seconds of a multiplication.
    pub seconds: f64,
    /// Seconds of the conversion from CSR.
    pub conversion: Option<f64>,
}

impl Calibration {
    /// Fits the time of each kernel, and of each kind of conversion, to measurements on one device. Errors are relative,
    /// and those of the fastest formats of a matrix count most.
    pub fn fit(device: &str, machine: &Machine, measurements: &[Measurement<'_>]) -> Self {
        type Samples<S> = BTreeMap<String, BTreeMap<String, Vec<S>>>;
        let mut kernels: Samples<Sample> = BTreeMap::new();
        let mut conversions: Samples<[f64; CONVERSION_TERMS]> = BTreeMap::new();
        let fastest = fastest(measurements);
        for &Measurement { analysis, format, seconds, conversion } in measurements {
            let work = KernelWork::new(analysis, format, machine);
            let precision = precision(analysis).to_owned();
            if seconds > 0.0 {
                let weight = (fastest[&std::ptr::from_ref(analysis)] / seconds).powf(SLOW);
                let of_precision = kernels.entry(precision.clone()).or_default();
                let sample = Sample { terms: work.terms, seconds, weight };
                of_precision.entry(work.kernel.to_owned()).or_default().push(sample);
            }
            if let Some(seconds) = conversion.filter(|&seconds| seconds > 0.0) {
                let of_precision = conversions.entry(precision).or_default();
                let terms = conversion_terms(analysis, &work.traffic, machine);
                let of_kind = of_precision.entry(format.conversion_kind().to_owned()).or_default();
                of_kind.push(terms.map(|term| term / seconds));
            }
        }
        let (mut other, mut fitted) = (BTreeMap::new(), BTreeMap::new());
        for (precision, kernels) in kernels {
            let all: Vec<_> = kernels.values().flatten().copied().collect();
            let together = fit(&all, &NEUTRAL_GPU, STRENGTH_OF_NEUTRAL);
            let each = kernels.into_iter().map(|(kernel, samples)| (kernel, Fitted::new(&samples, &together)));
            fitted.insert(precision.clone(), each.collect());
            other.insert(precision, together);
        }
        let conversions = conversions.into_iter().map(|(precision, kinds)| {
            let kinds = kinds.into_iter().map(|(kind, rows)| (kind, least_squares::fit(&rows)));
            (precision, kinds.collect())
        });
        let device = model_of(device).into();
        // What no device was asked about is as the compiler of the shipped kernels has it.
        let resources = Self::h200().resources;
        Self { schema: SCHEMA, device, other, kernels: fitted, conversions: conversions.collect(), resources }
    }

    /// Asks what the kernels that [`BlockedLaunch`](super::BlockedLaunch) knows take of a multiprocessor.
    pub fn ask<E: Executor>(&mut self, executor: &E) {
        let kernels = BlockSize::ALL.iter().flat_map(|&size| [4, 8].map(|bytes| entry(size, bytes)));
        let known = kernels.filter_map(|entry| executor.kernel_resources(&entry).map(|resources| (entry, resources)));
        self.resources.extend(known);
    }

    /// What the kernel with this entry point takes of a multiprocessor, if it is known.
    pub fn kernel_resources(&self, entry: &str) -> Option<KernelResources> {
        self.resources.get(entry).copied()
    }

    /// The calibration that comes with the library for this device: that of the H200 for every GPU, because it is the
    /// ratios that matter, and of a CPU the bytes alone.
    pub fn shipped(device: &Device) -> Self {
        if device.has_kernels() { Self::h200() } else { Self::neutral("a CPU", NEUTRAL_CPU) }
    }

    fn h200() -> Self {
        Self::parse(H200).unwrap_or_else(|_| Self::neutral("a GPU", NEUTRAL_GPU))
    }

    fn neutral(device: &str, other: Terms) -> Self {
        let (kernels, conversions, resources) = Default::default();
        let other = BTreeMap::from([f32::NAME, f64::NAME].map(|precision| (precision.to_owned(), other)));
        Self { schema: SCHEMA, device: device.into(), other, kernels, conversions, resources }
    }

    /// A calibration from a file that [`write`](Self::write) wrote.
    ///
    /// # Errors
    /// When the file cannot be read, is no calibration, or one of a newer version.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let text = super::store::text(path, LARGEST_FILE)?;
        Self::parse(&text).map_err(|reason| Error::contents(path, reason))
    }

    /// Writes the calibration to a file, whole or not at all.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), Error> {
        replace_file(path, |file| {
            serde_json::to_writer_pretty(&mut *file, self)?;
            file.write_all(b"\n")
        })
    }

    fn parse(text: &str) -> Result<Self, String> {
        let calibration: Self = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if calibration.schema != SCHEMA {
            return Err(format!("a calibration of version {}, expected {SCHEMA}", calibration.schema));
        }
        let kernels = calibration.kernels.values().flat_map(BTreeMap::values).flat_map(|fitted| fitted.seconds);
        let conversions = calibration.conversions.values().flat_map(BTreeMap::values).copied().flatten();
        let other = calibration.other.values().copied().flatten();
        match other.chain(kernels).chain(conversions).find(|seconds| !is_time(*seconds)) {
            Some(seconds) => Err(format!("a time of {seconds} seconds, expected none below 0")),
            None => Ok(calibration),
        }
    }

    /// Whether it was made on this device, or on one of the same model.
    pub fn is_of(&self, device: &Device) -> bool {
        self.device == model_of(&device.name)
    }

    /// Seconds that this work takes in the precision of `analysis`.
    pub fn multiply_seconds(&self, analysis: &Analysis, work: &KernelWork) -> f64 {
        match self.kernels.get(precision(analysis)).and_then(|kernels| kernels.get(work.kernel)) {
            Some(fitted) => time::seconds(&fitted.seconds, &work.terms),
            None => UNKNOWN * time::seconds(self.together(analysis), &work.terms),
        }
    }

    /// What is expected of a kernel of which nothing is known; from the other precision if need be.
    fn together(&self, analysis: &Analysis) -> &Terms {
        let other = self.other.get(precision(analysis)).or_else(|| self.other.values().next());
        other.unwrap_or(&NEUTRAL_GPU)
    }

    /// Seconds that it takes to get from CSR to `format`.
    pub fn conversion_seconds(&self, analysis: &Analysis, format: Format, traffic: &Traffic, machine: &Machine) -> f64 {
        if format.storage() == Format::CSR_SCALAR.storage() {
            return 0.0;
        }
        let terms = conversion_terms(analysis, traffic, machine);
        match self.conversions.get(precision(analysis)).and_then(|kinds| kinds.get(format.conversion_kind())) {
            Some(seconds) => dot(seconds, &terms),
            None => self.unknown_conversion_seconds(analysis, &terms),
        }
    }

    /// What is expected of a conversion of which nothing is known: no less than of any other, or, without others, as many
    /// times as many bytes as a multiplication takes.
    fn unknown_conversion_seconds(&self, analysis: &Analysis, terms: &[f64; CONVERSION_TERMS]) -> f64 {
        let [_, stream, ..] = *self.together(analysis);
        let [constant, csr, stored] = NEUTRAL_CONVERSION;
        let others = self.conversions.get(precision(analysis)).into_iter().flat_map(BTreeMap::values);
        others.map(|seconds| dot(seconds, terms)).fold(dot(&[constant, csr * stream, stored * stream], terms), f64::max)
    }
}

impl Fitted {
    fn new(samples: &[Sample], expected: &Terms) -> Self {
        let seconds = fit(samples, expected, STRENGTH_OF_ALL);
        let error = |sample: &Sample| (time::seconds(&seconds, &sample.terms) / sample.seconds - 1.0).abs();
        let mut errors: Vec<_> = samples.iter().map(error).collect();
        errors.sort_unstable_by(f64::total_cmp);
        Self { seconds, measurements: samples.len(), error: errors[errors.len() / 2] }
    }
}

/// The least time that was measured with each matrix.
fn fastest(measurements: &[Measurement<'_>]) -> BTreeMap<*const Analysis, f64> {
    let mut fastest = BTreeMap::new();
    for measurement in measurements.iter().filter(|measurement| measurement.seconds > 0.0) {
        let least = fastest.entry(std::ptr::from_ref(measurement.analysis)).or_insert(f64::INFINITY);
        *least = least.min(measurement.seconds);
    }
    fastest
}

fn dot<const N: usize>(left: &[f64; N], right: &[f64; N]) -> f64 {
    left.iter().zip(right).map(|(left, right)| left * right).sum()
}

fn conversion_terms(analysis: &Analysis, traffic: &Traffic, machine: &Machine) -> [f64; CONVERSION_TERMS] {
    let csr = Traffic::new(analysis, Format::CSR_SCALAR, machine).stored;
    [1.0, csr as f64, traffic.stored as f64]
}

/// Whether it can be a number of seconds.
fn is_time(seconds: f64) -> bool {
    seconds >= 0.0 && seconds.is_finite()
}

/// "float32" or "float64".
fn precision(analysis: &Analysis) -> &'static str {
    if analysis.value_bytes == size_of::<f32>() { f32::NAME } else { f64::NAME }
}

/// The model of a device: its name without its software.
pub(super) fn model_of(name: &str) -> &str {
    name.split_once(", driver").map_or(name, |(model, _)| model)
}
