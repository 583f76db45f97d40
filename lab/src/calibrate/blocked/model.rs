//! The time of a launch by the model of Choi, Singh & Vuduc 2010, §6.1 to 6.3: a GPU processes thread blocks in iterations,
//! in each of which every multiprocessor holds as many as fit.

use cuda_std::warp::WARP_LANES;
use host::device::KernelResources;

use crate::calibrate::least_squares::fit;

/// The resources of a multiprocessor (Table 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Multiprocessor {
    /// Threads per warp, W.
    pub warp_threads: u32,
    /// Largest number of resident warps, W_SM.
    pub warps: u32,
    /// Largest number of resident thread blocks, T_SM.
    pub blocks: u32,
    /// Registers, R_SM.
    pub registers: u32,
    /// Bytes of shared memory, S_SM.
    pub shared_bytes: u32,
}

impl Multiprocessor {
    /// Returns the largest number of resident threads.
    pub fn threads(&self) -> u32 {
        self.warps * self.warp_threads
    }

    /// The multiprocessor of the H200 (compute capability 9.0).
    pub const H200: Self =
        Self { warp_threads: WARP_LANES, warps: 64, blocks: 32, registers: 1 << 16, shared_bytes: 228 << 10 };
}

/// The resources that a kernel needs (Table 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    /// Threads per block, K; at least 1.
    pub threads: u32,
    /// Registers per thread.
    pub registers: u32,
    /// Bytes of shared memory per block, S_TB.
    pub shared_bytes: u32,
}

impl Needs {
    /// Returns the needs of a launch of a kernel with blocks of `threads` threads.
    pub fn of_kernel(resources: &KernelResources, threads: u32) -> Self {
        Self { threads, registers: resources.registers, shared_bytes: resources.shared_bytes }
    }

    /// Returns the number of thread blocks resident on a multiprocessor, T (eq. 8 to 12), but at least 1.
    pub fn resident_blocks(&self, of: &Multiprocessor) -> u32 {
        let warps = self.threads.div_ceil(of.warp_threads).max(1);
        let by_warps = of.blocks.min(of.warps / warps);
        let by_registers = of.registers.checked_div(self.registers * warps * of.warp_threads).unwrap_or(by_warps);
        let by_shared = of.shared_bytes.checked_div(self.shared_bytes).unwrap_or(by_warps);
        by_warps.min(by_registers).min(by_shared).max(1)
    }
}

/// The work of a launch, in the paper's letters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Launch {
    /// Thread blocks, L.
    pub blocks: u64,
    /// Thread blocks resident on a multiprocessor, T; at least 1.
    pub resident: u32,
    /// Multiprocessors, M; at least 1.
    pub multiprocessors: u32,
    /// Blocks of values per thread, N.
    pub values: f64,
}

impl Launch {
    /// Returns the iterations, I (eq. 1).
    pub fn iterations(&self) -> u64 {
        self.blocks.div_ceil(self.at_once())
    }

    /// Returns T M, the thread blocks per iteration.
    fn at_once(&self) -> u64 {
        u64::from(self.resident) * u64::from(self.multiprocessors)
    }

    /// Returns the last factor of eq. 7 and 20: the thread blocks on a multiprocessor in the last iteration besides the
    /// first. If all iterations are full, the paper's L mod (T M) is 0, and is replaced by T M here.
    fn beside_the_last(&self) -> f64 {
        let last = self.blocks.saturating_sub(1) % self.at_once();
        (last / u64::from(self.multiprocessors)) as f64
    }
}

/// Seconds of a kernel on dense matrices, φ, from which its model is made (§6.3). All threads have β blocks of values,
/// except in [`start`](Self::start).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DenseTimes {
    /// β; at least 1.
    pub values: f64,
    /// T, at least 1.
    pub resident: u32,
    /// With one block of values per thread, and one thread block per multiprocessor.
    pub start: f64,
    /// With one thread block per multiprocessor.
    pub one: f64,
    /// With T thread blocks per multiprocessor.
    pub full: f64,
    /// With T + 1 thread blocks per multiprocessor.
    pub beyond: f64,
}

/// The numbers of the model for one kernel, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Model {
    /// Fixed time before everything else, σ_1,o.
    pub start: f64,
    /// Per block of values in the first iteration, γ.
    pub first: f64,
    /// Per block of values in a later iteration, γ'.
    pub later: f64,
    /// Per block of values of a further thread block on a multiprocessor, α / N: the time that is not hidden.
    pub beside: f64,
}

impl Model {
    /// Makes the model from the dense matrices of §6.3, by eq. 15 to 17. Numbers that noise makes negative become 0.
    pub fn from_dense(times: &DenseTimes) -> Self {
        let DenseTimes { values, resident, start, one, full, beyond } = *times;
        let others = f64::from(resident - 1).max(1.0);
        Self {
            start,
            first: ((one - start) / values).max(0.0),
            later: ((beyond - full) / values).max(0.0),
            beside: ((full - one) / (others * values)).max(0.0),
        }
    }

    /// Fits the model to the times of any launches of the kernel, with the least relative errors; `None` without
    /// measurements.
    pub fn from_launches(measured: &[(Launch, f64)]) -> Option<Self> {
        let measured: Vec<_> = measured.iter().filter(|(_, seconds)| *seconds > 0.0).collect();
        // A time is linear in the numbers of the model, so the coefficient of each is the time that it causes alone.
        let alone = [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]];
        let counts = |launch: &Launch| alone.map(|numbers| Self::from_numbers(numbers).seconds(launch));
        let rows: Vec<_> =
            measured.iter().map(|(launch, seconds)| counts(launch).map(|count| count / seconds)).collect();
        (!rows.is_empty()).then(|| Self::from_numbers(fit(&rows)))
    }

    fn from_numbers([start, first, later, beside]: [f64; 4]) -> Self {
        Self { start, first, later, beside }
    }

    /// Returns the seconds of a launch, t(N) (eq. 21); eq. 3 for one iteration.
    pub fn seconds(&self, launch: &Launch) -> f64 {
        let Self { start, first, later, beside } = self;
        let n = launch.values;
        // Eq. 13, 14 and 17.
        let (first_start, later_start, alpha) = (start + first * n, later * n, beside * n);
        // Eq. 18 to 20.
        let full = alpha * f64::from(launch.resident - 1);
        let (first_iteration, middle) = (first_start + full, later_start + full);
        let last_beside = alpha * launch.beside_the_last();
        match launch.iterations() {
            0 => *start,
            1 => first_start + last_beside,
            iterations => first_iteration + (iterations - 2) as f64 * middle + later_start + last_beside,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODEL: Model = Model { start: 4e-6, first: 3e-8, later: 2e-8, beside: 5e-9 };

    fn launch(blocks: u64, values: f64) -> Launch {
        Launch { blocks, resident: 4, multiprocessors: 30, values }
    }

    fn numbers(model: Model) -> [f64; 4] {
        [model.start, model.first, model.later, model.beside]
    }

    /// Eq. 2 and 3, iteration by iteration, each with the number of blocks of the busiest multiprocessor.
    fn by_iterations(launch: &Launch) -> f64 {
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

    /// Eq. 13 to 21 in whole seconds: σ_1(2) = 10 + 3 · 2 = 16, σ(2) = 2 · 2 = 4, α(2) = 1 · 2 = 2, T = 4 and M = 30.
    #[test]
    fn times_by_hand() {
        let model = Model { start: 10.0, first: 3.0, later: 2.0, beside: 1.0 };
        for (blocks, seconds) in [
            (30, 16.0),
            // 1 besides the first, ⌊(31 - 1) / 30⌋.
            (31, 18.0),
            // τ_1 = 16 + 2 · 3 = 22: one full iteration.
            (120, 22.0),
            // τ_I = 4.
            (121, 26.0),
            // 22 + τ = 4 + 2 · 3, and τ_I = 4 + 2 · ⌊(61 - 1) / 30⌋ = 8.
            (240 + 61, 40.0),
        ] {
            assert_eq!(model.seconds(&launch(blocks, 2.0)), seconds, "{blocks} blocks");
        }
    }

    /// Eq. 15 to 17 by hand, with β = 5 and T = 4.
    #[test]
    fn dense_matrices_give_the_numbers() {
        let times = DenseTimes { values: 5.0, resident: 4, start: 10.0, one: 25.0, full: 40.0, beyond: 50.0 };
        // γ = (25 - 10) / 5, γ' = (50 - 40) / 5, α / N = (40 - 25) / (3 · 5).
        assert_eq!(numbers(Model::from_dense(&times)), [10.0, 3.0, 2.0, 1.0]);
        // Nothing takes negative time, and with T = 1 there is no further thread block.
        let noisy = DenseTimes { resident: 1, full: 25.0, beyond: 20.0, ..times };
        assert_eq!(numbers(Model::from_dense(&noisy)), [10.0, 3.0, 0.0, 0.0]);
    }

    /// The fit inverts eq. 13 to 21.
    #[test]
    fn launches_give_the_numbers_back() {
        let launches: Vec<_> = [1, 30, 60, 120, 150, 500, 4000]
            .into_iter()
            .flat_map(|blocks| [2.0, 40.0].map(|values| launch(blocks, values)))
            .map(|launch| (launch, MODEL.seconds(&launch)))
            .collect();
        let found = Model::from_launches(&launches).unwrap();
        for (found, truth) in numbers(found).into_iter().zip(numbers(MODEL)) {
            assert!((found / truth - 1.0).abs() < 1e-3, "{found} is not {truth}");
        }
        assert_eq!(Model::from_launches(&[]), None);
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
            // More than available: one, and the launch fails elsewhere.
            (512, 128, 0, 1),
        ] {
            let needs = Needs { threads, registers, shared_bytes };
            assert_eq!(needs.resident_blocks(&gpu), resident, "{needs:?}");
        }
        let resources = KernelResources { registers: 56, shared_bytes: 0, most_threads: 1024 };
        assert_eq!(Needs::of_kernel(&resources, 256).resident_blocks(&Multiprocessor::H200), 4);
    }
}
