//! Dense-vector operations of solvers, on every executor: passes over elements, sums of products, arithmetic on those sums,
//! and blocks of several vectors.
//!
//! [`Space`] is the convenient interface. It holds the scalars of a method as 64-bit numbers in the executor's memory, in
//! numbered slots. Operations queued there run in order, without waiting for the host:
//!
//! ```
//! use solvers::dense::{Axpby, Dot, ONE, Space, Step};
//! use host::executor::{Cpu, Executor};
//!
//! # fn main() -> Result<(), host::Error> {
//! const PRODUCT: u32 = solvers::dense::FIRST_SLOT;
//! const NORM: u32 = PRODUCT + 1;
//! let cpu = Cpu::new();
//! let mut space = Space::new(&cpu, NORM + 1, 1)?;
//! let norm = space.program(&[Step::square_root(NORM, PRODUCT)])?;
//! let (x, mut y) = (cpu.upload(vec![3.0, 4.0])?, cpu.upload(vec![0.0, 0.0])?);
//! space.pass(Axpby, [ONE, ONE], [&x], [&mut y])?; // y ← 1 x + 1 y
//! space.pass(Dot, [], [&x, &y], [])?;
//! space.finish(PRODUCT, &norm)?; // the sum of the last pass, and what follows from it
//! assert_eq!(space.scalars()?[NORM as usize], 5.0);
//! # Ok(())
//! # }
//! ```
//!
//! Passes, sums and coefficients are real. Complex vectors are treated as vectors of their real and imaginary parts, so the
//! sum of products x · y is the real part of xᴴ y.
//!
//! The same call returns the same bits every time on the same device, and on the CPU for any number of threads. Once a
//! [`Step`] has stopped the arithmetic, all operations here leave everything unchanged until the scalars are
//! [set](Space::set) again.

mod block_diagonal;
mod columns;
mod complex;
mod mixed;
mod parts;
mod passes;
mod pseudo_random;
mod space;
mod sums;

pub use block_diagonal::LARGEST_BLOCK;
pub(crate) use block_diagonal::{BlockDiagonal, BlockDiagonalOperands, BlockDiagonalProduct};
pub(crate) use complex::{Apart, Blocks};
pub use gpu_kernels::dense::passes::{Axpby, Combined, Dot, DotAndSquare, Fill, Multiplied, Pass, Scaled, ScaledTwice};
// Passes of a single method.
#[doc(hidden)]
pub use gpu_kernels::dense::passes::{
    BicgstabDirection, BicgstabUpdate, CgUpdate, Correction, EigenResidual, LanczosUpdate, MinresUpdate,
    PagerankUpdate, PipelinedCgUpdate, PreconditionedBicgstabUpdate, PreconditionedPipelinedCgUpdate,
    SmoothAfterCoarse, SmoothFirst, SmoothNext,
};
pub use gpu_kernels::dense::program::{ITERATION, STATUS, Step};
#[doc(hidden)]
pub use mixed::{MixedOperands, MixedUpdate};
pub use parts::{Columns, ColumnsMut, Multicolumn, Part, PartMut};
pub(crate) use pseudo_random::PseudoRandom;
pub use space::{FIRST_SLOT, MINUS_ONE, ONE, Program, Space, ZERO};
pub(crate) use sums::{Compensated, Plain, Summation, with_summation};
