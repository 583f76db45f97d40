//! Test matrices for SpMV, generated from a seed.
//!
//! Each generator is a small struct that says which matrix; [`Generator`] is any of them, and has a text form
//! for a command line. The same generator gives the same bits for any number of threads. It gives them on any
//! platform too, as far as the platform's `powf` agrees (see [`Pareto`]).
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

mod assemble;
mod draw;
mod error;
mod options;
#[macro_use]
mod registry;

mod banded;
mod pareto;
mod stencil;

pub use assemble::LARGEST_BYTES;
pub use error::Error;
pub use registry::{Generate, Help};

generators! {
    stencil::Stencil,
    pareto::Pareto,
    banded::Banded,
}
