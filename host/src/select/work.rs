//! The work of a kernel on a matrix, as the numbers that its time depends on.

use super::analysis::Analysis;
use super::costs::WARP_LANES;
use super::machine::Machine;
use super::traffic::Traffic;
use crate::format::{Format, NarrowType};

/// The terms of a kernel's time.
pub const TERMS: [&str; 8] = ["launch", "stream", "far", "gathered", "steps", "rows", "chain", "waves"];

/// One number per term in [`TERMS`].
pub type Terms = [f64; TERMS.len()];

/// The work of a multiplication, independent of the device's speed.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelWork {
    /// The kernel, by a name that several formats may share.
    pub kernel: &'static str,
    /// Bytes stored and moved.
    pub traffic: Traffic,
    /// By [`TERMS`]: launches, streamed bytes (the arrays and y), bytes of x from memory plus those of y written out of
    /// order and those around tiles, gathered bytes of x, slots that lanes pass through, rows or other pieces that end
    /// separately, the steps of the longest row, and those of a thread with work of mean length.
    pub terms: Terms,
}

impl Analysis {
    /// The format that this one stands for with the matrix; see [`Format::resolve`]. [`Format::Auto`] is left to
    /// [`choose`](super::choose).
    pub fn resolve(&self, format: Format) -> Format {
        format.resolved_by(self.rows, || self.lengths.longest())
    }
}

/// The first of the formats with the same storage.
fn first_of_storage(format: Format) -> Format {
    Format::ALL.iter().copied().find(|other| other.shares_arrays(format)).unwrap_or(format)
}

impl KernelWork {
    /// The work of `format`, or of the one it [stands for](Analysis::resolve).
    pub fn new(analysis: &Analysis, format: Format, machine: &Machine) -> Self {
        Self::with_values(analysis, format, machine, None)
    }

    /// The same with values of a narrower type, if the format supports it.
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
