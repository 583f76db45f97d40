//! The dense matrices for making and checking the model of blocked formats.

use std::collections::BTreeMap;

use host::select::{Analysis, Calibration, Machine, Selection};
use host::{Format, Real, ValueStorage};
use synthetic::Generator;

use super::{Blocked, DenseTimes, Gpu};
use crate::error::Error;
use crate::measure::{Bench, Case, Chosen, Settings};
use crate::record::Entry;
use crate::subject::Subject;
use crate::timing::Effort;

/// The family of dense matrices that are measured in any case.
pub(super) const DENSE_FAMILY: &str = "dense";

/// The family of dense matrices measured only for the model, to which no other calibration is fitted.
pub const BENCHMARK_FAMILY: &str = "dense-benchmark";

/// Blocks of values per thread, β: "chosen arbitrarily, but small". Large enough that BCSR uses [`LANES`].
const VALUES: usize = 8;

/// Lanes per block row of BCSR.
const LANES: u32 = 8;

/// A dense matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Shape {
    pub rows: usize,
    pub columns: usize,
}

impl Shape {
    /// Returns whether a matrix has this shape.
    pub fn is_of(self, analysis: &Analysis) -> bool {
        (analysis.rows, analysis.columns) == (self.rows, self.columns)
    }

    /// Returns the generator's text.
    fn text(self) -> String {
        format!("dense:rows={},columns={}", self.rows, self.columns)
    }
}

/// Returns an entry with its analysis, if its matrix is dense.
pub(super) fn of(entry: &Entry) -> Option<(&Entry, &Analysis)> {
    let analysis = entry.analysis.as_ref()?;
    let is_dense = [DENSE_FAMILY, BENCHMARK_FAMILY].map(Some).contains(&entry.family.as_deref());
    (is_dense && analysis.nnz == analysis.rows * analysis.columns).then_some((entry, analysis))
}

/// The dense matrices on which one kernel is measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Benchmark {
    resident: u32,
    /// Those of eq. 13 to 17: start, one, full and beyond in [`DenseTimes`].
    equations: [Shape; 4],
    /// Larger ones, for comparison with predictions (Fig. 10 to 12).
    larger: [Shape; 3],
}

impl Benchmark {
    /// Creates the matrices of a kernel; `None` without a GPU.
    pub fn new(gpu: &Gpu<'_>, blocked: Blocked, value_bytes: usize) -> Option<Self> {
        let lanes = match blocked {
            Blocked::Bellpack(..) => 1,
            Blocked::Bcsr(_) => LANES,
        };
        let (size, resident) = (blocked.size(), gpu.resident(&blocked.entry(lanes, value_bytes)));
        // With `blocks` blocks of threads per multiprocessor, and `values` blocks of values per thread.
        let shape = |blocks: u32, values: usize| Shape {
            rows: (gpu.multiprocessors * blocks * (Gpu::threads() / lanes)) as usize * size.rows(),
            columns: values * lanes as usize * size.columns(),
        };
        (gpu.multiprocessors > 0).then(|| Self {
            resident,
            equations: [shape(1, 1), shape(1, VALUES), shape(resident, VALUES), shape(resident + 1, VALUES)],
            larger: [resident.div_ceil(2), 2 * resident, 3 * resident].map(|blocks| shape(blocks, VALUES / 2)),
        })
    }

    /// Returns the times for eq. 13 to 17, if all were measured.
    pub fn times(&self, seconds: impl Fn(Shape) -> Option<f64>) -> Option<DenseTimes> {
        let [start, one, full, beyond] = self.equations.map(seconds);
        let (start, one, full, beyond) = (start?, one?, full?, beyond?);
        Some(DenseTimes { values: VALUES as f64, resident: self.resident, start, one, full, beyond })
    }
}

/// Returns the blocked formats to measure on each dense matrix with values of this width.
fn plan(gpu: &Gpu<'_>, value_bytes: usize) -> BTreeMap<Shape, Vec<Format>> {
    let mut plan: BTreeMap<Shape, Vec<Format>> = BTreeMap::new();
    for &format in Format::ALL {
        let benchmark = Blocked::of(format).and_then(|blocked| Benchmark::new(gpu, blocked, value_bytes));
        for shape in benchmark.iter().flat_map(|benchmark| benchmark.equations.iter().chain(&benchmark.larger)) {
            let formats = plan.entry(*shape).or_default();
            if !formats.contains(&format) {
                formats.push(format);
            }
        }
    }
    plan
}

/// Measures every blocked format on the dense matrices that its model needs (Choi, Singh & Vuduc 2010, §6.3), and on some
/// larger ones. Skips those that `entries` already has; new ones are added, and passed to `keep` together with the others
/// each time.
///
/// # Errors
/// When the executor is not a GPU, the entries are of another device, memory runs out, the device fails, or `keep` fails.
pub fn measure_dense<S: Subject>(
    subject: &S,
    calibration: &Calibration,
    effort: Effort,
    entries: &mut Vec<Entry>,
    keep: &mut dyn FnMut(&[Entry]) -> Result<(), Error>,
) -> Result<(), Error> {
    let gpu = Gpu::new(&Machine::from(subject.device()), calibration);
    if gpu.multiprocessors == 0 {
        let reason = format!("{} is not a GPU, which the model of blocked formats requires", subject.name().name());
        return Err(Error::Calibration { reason });
    }
    let device = &subject.device().name;
    if let Some(other) = entries.iter().find(|entry| entry.env.device != *device) {
        return Err(Error::Calibration {
            reason: format!("the records are of {}, and this is {device}", other.env.device),
        });
    }
    let mut measurement = Measurement { bench: Bench::new(subject)?, effort, entries, keep };
    measurement.each::<f64>(plan(&gpu, size_of::<f64>()))?;
    measurement.each::<f32>(plan(&gpu, size_of::<f32>()))
}

struct Measurement<'a, 's, S: Subject> {
    bench: Bench<'s, S>,
    effort: Effort,
    entries: &'a mut Vec<Entry>,
    keep: &'a mut dyn FnMut(&[Entry]) -> Result<(), Error>,
}

impl<S: Subject> Measurement<'_, '_, S> {
    /// Measures all matrices with values of this type.
    fn each<T: Real>(&mut self, plan: BTreeMap<Shape, Vec<Format>>) -> Result<(), Error> {
        for (shape, formats) in plan {
            let name = &*shape.text();
            let is_same = |entry: &Entry| entry.filename == name && entry.env.precision == T::NAME;
            let has_all = |entry: &Entry| formats.iter().all(|format| entry.spmv.contains_key(format.name()));
            if self.entries.iter().any(|entry| is_same(entry) && has_all(entry)) {
                continue;
            }
            let generated = name.parse::<Generator>().and_then(|generator| generator.generate::<T>());
            let matrix = generated.map_err(|error| Error::Calibration { reason: format!("{name}: {error}") })?;
            let case = Case { name, family: Some(BENCHMARK_FAMILY), matrix: &matrix };
            let peers = Chosen::Named(Vec::new());
            let multiplications = Selection::MULTIPLICATIONS;
            let (values, shapes, effort) = (ValueStorage::Full, Vec::new(), self.effort);
            let settings = Settings { formats, multiplications, shapes, values, peers, effort, samples: false };
            let entry = self.bench.measure(&case, &settings, &mut |_, _| {})?;
            self.entries.retain(|entry| !is_same(entry));
            self.entries.push(entry);
            (self.keep)(self.entries)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use host::executor::{Cpu, Emulated, Executor, HostExecutor};
    use host::format::{BlockSize, PartitionRows, bcsr};

    /// With 132 multiprocessors and blocks of 256 threads.
    #[test]
    fn shapes_by_hand() {
        let calibration = Calibration::shipped(Emulated::new(1).device());
        let gpu = Gpu { calibration: &calibration, multiprocessors: 132 };
        // 56 registers: T = ⌊65536 / (56 · 256)⌋ = 4.
        let bellpack = Benchmark::new(&gpu, Blocked::Bellpack(BlockSize::B3x3, PartitionRows::R64), 8).unwrap();
        let shape = |rows, columns| Shape { rows, columns };
        let rows = 132 * 256 * 3;
        let expected = [shape(rows, 3), shape(rows, 24), shape(4 * rows, 24), shape(5 * rows, 24)];
        assert_eq!((bellpack.resident, bellpack.equations), (4, expected));
        assert_eq!(bellpack.larger, [2, 8, 12].map(|times| shape(times * rows, 12)));
        assert_eq!(bellpack.equations[1].text(), "dense:rows=101376,columns=24");
        // 8 lanes per block row, with 8 blocks each.
        let bcsr = Benchmark::new(&gpu, Blocked::Bcsr(BlockSize::B2x3), 4).unwrap();
        assert_eq!(bcsr.equations[..2], [shape(132 * 32 * 2, 24), shape(132 * 32 * 2, 192)]);
        let cpu = Gpu { multiprocessors: 0, ..gpu };
        assert_eq!(Benchmark::new(&cpu, Blocked::Bcsr(BlockSize::B2x3), 4), None);
    }

    #[test]
    fn bcsr_takes_the_lanes_that_the_shapes_are_made_for() {
        for values in [1, VALUES / 2, VALUES] {
            assert_eq!(bcsr::lanes_for(values * LANES as usize, 1), LANES, "{values}");
        }
    }

    #[test]
    fn times_are_those_of_all_four() {
        let calibration = Calibration::shipped(Emulated::new(1).device());
        let gpu = Gpu { calibration: &calibration, multiprocessors: 2 };
        // 40 registers: T = ⌊65536 / (40 · 256)⌋ = 6.
        let benchmark = Benchmark::new(&gpu, Blocked::Bcsr(BlockSize::B2x2), 8).unwrap();
        let seconds = |shape: Shape| (shape.rows * shape.columns) as f64;
        let times = benchmark.times(|shape| Some(seconds(shape))).unwrap();
        let unit = 2.0 * 32.0 * 2.0 * 8.0 * 2.0;
        let expected = DenseTimes {
            values: 8.0,
            resident: 6,
            start: unit,
            one: 8.0 * unit,
            full: 48.0 * unit,
            beyond: 56.0 * unit,
        };
        assert_eq!(times, expected);
        let but_the_last = |shape: Shape| (shape != benchmark.equations[3]).then(|| seconds(shape));
        assert_eq!(benchmark.times(but_the_last), None);
    }

    const EFFORT: Effort = Effort { warm_ups: 0, repetitions: 1, seconds: 1.0 };

    #[test]
    fn a_cpu_is_not_what_the_model_is_of() {
        let calibration = Calibration::shipped(Emulated::new(1).device());
        let cpu = HostExecutor::from(Cpu::new());
        let error = measure_dense(&cpu, &calibration, EFFORT, &mut Vec::new(), &mut |_| Ok(())).unwrap_err();
        assert_eq!(error.to_string(), "no calibration: cpu is not a GPU, which the model of blocked formats requires");
    }

    /// On a CPU, which measures in the same way as a GPU.
    #[test]
    fn what_is_there_is_not_measured_again() {
        let cpu = HostExecutor::from(Cpu::new());
        let formats = ["bcsr-3x3", "bellpack-3x3"].map(|name| name.parse().unwrap());
        let plan = |count: usize| {
            let shapes = [12, 24].map(|rows| (Shape { rows, columns: 6 }, formats[..count].to_vec()));
            BTreeMap::from(shapes)
        };
        let (mut entries, mut kept) = (Vec::new(), Vec::new());
        for (count, expected) in [(1, vec![1, 2]), (1, vec![]), (2, vec![2, 2])] {
            let mut keep = |entries: &[Entry]| {
                kept.push(entries.len());
                Ok(())
            };
            let bench = Bench::new(&cpu).unwrap();
            let mut measurement = Measurement { bench, effort: EFFORT, entries: &mut entries, keep: &mut keep };
            measurement.each::<f32>(plan(count)).unwrap();
            assert_eq!(std::mem::take(&mut kept), expected);
        }
        for entry in &entries {
            let (same, analysis) = of(entry).unwrap();
            assert_eq!((same.family.as_deref(), analysis.columns), (Some(BENCHMARK_FAMILY), 6));
            assert!(formats.iter().all(|format| entry.spmv[format.name()].seconds().is_some()));
        }
    }

    #[test]
    fn every_blocked_format_has_its_matrices() {
        let calibration = Calibration::shipped(Emulated::new(1).device());
        let gpu = Gpu { calibration: &calibration, multiprocessors: 132 };
        let plan = plan(&gpu, 4);
        for &format in Format::ALL {
            let matrices = plan.values().filter(|formats| formats.contains(&format)).count();
            // With T = 1 or 2, some of the seven are the same.
            assert_eq!((4..=7).contains(&matrices), Blocked::of(format).is_some(), "{format}: {matrices}");
        }
    }
}
