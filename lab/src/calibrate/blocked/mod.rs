//! The block size by the model of Choi, Singh & Vuduc 2010, §6, for BELLPACK and BCSR, to which the paper also fits it
//! (Fig. 11).
//!
//! [`Calibration`] predicts the time of every format, and is used by [`choose`](host::select::choose); this is the paper's
//! own rule, for comparison.

mod check;
mod dense;
mod model;

use host::Format;
use host::device::Tuning;
use host::format::{BellpackStrategy, BlockSize, PartitionRows, bcsr, bellpack};
use host::select::{Analysis, Calibration, Machine};

pub use check::BlockedCheck;
pub(super) use dense::BENCHMARK_FAMILY;
use dense::Benchmark;
pub use dense::measure_dense;
use model::{DenseTimes, Launch, Model, Multiprocessor, Needs};

use super::accuracy::{is_held_out, timed};
use crate::record::Entry;

/// Largest ratio of values in blocks to entries of the matrix at which a size is considered at all (§6.4): the paper
/// excludes 2.1 and 2.2, and keeps 1.13.
const LARGEST_FILL: f64 = 2.0;

/// A blocked format among which the model chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Blocked {
    /// BELLPACK with blocks of this size and partitions of R block rows.
    Bellpack(BlockSize, PartitionRows),
    /// BCSR with blocks of this size.
    Bcsr(BlockSize),
}

impl Blocked {
    /// Returns the blocks of a format; `None` for other formats.
    pub(super) fn of(format: Format) -> Option<Self> {
        match format {
            Format::Bellpack(BellpackStrategy { size, partition_rows }) => Some(Self::Bellpack(size, partition_rows)),
            Format::Bcsr(size) => Some(Self::Bcsr(size)),
            _ => None,
        }
    }

    fn size(self) -> BlockSize {
        match self {
            Self::Bellpack(size, _) | Self::Bcsr(size) => size,
        }
    }

    /// Returns a representative of the formats with the same kernel, which is the same for all R: thread blocks have a
    /// fixed size, where the paper's have R threads.
    fn kernel(self) -> Self {
        match self {
            Self::Bellpack(size, _) => Self::Bellpack(size, PartitionRows::default()),
            Self::Bcsr(_) => self,
        }
    }

    /// Returns the entry point of its kernel, with `lanes` lanes per block row if there are several variants.
    fn entry(self, lanes: u32, value_bytes: usize) -> String {
        match self {
            Self::Bellpack(size, _) => bellpack::entry(size, value_bytes),
            Self::Bcsr(size) => bcsr::entry(size, lanes, value_bytes),
        }
    }

    /// Returns the threads per block row and blocks of values per thread, N, as far as the analysis tells. BELLPACK's
    /// padding counts, as in the paper, although our threads skip it.
    fn work(self, analysis: &Analysis) -> Option<(u32, f64)> {
        let block_rows = analysis.rows.div_ceil(self.size().rows()).max(1);
        let fill = analysis.fill(self.size())?;
        Some(match self {
            Self::Bellpack(_, partition) => (1, fill.padded_blocks(partition.get()) / block_rows as f64),
            Self::Bcsr(_) => {
                let lanes = bcsr::lanes_for(fill.blocks().round() as usize, block_rows);
                (lanes, fill.steps(lanes) / block_rows as f64)
            }
        })
    }
}

/// Returns the kernels whose use of a multiprocessor is queried.
pub(super) fn entries() -> impl Iterator<Item = String> {
    let kernels = |size| {
        let lanes = bcsr::LANES.iter().map(move |&lanes| (Blocked::Bcsr(size), lanes));
        lanes.chain([(Blocked::Bellpack(size, PartitionRows::default()), 1)])
    };
    let kernels = BlockSize::ALL.iter().flat_map(move |&size| kernels(size));
    kernels.flat_map(|(blocked, lanes)| [4, 8].map(|bytes| blocked.entry(lanes, bytes)))
}

/// The GPU, as the model represents it.
#[derive(Clone, Copy, Debug)]
struct Gpu<'a> {
    calibration: &'a Calibration,
    /// M; 0 without a GPU.
    multiprocessors: u32,
}

impl<'a> Gpu<'a> {
    const MULTIPROCESSOR: Multiprocessor = Multiprocessor::H200;

    fn new(machine: &Machine, calibration: &'a Calibration) -> Self {
        let multiprocessors = (machine.resident_threads / u64::from(Self::MULTIPROCESSOR.threads())) as u32;
        Self { calibration, multiprocessors }
    }

    /// Returns the threads per block, K.
    fn threads() -> u32 {
        Tuning::default().threads_per_block()
    }

    /// Returns T of a kernel; limited only by warps if the calibration does not have its registers.
    fn resident(&self, entry: &str) -> u32 {
        let unknown = Needs { threads: Self::threads(), registers: 0, shared_bytes: 0 };
        let resources = self.calibration.kernel_resources(entry);
        let needs = resources.map_or(unknown, |resources| Needs::of_kernel(&resources, Self::threads()));
        needs.resident_blocks(&Self::MULTIPROCESSOR)
    }

    /// Returns the model's description of a multiplication; `None` without a GPU, or if the analysis is insufficient.
    fn launch(&self, analysis: &Analysis, blocked: Blocked) -> Option<Launch> {
        let (lanes, values) = blocked.work(analysis)?;
        let threads = analysis.rows.div_ceil(blocked.size().rows()) as u64 * u64::from(lanes);
        (self.multiprocessors > 0).then(|| Launch {
            blocks: threads.div_ceil(Self::threads().into()),
            resident: self.resident(&blocked.entry(lanes, analysis.value_bytes)),
            multiprocessors: self.multiprocessors,
            values,
        })
    }
}

/// A kernel's model, and the origin of its numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Fitted {
    /// A representative of its formats.
    kernel: Blocked,
    value_bytes: usize,
    model: Model,
    /// Whether it is made by eq. 15 to 17 from their matrices, or by least squares from others.
    by_equations: bool,
}

/// The model of each kernel that was measured on dense matrices.
pub(super) struct Models<'a> {
    gpu: Gpu<'a>,
    fitted: Vec<Fitted>,
}

impl<'a> Models<'a> {
    /// Makes the models from the entries of dense matrices: by the paper's equations if [`measure_dense`] measured their
    /// matrices, otherwise by least squares from all that are not held out.
    pub(super) fn new(entries: &[&Entry], machine: &Machine, calibration: &'a Calibration) -> Self {
        let gpu = Gpu::new(machine, calibration);
        let dense: Vec<_> = entries.iter().filter_map(|entry| dense::of(entry)).collect();
        let mut kernels = Vec::new();
        for (entry, analysis) in &dense {
            for (format, ..) in timed(entry) {
                let kernel = Blocked::of(format).map(|blocked| (blocked.kernel(), analysis.value_bytes));
                kernels.extend(kernel.filter(|kernel| !kernels.contains(kernel)));
            }
        }
        let fitted = kernels.into_iter().filter_map(|(kernel, value_bytes)| {
            let of_kernel = || dense.iter().filter(move |(_, analysis)| analysis.value_bytes == value_bytes);
            let seconds = |entry: &Entry| {
                let mut timed =
                    timed(entry).filter(|&(format, ..)| Blocked::of(format).map(Blocked::kernel) == Some(kernel));
                timed.next().map(|(_, _, seconds)| seconds)
            };
            let benchmark = Benchmark::new(&gpu, kernel, value_bytes)?;
            let times = benchmark.times(|shape| {
                of_kernel().filter(|(_, analysis)| shape.is_of(analysis)).find_map(|(entry, _)| seconds(entry))
            });
            let by_equations = times.map(|times| (Model::from_dense(&times), true));
            let (model, by_equations) = by_equations.or_else(|| {
                let measured = of_kernel().filter(|(entry, _)| !is_held_out(&entry.filename));
                let launches =
                    measured.filter_map(|(entry, analysis)| Some((gpu.launch(analysis, kernel)?, seconds(entry)?)));
                Some((Model::from_launches(&launches.collect::<Vec<_>>())?, false))
            })?;
            Some(Fitted { kernel, value_bytes, model, by_equations })
        });
        Self { fitted: fitted.collect(), gpu }
    }

    /// Returns the predicted seconds of a multiplication; `None` without a model.
    pub(super) fn seconds(&self, analysis: &Analysis, blocked: Blocked) -> Option<f64> {
        let is_of = |fitted: &&Fitted| fitted.kernel == blocked.kernel() && fitted.value_bytes == analysis.value_bytes;
        let fitted = self.fitted.iter().find(is_of)?;
        Some(fitted.model.seconds(&self.gpu.launch(analysis, blocked)?))
    }

    /// Returns the model's choice (Fig. 9): the least predicted time among those with sufficiently full blocks, or among
    /// all if there are none. Of several, the first.
    pub(super) fn choose(&self, analysis: &Analysis, among: &[Blocked]) -> Option<Blocked> {
        let is_full = |blocked: &Blocked| {
            let fill = analysis.fill(blocked.size()).map(|fill| fill.ratio(analysis.nnz));
            fill.is_some_and(|fill| fill <= LARGEST_FILL)
        };
        let any_full = among.iter().any(is_full);
        let possible = among.iter().filter(|blocked| !any_full || is_full(blocked));
        let predicted = possible.filter_map(|&blocked| Some((blocked, self.seconds(analysis, blocked)?)));
        predicted.min_by(|left, right| left.1.total_cmp(&right.1)).map(|(blocked, _)| blocked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use host::Csr;
    use host::executor::{Emulated, Executor};
    use host::select::Sampling;
    use synthetic::Generator;

    use crate::record::Run;

    /// One multiprocessor that hides nothing, and takes a second per value of a block and one per block: its time is the
    /// sum over all thread blocks.
    fn models(calibration: &Calibration) -> Models<'_> {
        let fitted = |kernel: Blocked| {
            let seconds = (kernel.size().places() + 1) as f64;
            let model = Model { start: 0.0, first: seconds, later: seconds, beside: seconds };
            Fitted { kernel, value_bytes: 8, model, by_equations: true }
        };
        let fitted = combinations().into_iter().map(Blocked::kernel).map(fitted).collect();
        Models { gpu: Gpu { calibration, multiprocessors: 1 }, fitted }
    }

    /// The 44 combinations of §6.6.
    fn combinations() -> Vec<Blocked> {
        let of_size = |&size: &BlockSize| PartitionRows::ALL.iter().map(move |&rows| Blocked::Bellpack(size, rows));
        BlockSize::ALL.iter().flat_map(of_size).collect()
    }

    fn analysis(text: &str) -> Analysis {
        let matrix: Csr<f64> = text.parse::<Generator>().unwrap().generate().unwrap();
        Analysis::with_sampling(&matrix, Sampling::Everything).unwrap()
    }

    fn calibration() -> Calibration {
        Calibration::shipped(Emulated::new(1).device())
    }

    #[test]
    fn the_choice_is_the_size_that_the_matrix_has() {
        let calibration = calibration();
        let models = models(&calibration);
        let combinations = combinations();
        assert_eq!(combinations.len(), 44);
        for (size, expected) in [(3, BlockSize::B3x3), (4, BlockSize::B4x4), (5, BlockSize::B5x5), (7, BlockSize::B7x7)]
        {
            let analysis = analysis(&format!("block-diagonal:blocks=1024,size={size}"));
            let chosen = models.choose(&analysis, &combinations).unwrap();
            // One block per thread, and 4 blocks of 256 threads; all partitions are equally good.
            assert_eq!(chosen, Blocked::Bellpack(expected, PartitionRows::R32), "{size}");
            assert_eq!(models.seconds(&analysis, chosen), Some(4.0 * (size * size + 1) as f64));
            assert_eq!(models.choose(&analysis, &[]), None);
        }
    }

    /// An entry of a dense matrix with one time of BELLPACK with 2 x 2 blocks.
    fn dense_entry(text: &str, seconds: impl Fn(&Analysis) -> f64) -> Entry {
        let analysis = analysis(text);
        let run = Run { completed: true, time: Some(seconds(&analysis)), ..Run::default() };
        let spmv = [("bellpack-2x2".to_owned(), run)].into();
        let family = Some("dense".into());
        Entry { filename: text.into(), family, analysis: Some(analysis), spmv, ..Entry::default() }
    }

    /// The four dense matrices of §6.3 determine a model by eq. 15 to 17; without the last one, it is fitted by least
    /// squares.
    #[test]
    fn equations_where_their_matrices_were_measured() {
        const MODEL: Model = Model { start: 3e-6, first: 4e-8, later: 2e-8, beside: 1e-8 };
        let calibration = calibration();
        let machine = Machine { has_kernels: true, resident_threads: 2048, cache_bytes: 0, shared_bytes: None };
        let gpu = Gpu::new(&machine, &calibration);
        let kernel = Blocked::Bellpack(BlockSize::B2x2, PartitionRows::default());
        // One multiprocessor, with 6 blocks of 256 threads of 40 registers.
        let texts = ["rows=512,columns=2", "rows=512,columns=16", "rows=3072,columns=16", "rows=3584,columns=16"];
        let seconds = |analysis: &Analysis| MODEL.seconds(&gpu.launch(analysis, kernel).unwrap());
        let entries = texts.map(|text| dense_entry(&format!("dense:{text}"), seconds));
        let all: Vec<_> = entries.iter().collect();
        let [fitted] = Models::new(&all, &machine, &calibration).fitted[..] else { panic!("one kernel") };
        assert!(fitted.by_equations);
        // σ_1,o includes γ of its one block, so γ is 7 eighths of the original.
        let Model { start, first, later, beside } = fitted.model;
        for (found, expected) in [(start, 3.04e-6), (first, 3.5e-8), (later, 2e-8), (beside, 1e-8)] {
            assert!((found / expected - 1.0).abs() < 1e-9, "{found} is not {expected}");
        }
        let models = Models::new(&all[..3], &machine, &calibration);
        assert!(models.fitted.len() == 1 && !models.fitted[0].by_equations);
    }

    /// Blocks that are mostly padding are not chosen although they are predicted to be fast; padding of partitions counts.
    #[test]
    fn what_is_mostly_padding_is_out_of_the_question() {
        let calibration = calibration();
        let mut models = models(&calibration);
        let analysis = analysis("stencil:5:40");
        for fitted in models.fitted.iter_mut().filter(|fitted| fitted.kernel.size() == BlockSize::B8x8) {
            fitted.model = Model { start: 0.0, first: 0.0, later: 0.0, beside: 0.0 };
        }
        let chosen = models.choose(&analysis, &combinations()).unwrap();
        assert!(analysis.fill(BlockSize::B8x8).unwrap().ratio(analysis.nnz) > LARGEST_FILL);
        assert_ne!(chosen.size(), BlockSize::B8x8);
        let only = [Blocked::Bellpack(BlockSize::B8x8, PartitionRows::R64)];
        assert_eq!(models.choose(&analysis, &only), Some(only[0]));
    }

    #[test]
    fn larger_partitions_have_more_padding() {
        let analysis = analysis("pareto:rows=5000,k=1.2");
        let values = |rows| Blocked::Bellpack(BlockSize::B2x2, rows).work(&analysis).unwrap().1;
        let values: Vec<_> = PartitionRows::ALL.iter().map(|&rows| values(rows)).collect();
        assert!(values.is_sorted() && values[0] < values[3], "{values:?}");
    }

    /// 4 x 4 on 132 multiprocessors of 256 threads: 100,000 block rows of one block.
    #[test]
    fn launches_by_hand() {
        let calibration = calibration();
        let gpu = Gpu { calibration: &calibration, multiprocessors: 132 };
        let analysis = analysis("block-diagonal:blocks=100000,size=4");
        // 48 registers: ⌊65536 / (48 · 256)⌋ = 5 blocks of threads.
        let bellpack = gpu.launch(&analysis, Blocked::Bellpack(BlockSize::B4x4, PartitionRows::R256)).unwrap();
        assert_eq!(bellpack, Launch { blocks: 391, resident: 5, multiprocessors: 132, values: 1.0 });
        // Two lanes per block row.
        let bcsr = gpu.launch(&analysis, Blocked::Bcsr(BlockSize::B4x4)).unwrap();
        assert_eq!((bcsr.blocks, bcsr.values), (782, 1.0));
        let cpu = Gpu { multiprocessors: 0, ..gpu };
        assert_eq!(cpu.launch(&analysis, Blocked::Bcsr(BlockSize::B4x4)), None);
    }

    /// The calibration shipped with the library has the kernels of BELLPACK.
    #[test]
    fn the_resources_of_the_kernels_are_known() {
        let calibration = calibration();
        for entry in entries().filter(|entry| entry.starts_with("bellpack")) {
            let resources = calibration.kernel_resources(&entry).unwrap();
            assert!((16..=255).contains(&resources.registers), "{entry}: {resources:?}");
            assert!(resources.most_threads >= Gpu::threads(), "{entry}: {resources:?}");
        }
        // Other kernels are limited by warps: 64 of them, 8 per block.
        let gpu = Gpu { calibration: &calibration, multiprocessors: 1 };
        assert_eq!((calibration.kernel_resources("bellpack"), gpu.resident("bellpack")), (None, 8));
    }
}
