//! Costs of DIA.

use super::dia_bytes;
use super::strategy::Strategy;
use crate::real::Scalar;
use crate::select::analysis::Analysis;
use crate::select::costs::{Costs, Exclusion, Shape, Stored, WARP_LANES};
use crate::select::locality::SECTOR_BYTES;
use crate::select::machine::Machine;

impl Costs for Strategy {
    fn stored<V: Scalar>(self, analysis: &Analysis) -> Stored {
        let (rows, diagonals) = (analysis.rows, analysis.diagonals);
        let read = size_of::<V>() as u128 * diagonals.count as u128 * rows as u128;
        Stored { stored: dia_bytes::<V>(rows, diagonals.count), read, exact: diagonals.exact }
    }

    fn sectors<V: Scalar>(self, analysis: &Analysis) -> f64 {
        let [diagonals, rows, width] =
            [analysis.diagonals.count, analysis.rows, size_of::<V>()].map(|count| count as f64);
        diagonals * rows * width / SECTOR_BYTES as f64
    }

    /// x is read diagonal by diagonal.
    fn streams_x(self) -> bool {
        true
    }

    fn shape<V: Scalar>(self, analysis: &Analysis, _machine: &Machine) -> Shape {
        let diagonals = analysis.diagonals.count as f64;
        Shape::by_thread(analysis, diagonals * analysis.rows as f64 / WARP_LANES, diagonals)
    }

    fn exclusion<V: Scalar>(self, analysis: &Analysis, _machine: &Machine) -> Option<Exclusion> {
        // An inexact number of diagonals exceeds the limit.
        (!analysis.diagonals.exact).then_some(Exclusion::Fill)
    }
}
