//! Products with a matrix: code shared by all formats. How each format is multiplied is in the format's own files.

pub(crate) mod block;
pub(crate) mod fused;
mod interleaved;
pub(crate) mod intervals;
pub(crate) mod lanes;
pub(crate) mod multivector;
pub(crate) mod on_cpu;
mod operands;
mod product;
mod reference;
pub(crate) mod transposed;
mod workspace;

pub use fused::{Epilogue, ProductSums};
pub(crate) use fused::{Fused, FusedArguments, FusedOperands, FusedProduct};
pub(crate) use intervals::Intervals;
pub(crate) use multivector::MultivectorOperands;
pub use multivector::{Layout, Multivector};
pub(crate) use operands::{HostOperands, Operands, Vectors, scale, update};
pub(crate) use product::{MultivectorProduct, Product, ProductOperands, Reservation, SliceProduct, TransposedProduct};
pub(crate) use workspace::{Carries, Room, Workspace};
