//! Speeds of a device's kernels: fitted to measurements, stored in a file.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use super::analysis::Analysis;
use super::machine::Machine;
use super::time;
use super::traffic::Traffic;
use super::work::{KernelWork, Terms};
use crate::device::{Device, KernelResources};
use crate::error::Error;
use crate::format::Format;
use crate::real::Scalar;
use crate::replace::replace_file;

/// The version of the files; incremented when a number changes its meaning.
const SCHEMA: u32 = 3;

/// The calibrations shipped with the library, two for GPUs and one for CPUs.
const H200: &str = include_str!("h200.json");
const H100: &str = include_str!("h100.json");
const CPU: &str = include_str!("cpu.json");

/// Maximum size of a file in bytes.
const LARGEST_FILE: u64 = 1 << 24;

/// Number of terms in the time of a conversion.
pub const CONVERSION_TERMS: usize = 5;

/// Factor applied to predictions for kernels without measurements, so that measured kernels are preferred.
const UNKNOWN: f64 = 1.5;

/// The median error assumed for a kernel without measurements, and the minimum for all, since some were fitted to few.
const UNKNOWN_ERROR: f64 = 0.3;
const LEAST_ERROR: f64 = 0.05;

/// Seconds per unit of each of [`TERMS`](super::TERMS) on an unknown device, except that the CPU's longest row and
/// waves have no cost of their own.
pub const NEUTRAL_GPU: Terms = [4e-6, 3e-13, 3e-13, 1.5e-13, 1e-13, 1e-12, 5e-9, 5e-9];
const NEUTRAL_CPU: Terms = [2e-6, 1e-10, 1e-10, 2e-11, 1e-11, 1e-10, 0.0, 0.0];

/// Seconds per unit of each term of a conversion on an unknown device.
const NEUTRAL_CONVERSION: [f64; CONVERSION_TERMS] = [1e-4, 2.0, 2.0, 0.0, 0.0];

/// Speeds of a device's kernels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    schema: u32,
    /// The device's name.
    pub device: String,
    /// Rates of all kernels together, by precision: the prediction for unknown kernels.
    other: BTreeMap<String, Terms>,
    /// Rates of each kernel, by precision and name.
    kernels: BTreeMap<String, BTreeMap<String, FittedKernel>>,
    /// Rates of each conversion, by precision and kind of format.
    conversions: BTreeMap<String, BTreeMap<String, [f64; CONVERSION_TERMS]>>,
    /// Resources that kernels need on a multiprocessor, by entry point.
    #[serde(default)]
    resources: BTreeMap<String, KernelResources>,
}

/// The fit to the measurements of a kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FittedKernel {
    /// Seconds per unit of each of [`TERMS`](super::TERMS).
    pub seconds: Terms,
    /// Number of measurements used for the fit.
    pub measurements: usize,
    /// Their median of |predicted - measured| / measured.
    pub error: f64,
}

impl Calibration {
    /// A calibration with these rates. By precision: those of all kernels together, of each kernel by its name, and of
    /// each conversion by its kind.
    pub fn new(
        device: &str,
        other: BTreeMap<String, Terms>,
        kernels: BTreeMap<String, BTreeMap<String, FittedKernel>>,
        conversions: BTreeMap<String, BTreeMap<String, [f64; CONVERSION_TERMS]>>,
    ) -> Self {
        // Resources that were not queried on the device are those reported by the compiler of the shipped kernels.
        let resources = Self::h200().resources;
        Self { schema: SCHEMA, device: model_of(device).into(), other, kernels, conversions, resources }
    }

    /// Stores the resources that the kernel with this entry point needs on a multiprocessor.
    pub fn set_kernel_resources(&mut self, entry: String, resources: KernelResources) {
        self.resources.insert(entry, resources);
    }

    /// The resources that the kernel with this entry point needs on a multiprocessor, if known.
    pub fn kernel_resources(&self, entry: &str) -> Option<KernelResources> {
        self.resources.get(entry).copied()
    }

    /// The calibration shipped with the library for this device: the H100's for H100 models, the H200's for every other GPU,
    /// and that of an AMD EPYC with two threads for every CPU, because only ratios matter.
    pub fn shipped(device: &Device) -> Self {
        // Parsing takes longer than the choice for a small matrix.
        static OF_H100: LazyLock<Calibration> = LazyLock::new(|| Calibration::embedded(H100, "a GPU", NEUTRAL_GPU));
        static OF_CPU: LazyLock<Calibration> = LazyLock::new(|| Calibration::embedded(CPU, "a CPU", NEUTRAL_CPU));
        match device.has_kernels() {
            true if model_of(&device.name).contains("H100") => OF_H100.clone(),
            true => Self::h200(),
            false => OF_CPU.clone(),
        }
    }

    fn h200() -> Self {
        static OF_H200: LazyLock<Calibration> = LazyLock::new(|| Calibration::embedded(H200, "a GPU", NEUTRAL_GPU));
        OF_H200.clone()
    }

    fn embedded(text: &str, device: &str, other: Terms) -> Self {
        Self::parse(text).unwrap_or_else(|_| Self::neutral(device, other))
    }

    fn neutral(device: &str, other: Terms) -> Self {
        let (kernels, conversions, resources) = Default::default();
        let other = BTreeMap::from([f32::NAME, f64::NAME].map(|precision| (precision.to_owned(), other)));
        Self { schema: SCHEMA, device: device.into(), other, kernels, conversions, resources }
    }

    /// Reads a calibration from a file written by [`write`](Self::write).
    ///
    /// # Errors
    /// When the file cannot be read, is not a calibration, or has another version.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let text = super::store::text(path, LARGEST_FILE)?;
        Self::parse(&text).map_err(|reason| Error::contents(path, reason))
    }

    /// Writes the calibration to a file, completely or not at all.
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
            Some(seconds) => Err(format!("a time of {seconds} seconds, expected at least 0")),
            None => Ok(calibration),
        }
    }

    /// Whether it was made on this device or on another of the same model.
    pub fn is_of(&self, device: &Device) -> bool {
        self.device == model_of(&device.name)
    }

    /// Predicted time in seconds of this work in the precision of `analysis`.
    pub fn multiply_seconds(&self, analysis: &Analysis, work: &KernelWork) -> f64 {
        match self.kernels.get(analysis.precision()).and_then(|kernels| kernels.get(work.kernel)) {
            Some(fitted) => time::seconds(&fitted.seconds, &work.terms),
            None => UNKNOWN * time::seconds(self.together(analysis), &work.terms),
        }
    }

    /// Likely relative error of [`multiply_seconds`](Self::multiply_seconds): 1.9 times the median of the measurements, the
    /// standard deviation on matrices that nothing was fitted to. With normally distributed errors, it would be 1.5 times
    /// the median, but large ones are more frequent.
    pub fn error(&self, analysis: &Analysis, work: &KernelWork) -> f64 {
        let fitted = self.kernels.get(analysis.precision()).and_then(|kernels| kernels.get(work.kernel));
        1.9 * fitted.map_or(UNKNOWN_ERROR, |fitted| fitted.error.clamp(LEAST_ERROR, UNKNOWN_ERROR))
    }

    /// The rates for an unknown kernel; from the other precision if necessary.
    fn together(&self, analysis: &Analysis) -> &Terms {
        let other = self.other.get(analysis.precision()).or_else(|| self.other.values().next());
        other.unwrap_or(&NEUTRAL_GPU)
    }

    /// Predicted time in seconds of the conversion from CSR to `format`.
    pub fn conversion_seconds(&self, analysis: &Analysis, format: Format, traffic: &Traffic, machine: &Machine) -> f64 {
        if format.storage() == Format::CSR_SCALAR.storage() {
            return 0.0;
        }
        let terms = conversion_terms(analysis, traffic, machine);
        match self.conversions.get(analysis.precision()).and_then(|kinds| kinds.get(format.conversion_kind())) {
            Some(seconds) => dot(seconds, &terms),
            None => self.unknown_conversion_seconds(analysis, &terms),
        }
    }

    /// The prediction for an unknown conversion: no less than for any other or, without others, a multiple of the time that
    /// a multiplication needs for these bytes.
    fn unknown_conversion_seconds(&self, analysis: &Analysis, terms: &[f64; CONVERSION_TERMS]) -> f64 {
        let [_, stream, ..] = *self.together(analysis);
        let [constant, csr, stored, rows, search] = NEUTRAL_CONVERSION;
        let neutral = [constant, csr * stream, stored * stream, rows, search];
        let others = self.conversions.get(analysis.precision()).into_iter().flat_map(BTreeMap::values);
        others.map(|seconds| dot(seconds, terms)).fold(dot(&neutral, terms), f64::max)
    }
}

fn dot<const N: usize>(left: &[f64; N], right: &[f64; N]) -> f64 {
    left.iter().zip(right).map(|(left, right)| left * right).sum()
}

/// The terms of a conversion's time: 1, bytes of the CSR arrays and of the new ones, rows, and the square root of the number
/// of entries. The last is for a search from neighbour to neighbour, as for the parts of the clustered formats: it takes as
/// many steps as the matrix is wide, and all threads wait after each.
pub fn conversion_terms(analysis: &Analysis, traffic: &Traffic, machine: &Machine) -> [f64; CONVERSION_TERMS] {
    let csr = Traffic::new(analysis, Format::CSR_SCALAR, machine).stored;
    [1.0, csr as f64, traffic.stored as f64, analysis.rows as f64, (analysis.nnz as f64).sqrt()]
}

/// Whether this is a valid number of seconds.
fn is_time(seconds: f64) -> bool {
    seconds >= 0.0 && seconds.is_finite()
}

/// The model of a device: its name without its software.
#[doc(hidden)]
pub fn model_of(name: &str) -> &str {
    name.split_once(", driver").map_or(name, |(model, _)| model)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::{Cpu, Emulated, Executor};

    #[test]
    #[cfg_attr(miri, ignore = "a third of a megabyte of JSON")]
    fn each_device_gets_the_calibration_of_its_like() {
        for (text, device) in [(H200, "NVIDIA H200"), (H100, "NVIDIA H100 80GB HBM3")] {
            assert_eq!(Calibration::parse(text).unwrap().device, device);
        }
        let shipped = |device: &Device, name: &str| {
            Calibration::shipped(&Device { name: format!("{name}, driver for CUDA 13.0"), ..device.clone() }).device
        };
        let emulated = Emulated::new(1);
        assert_eq!(shipped(emulated.device(), "NVIDIA H100 80GB HBM3"), "NVIDIA H100 80GB HBM3");
        assert_eq!(shipped(emulated.device(), "NVIDIA H100 PCIe"), "NVIDIA H100 80GB HBM3");
        assert_eq!(shipped(emulated.device(), "NVIDIA A100-SXM4-40GB"), "NVIDIA H200");
        assert_eq!(Calibration::parse(CPU).unwrap().device, Calibration::shipped(Cpu::new().device()).device);
    }
}
