//! What a kernel does with a matrix, in the numbers that its time depends on.

use super::analysis::Analysis;
use super::costs::WARP_LANES;
use super::machine::Machine;
use super::traffic::Traffic;
use crate::format::{Format, NarrowType};

/// The numbers that a kernel's time is made of.
pub const TERMS: [&str; 8] = ["launch", "stream", "far", "gathered", "steps", "rows", "chain", "waves"];

/// One number for each of [`TERMS`].
pub type Terms = [f64; TERMS.len()];

/// What a multiplication takes, apart from how fast the device is.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelWork {
    /// The kernel, by a name that several formats may share.
    pub kernel: &'static str,
    /// What is moved.
    pub traffic: Traffic,
    /// By [`TERMS`]: launches, bytes that are streamed (the arrays and y), bytes of x from memory, those of y that are
    /// written out of order and those around tiles, bytes of x that are gathered, places that lanes go through, rows or whatever has an
    /// end of its own, the steps of the longest row, and those of a thread with work of the mean length.
    pub terms: Terms,
}

impl Analysis {
    /// The format that this one stands for with the matrix; see [`Format::resolve`]. For
    /// [`Format::Auto`] that is [`choose`](super::choose)'s business.
    pub fn resolve(&self, format: Format) -> Format {
        format.resolved_by(self.rows, || self.lengths.longest())
    }
}

/// The first of the formats that are stored as this one.
fn first_of_storage(format: Format) -> Format {
    Format::ALL.iter().copied().find(|other| other.shares_arrays(format)).unwrap_or(format)
}

impl KernelWork {
    /// The work of `format`, or of what it [stands for](Analysis::resolve).
    pub fn new(analysis: &Analysis, format: Format, machine: &Machine) -> Self {
        Self::with_values(analysis, format, machine, None)
    }

    /// The same with values in a narrower type, if the format can.
    pub fn with_values(analysis: &Analysis, format: Format, machine: &Machine, narrow: Option<NarrowType>) -> Self {
        let format = analysis.resolve(format);
        let format = if machine.has_kernels { format } else { first_of_storage(format) };
        let traffic = Traffic::with_values(analysis, format, machine, narrow);
        let shape = with_values!(analysis, V => format.shape::<V>(analysis, machine));
        let waves = (shape.threads / machine.resident_threads as f64).ceil();
        let [width, rows, columns] = [analysis.value_bytes, analysis.rows, analysis.columns].map(|count| count as f64);
        let (vectors, y) = (width * (rows + columns), width * rows);
        let streamed = traffic.needed as f64 - vectors + y * shape.writes;
        let terms = [
            format.launches_of_product(shape.beyond),
            streamed,
            traffic.far + shape.scattered + (shape.beyond * analysis.value_bytes as f64).min(y),
            traffic.gathered,
            shape.steps * WARP_LANES,
            shape.ends,
            shape.chain,
            waves * shape.mean,
        ];
        Self { kernel: format.kernel_name(analysis, machine, shape.beyond), traffic, terms }
    }
}
