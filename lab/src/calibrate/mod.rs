//! From measured times to a [`Calibration`] of the choice of a format, and the quality of the choice.

mod accuracy;
mod blocked;
pub(crate) mod least_squares;
mod rates;

use std::collections::BTreeMap;

pub(crate) use accuracy::FEWEST_FORMATS;
pub use accuracy::{Accuracy, Sample, is_held_out};
pub use blocked::{BlockedCheck, measure_dense};
use host::Format;
use host::executor::Executor;
use host::select::{
    Analysis, CONVERSION_TERMS, Calibration, FittedKernel, KernelWork, Machine, NEUTRAL_GPU, Terms, conversion_terms,
    time,
};

use rates::Timed;

/// Weights of the expected value of a rate, as numbers of measurements: for all kernels together, the rates known of a
/// device without measurements; for each kernel, the rates of all kernels together.
const STRENGTH_OF_NEUTRAL: f64 = 0.01;
const STRENGTH_OF_ALL: f64 = 0.05;

/// Down-weighting of slow formats: the power of the ratio of the fastest time to their own.
const SLOW: f64 = 0.5;

/// A measured time.
#[derive(Clone, Copy, Debug)]
pub struct Measurement<'a> {
    /// The matrix.
    pub analysis: &'a Analysis,
    /// The format.
    pub format: Format,
    /// Seconds of a multiplication.
    pub seconds: f64,
    /// Seconds of the conversion from CSR.
    pub conversion: Option<f64>,
}

/// Fits the time of each kernel, and of each kind of conversion, to measurements on one device. Errors are relative, and
/// those of the fastest formats of a matrix count most.
pub fn fit(device: &str, machine: &Machine, measurements: &[Measurement<'_>]) -> Calibration {
    type Samples<S> = BTreeMap<String, BTreeMap<String, Vec<S>>>;
    let mut kernels: Samples<Timed> = BTreeMap::new();
    let mut conversions: Samples<[f64; CONVERSION_TERMS]> = BTreeMap::new();
    let fastest = fastest(measurements);
    for &Measurement { analysis, format, seconds, conversion } in measurements {
        let work = KernelWork::new(analysis, format, machine);
        let precision = analysis.precision().to_owned();
        if seconds > 0.0 {
            let weight = (fastest[&std::ptr::from_ref(analysis)] / seconds).powf(SLOW);
            let of_precision = kernels.entry(precision.clone()).or_default();
            let sample = Timed { terms: work.terms, seconds, weight };
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
        let together = rates::fit(&all, &NEUTRAL_GPU, STRENGTH_OF_NEUTRAL);
        let each = kernels.into_iter().map(|(kernel, samples)| (kernel, fit_kernel(&samples, &together)));
        fitted.insert(precision.clone(), each.collect());
        other.insert(precision, together);
    }
    let conversions = conversions.into_iter().map(|(precision, kinds)| {
        let kinds = kinds.into_iter().map(|(kind, rows)| (kind, least_squares::fit(&rows)));
        (precision, kinds.collect())
    });
    Calibration::new(device, other, fitted, conversions.collect())
}

fn fit_kernel(samples: &[Timed], expected: &Terms) -> FittedKernel {
    let seconds = rates::fit(samples, expected, STRENGTH_OF_ALL);
    let error = |sample: &Timed| (time::seconds(&seconds, &sample.terms) / sample.seconds - 1.0).abs();
    let mut errors: Vec<_> = samples.iter().map(error).collect();
    errors.sort_unstable_by(f64::total_cmp);
    FittedKernel { seconds, measurements: samples.len(), error: errors[errors.len() / 2] }
}

/// Returns the least measured time of each matrix.
fn fastest(measurements: &[Measurement<'_>]) -> BTreeMap<*const Analysis, f64> {
    let mut fastest = BTreeMap::new();
    for measurement in measurements.iter().filter(|measurement| measurement.seconds > 0.0) {
        let least = fastest.entry(std::ptr::from_ref(measurement.analysis)).or_insert(f64::INFINITY);
        *least = least.min(measurement.seconds);
    }
    fastest
}

/// Queries the use of a multiprocessor by the kernels of BELLPACK and BCSR, which the paper's model needs.
pub fn ask<E: Executor>(calibration: &mut Calibration, executor: &E) {
    for entry in blocked::entries() {
        if let Some(resources) = executor.kernel_resources(&entry) {
            calibration.set_kernel_resources(entry, resources);
        }
    }
}
