//! The costs of CSR, one thread per row.

use super::Strategy;
use crate::format::{CsrStrategy, csr};
use crate::real::Scalar;
use crate::select::analysis::Analysis;
use crate::select::costs::{Costs, Shape, Stored};
use crate::select::machine::Machine;

const CSR: csr::Strategy = csr::Strategy(CsrStrategy::Scalar);

impl Costs for Strategy {
    fn stored<V: Scalar>(self, analysis: &Analysis) -> Stored {
        CSR.stored::<V>(analysis)
    }

    fn sectors<V: Scalar>(self, analysis: &Analysis) -> f64 {
        CSR.sectors::<V>(analysis)
    }

    fn shape<V: Scalar>(self, analysis: &Analysis, machine: &Machine) -> Shape {
        CSR.shape::<V>(analysis, machine)
    }
}
