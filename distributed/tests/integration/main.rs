//! Ranks as threads.

mod faults;
mod files;
#[path = "../../../tests/scenarios"]
#[allow(dead_code, reason = "the tests of the whole take the rest")]
mod shared {
    pub mod matrices;
    mod numbers;
    #[path = "../solvers/solver.rs"]
    pub mod solver;

    pub use numbers::Numbers;
}
#[cfg_attr(feature = "cuda", allow(dead_code, reason = "threads on GPUs are in the tests of the whole"))]
#[path = "../scenarios/mod.rs"]
mod scenarios;

use warp_spmv_distributed::threads;

use scenarios::SCENARIOS;

#[test]
fn every_scenario_works_on_any_number_of_threads() {
    for ranks in [1, 2, 3, 4, 7] {
        for (name, scenario) in SCENARIOS {
            if let Err(error) = threads::run(ranks, scenario) {
                panic!("{name} on {ranks} ranks: {error}");
            }
        }
    }
}
