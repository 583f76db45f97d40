//! The products of one matrix with several vectors, in each format and by each peer.

use std::collections::BTreeMap;

use host::{Csr, Error, Multivector, Plan, Scalar, Vector};

use super::session::{Session, own_failure};
use crate::peers::BOUND;
use crate::record::{Product, Run};
use crate::subject::Subject;

impl<T: Scalar, S: Subject> Session<'_, '_, T, S> {
    /// Multiplies vectors of every requested shape in the plan's format, whose run with one vector is `single`. Empty if
    /// the format does not support several vectors.
    pub(super) fn products(&mut self, plan: &mut Plan<T, S>, single: &Run) -> Vec<Product> {
        if !plan.format().multiplies_multivectors() {
            return Vec::new();
        }
        let shapes = self.settings.shapes.iter();
        let products = shapes.map(|&shape| {
            let run = self.product(plan, shape).unwrap_or_else(|error| own_failure(&error));
            Product::new(shape, Some(single), run)
        });
        products.collect()
    }

    fn product(&mut self, plan: &mut Plan<T, S>, shape: Multivector) -> Result<Run, Error> {
        let x = self.columns.x(self.subject, shape)?;
        // Regardless of the format's property for one vector, each element of Y is one sum in a fixed order.
        let run = Run { reproducible: Some(true), ..self.described(plan, shape) };
        self.time_and_check(run, shape, BOUND, &mut |y| plan.apply_multivector(shape, T::ONE, &x, T::ZERO, y))
    }

    /// Multiplies vectors of every requested shape by each peer.
    pub(super) fn products_of_peers(&mut self, csr: &Csr<T, S::Memory>) -> BTreeMap<String, Vec<Product>> {
        let mut products: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for &shape in &self.settings.shapes {
            let present = self.subject.multivector_peers::<T>(shape).present.into_iter();
            let chosen: Vec<_> = present.filter(|peer| self.settings.peers.has(peer.name())).collect();
            if chosen.is_empty() {
                continue;
            }
            let x: Result<Vector<T, S>, _> = self.columns.x(self.subject, shape);
            for peer in chosen {
                let run = match &x {
                    Ok(x) => self.peer(peer.as_ref(), csr, x, shape),
                    Err(error) => Run { library: Some(peer.library()), ..Run::failed(error) },
                };
                products.entry(peer.name().to_owned()).or_default().push(Product::new(shape, None, run));
            }
        }
        products
    }
}
