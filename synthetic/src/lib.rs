//! Test matrices for SpMV, generated from a seed.
//!
//! Each generator is a small struct that describes its matrix; [`Generator`] is any of them, and has a text form for
//! the command line. The same generator gives the same bits for any number of threads, and also on any platform, as far
//! as the platform's `powf`, `exp`, `ln`, `sin` and `cos` agree (see [`Pareto`] and [`Gauge`]). [`reorder`] computes
//! other orders for the rows of a matrix.
//!
//! ```
//! use host::Csr;
//! use synthetic::{Generate, Generator, Pareto};
//!
//! let pareto = Pareto { seed: 7, ..Pareto::new(1000, 1.5) };
//! let matrix: Csr<f64> = pareto.generate()?;
//! assert_eq!(matrix.rows(), 1000);
//!
//! let generator: Generator = "pareto:rows=1000,k=1.5,seed=7".parse()?;
//! assert_eq!(generator, Generator::Pareto(pareto));
//! assert_eq!(generator.generate::<f64>()?, matrix);
//! # Ok::<(), synthetic::Error>(())
//! ```
#![forbid(unsafe_code)]

#[macro_use]
mod options;
#[macro_use]
mod registry;

mod assemble;
mod bijection;
mod draw;
mod edges;
mod error;
mod grid;
mod lengths;
mod numbering;
mod phases;

mod banded;
mod block_diagonal;
mod dense;
mod elasticity;
mod gauge;
mod helmholtz;
mod like;
mod pareto;
mod permutation;
mod preferential;
mod rectangle;
mod rmat;
mod small_world;
mod stencil;
mod uniform;

pub mod reorder;

pub use assemble::LARGEST_BYTES;
pub use elasticity::Cells;
pub use error::Error;
pub use grid::Grid;
pub use host::memory::available_memory;
pub use like::Table3;
pub use numbering::Numbering;
pub use registry::{Generate, Help};
pub use stencil::{Boundary, Points};
pub use uniform::RowLengths;

generators! {
    stencil::Stencil,
    pareto::Pareto,
    banded::Banded,
    dense::Dense,
    permutation::Permutation,
    uniform::Uniform,
    rmat::Rmat,
    small_world::SmallWorld,
    preferential::BarabasiAlbert,
    rectangle::Rectangle,
    block_diagonal::BlockDiagonal,
    elasticity::Elasticity,
    like::Like,
    helmholtz::Helmholtz,
    gauge::Gauge,
}
