//! The time model of Choi, Singh & Vuduc 2010, §6, for BELLPACK: a GPU goes through blocks of threads in iterations, and
//! in each one every multiprocessor has as many as it can hold.
//!
//! [`Calibration`] predicts the time of every format and is what [`choose`](host::select::choose) goes by; this is
//! the paper's own rule for the size of blocks, to compare with.

use cuda_std::warp::WARP_LANES;
use host::device::{KernelResources, Tuning};
use host::format::{BlockSize, PartitionRows, bellpack};
use host::select::{Analysis, Calibration};

use super::least_squares::fit;

/// What a multiprocessor has (Table 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Multiprocessor {
    /// Threads of a warp, W.
    pub warp_threads: u32,
    /// The most warps that it holds, W_SM.
    pub warps: u32,
    /// The most blocks of threads that it holds, T_SM.
    pub blocks: u32,
    /// Registers, R_SM.
    pub registers: u32,
    /// Bytes of shared memory, S_SM.
    pub shared_bytes: u32,
}

impl Multiprocessor {
    /// Threads that it holds at a time.
    pub fn threads(&self) -> u32 {
        self.warps * self.warp_threads
    }

    /// That of the H200 (compute capability 9.0).
    pub const H200: Self =
        Self { warp_threads: WARP_LANES, warps: 64, blocks: 32, registers: 1 << 16, shared_bytes: 228 << 10 };
}

/// What a kernel needs (Table 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    /// Threads of a block, K; at least 1.
    pub threads: u32,
    /// Registers of a thread.
    pub registers: u32,
    /// Bytes of shared memory of a block, S_TB.
    pub shared_bytes: u32,
}

impl Needs {
    /// Those of a launch of a kernel with blocks of so many threads.
    pub fn of_kernel(resources: &KernelResources, threads: u32) -> Self {
        Self { threads, registers: resources.registers, shared_bytes: resources.shared_bytes }
    }

    /// How many blocks of threads a multiprocessor holds at a time, T (eq. 8 to 12), but one at least.
    pub fn resident_blocks(&self, of: &Multiprocessor) -> u32 {
        let warps = self.threads.div_ceil(of.warp_threads).max(1);
        let by_warps = of.blocks.min(of.warps / warps);
        let by_registers = of.registers.checked_div(self.registers * warps * of.warp_threads).unwrap_or(by_warps);
        let by_shared = of.shared_bytes.checked_div(self.shared_bytes).unwrap_or(by_warps);
        by_warps.min(by_registers).min(by_shared).max(1)
    }
}

/// What a launch has to do, in the paper's letters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BlockedLaunch {
    /// Blocks of threads, L.
    pub blocks: u64,
    /// Blocks of threads that a multiprocessor holds at a time, T; at least 1.
    pub resident: u32,
    /// Multiprocessors, M; at least 1.
    pub multiprocessors: u32,
    /// Blocks of values that a thread reads, N.
    pub values: f64,
}

impl BlockedLaunch {
    /// What a multiplication in BELLPACK with blocks of this size is on a GPU with so many multiprocessors, as far as the
    /// analysis tells, and what the calibration knows of the kernel; none where they do not.
    pub fn of_bellpack(
        analysis: &Analysis,
        size: BlockSize,
        calibration: &Calibration,
        of: &Multiprocessor,
        multiprocessors: u32,
    ) -> Option<Self> {
        let threads = Tuning::default().threads_per_block();
        let block_rows = analysis.rows.div_ceil(size.rows());
        let values = analysis.fill(size)?.padded_blocks(PartitionRows::default().get()) / block_rows.max(1) as f64;
        let resources = calibration.kernel_resources(&bellpack::entry(size, analysis.value_bytes))?;
        Some(Self {
            blocks: block_rows.div_ceil(threads as usize) as u64,
            resident: Needs::of_kernel(&resources, threads).resident_blocks(of),
            multiprocessors,
            values,
        })
    }

    /// Iterations, I (eq. 1).
    pub fn iterations(&self) -> u64 {
        self.blocks.div_ceil(self.at_once())
    }

    /// T M, the blocks of an iteration.
    fn at_once(&self) -> u64 {
        u64::from(self.resident) * u64::from(self.multiprocessors)
    }

    /// The blocks of threads that a multiprocessor has in the last iteration besides the first: the last factor of
    /// eq. 20, for at least one block.
    fn beside_the_last(&self) -> u64 {
        let last = (self.blocks - 1) % self.at_once();
        last / u64::from(self.multiprocessors)
    }

    /// How often each of the model's numbers counts (eq. 13 to 21). With one iteration that is eq. 3.
    fn counts(&self) -> [f64; 4] {
        if self.blocks == 0 {
            return [1.0, 0.0, 0.0, 0.0];
        }
        let later = (self.iterations() - 1) as f64;
        let beside = later * f64::from(self.resident - 1) + self.beside_the_last() as f64;
        [1.0, self.values, self.values * later, self.values * beside]
    }
}

/// The numbers of the model for one kernel, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BlockedModel {
    /// What comes before everything, σ_1,o.
    pub start: f64,
    /// For each block of values in the first iteration, γ.
    pub first: f64,
    /// For each block of values in a later one, γ'.
    pub later: f64,
    /// For each block of values of a further block of threads on a multiprocessor, α / N: what it does not hide.
    pub beside: f64,
}

impl BlockedModel {
    /// From the times of any launches of the kernel, for the least relative errors; none without measurements.
    pub fn from_launches(measured: &[(BlockedLaunch, f64)]) -> Option<Self> {
        let measured: Vec<_> = measured.iter().filter(|(_, seconds)| *seconds > 0.0).collect();
        let rows: Vec<_> =
            measured.iter().map(|(launch, seconds)| launch.counts().map(|count| count / seconds)).collect();
        let [start, first, later, beside] = fit(&rows);
        (!rows.is_empty()).then_some(Self { start, first, later, beside })
    }

    /// Seconds of a launch, t(N) (eq. 21).
    pub fn seconds(&self, launch: &BlockedLaunch) -> f64 {
        let numbers = [self.start, self.first, self.later, self.beside];
        launch.counts().iter().zip(numbers).map(|(count, seconds)| count * seconds).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use host::executor::{Emulated, Executor};

    const MODEL: BlockedModel = BlockedModel { start: 4e-6, first: 3e-8, later: 2e-8, beside: 5e-9 };

    fn launch(blocks: u64, values: f64) -> BlockedLaunch {
        BlockedLaunch { blocks, resident: 4, multiprocessors: 30, values }
    }

    /// Eq. 2 and 3, iteration by iteration, each with as many blocks as the multiprocessor with the most has.
    fn by_iterations(launch: &BlockedLaunch) -> f64 {
        let mut left = launch.blocks;
        let mut seconds = MODEL.start;
        for iteration in 0.. {
            let now = left.min(u64::from(launch.resident * launch.multiprocessors));
            if now == 0 {
                break;
            }
            let most = now.div_ceil(launch.multiprocessors.into());
            let begin = if iteration == 0 { MODEL.first } else { MODEL.later };
            seconds += launch.values * (begin + MODEL.beside * (most - 1) as f64);
            left -= now;
        }
        seconds
    }

    #[test]
    fn the_time_is_that_of_all_iterations() {
        for blocks in [0, 1, 29, 30, 31, 119, 120, 121, 150, 151, 240, 241, 1000] {
            for values in [1.0, 7.5, 100.0] {
                let launch = launch(blocks, values);
                let expected = by_iterations(&launch);
                assert!((MODEL.seconds(&launch) / expected - 1.0).abs() < 1e-12, "{launch:?}");
            }
        }
        assert_eq!([120, 121].map(|blocks| launch(blocks, 1.0).iterations()), [1, 2]);
    }

    /// The fit undoes eq. 13 to 21.
    #[test]
    fn launches_give_the_numbers_back() {
        let launches: Vec<_> = [1, 30, 60, 120, 150, 500, 4000]
            .into_iter()
            .flat_map(|blocks| [2.0, 40.0].map(|values| launch(blocks, values)))
            .map(|launch| (launch, MODEL.seconds(&launch)))
            .collect();
        let found = BlockedModel::from_launches(&launches).unwrap();
        let numbers = |model: BlockedModel| [model.start, model.first, model.later, model.beside];
        for (found, truth) in numbers(found).into_iter().zip(numbers(MODEL)) {
            assert!((found / truth - 1.0).abs() < 1e-3, "{found} is not {truth}");
        }
        assert_eq!(BlockedModel::from_launches(&[]), None);
    }

    #[test]
    fn what_a_multiprocessor_holds_is_what_runs_out_first() {
        // The C1060 of the paper: compute capability 1.3.
        let gpu = Multiprocessor { warp_threads: 32, warps: 32, blocks: 8, registers: 16384, shared_bytes: 16384 };
        for (threads, registers, shared_bytes, resident) in [
            (32, 10, 0, 8),
            (128, 10, 0, 8),
            (256, 10, 0, 4),
            (256, 32, 0, 2),
            (128, 16, 4096, 4),
            (512, 10, 0, 2),
            (100, 16, 0, 8),
            // More than there is: one, and it fails elsewhere.
            (512, 128, 0, 1),
        ] {
            let needs = Needs { threads, registers, shared_bytes };
            assert_eq!(needs.resident_blocks(&gpu), resident, "{needs:?}");
        }
        let resources = KernelResources { registers: 56, shared_bytes: 0, most_threads: 1024 };
        assert_eq!(Needs::of_kernel(&resources, 256).resident_blocks(&Multiprocessor::H200), 4);
    }

    /// The calibration that comes with the library knows the kernels that the model needs.
    #[test]
    fn the_resources_of_the_kernels_are_known() {
        let device = Emulated::new(1).device().clone();
        let calibration = Calibration::shipped(&device);
        for &size in BlockSize::ALL {
            for value_bytes in [4, 8] {
                let resources = calibration.kernel_resources(&bellpack::entry(size, value_bytes)).unwrap();
                assert!((16..=255).contains(&resources.registers), "{size:?}: {resources:?}");
                assert!(resources.most_threads >= Tuning::default().threads_per_block(), "{size:?}: {resources:?}");
            }
        }
        assert_eq!(calibration.kernel_resources("bellpack"), None);
    }
}
