//! Requirements for every communicator: the same list for threads and for processes of MPI. A scenario runs on each rank,
//! and panics or fails if something is wrong.

pub mod collectives;
pub mod files;
pub mod graphs;
pub mod orders;
pub mod products;
pub mod solvers;

use warp_spmv_distributed::{Communicator, Error};

/// A named function to run on each rank.
pub type Scenario = (&'static str, fn(&Communicator) -> Result<(), Error>);

/// All scenarios.
pub const SCENARIOS: &[Scenario] = &[
    ("collectives", collectives::collectives),
    ("sums are added in the order of the ranks", collectives::sums_in_order),
    ("small and large contributions", collectives::small_and_large),
    ("exchanges", collectives::exchanges),
    ("float32", products::on_cpu::<f32>),
    ("float64", products::on_cpu::<f64>),
    ("complex64", products::on_cpu::<warp_spmv::Complex<f32>>),
    ("complex128", products::on_cpu::<warp_spmv::Complex<f64>>),
    ("reference", products::on_reference),
    ("emulator", products::on_emulator),
    ("halos", products::halos),
    ("several vectors", products::several_vectors),
    ("sums with products", products::sums_with_products),
    ("ways of exchanges", products::ways),
    ("timelines", products::timelines),
    ("generated rows", products::generated_rows),
    ("files of float64", files::round_trips::<f64>),
    ("files of complex64", files::round_trips::<warp_spmv::Complex<f32>>),
    ("files of rounded values", files::rounded_values),
    ("texts", files::texts),
    ("transposes", graphs::transposes),
    ("ranks of vertices", graphs::pageranks),
    ("orders", orders::orders),
    ("renumbered rows", orders::renumbered_rows::<f64>),
    ("renumbered rows of complex64", orders::renumbered_rows::<warp_spmv::Complex<f32>>),
    ("renumbered products", orders::products),
    ("methods", solvers::methods),
    ("methods on the emulator", solvers::on_emulator),
    ("preconditioners", solvers::preconditioners),
    ("limits", solvers::limits),
    ("eigenvalues", solvers::eigenvalues),
    ("several right-hand sides", solvers::several_right_hand_sides),
];
