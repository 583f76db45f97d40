//! The work of an iteration.

use std::cell::Cell;
use std::sync::Arc;

use super::operator::Operator;
use super::ranks::Ranks;
use host::ProductSums;
use host::error::Error;
use host::executor::Executor;
use host::plan::Vector;
use host::real::Scalar;

/// The work of an iteration, averaged over those that a method queues together; all 0 without iterations.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Work {
    /// Products of the matrix with a vector.
    pub products: f64,
    /// Applications of the preconditioner to a vector.
    pub preconditionings: f64,
    /// Bytes of vectors read and written otherwise.
    pub vector_bytes: f64,
}

/// Counts the work of an iteration.
pub(super) struct Counter<'a> {
    /// Applications of the matrix and of the preconditioner.
    applications: [&'a Cell<u64>; 2],
    iterations_at_once: u32,
    work: Work,
}

impl<'a> Counter<'a> {
    pub fn new(applications: [&'a Cell<u64>; 2], iterations_at_once: u32) -> Self {
        Self { applications, iterations_at_once: iterations_at_once.max(1), work: Work::default() }
    }

    /// Returns the work done so far, with `bytes` bytes of vectors.
    pub fn done(&self, bytes: u64) -> [u64; 3] {
        let [products, preconditionings] = self.applications;
        [products.get(), preconditionings.get(), bytes]
    }

    /// Takes the work done since `before` as that of the iterations queued together.
    pub fn take(&mut self, before: [u64; 3], bytes: u64) {
        let after = self.done(bytes);
        let taken = |what: usize| (after[what] - before[what]) as f64 / f64::from(self.iterations_at_once);
        self.work = Work { products: taken(0), preconditionings: taken(1), vector_bytes: taken(2) };
    }

    /// Returns the work of an iteration.
    pub fn work(&self) -> Work {
        self.work
    }
}

/// An operator whose applications to vectors are counted.
pub(super) struct Counted<'a, T: Scalar, E: Executor> {
    pub operator: &'a mut dyn Operator<T, E>,
    pub applications: &'a Cell<u64>,
}

impl<T: Scalar, E: Executor> Counted<'_, T, E> {
    fn count(&self, vectors: usize) {
        self.applications.set(self.applications.get().saturating_add(vectors as u64));
    }
}

impl<T: Scalar, E: Executor> Operator<T, E> for Counted<'_, T, E> {
    fn rows(&self) -> usize {
        self.operator.rows()
    }

    fn columns(&self) -> usize {
        self.operator.columns()
    }

    fn apply(&mut self, alpha: T, x: &Vector<T, E>, beta: T, y: &mut Vector<T, E>) -> Result<(), Error> {
        self.count(1);
        self.operator.apply(alpha, x, beta, y)
    }

    fn apply_with_sums(
        &mut self,
        alpha: T,
        x: &Vector<T, E>,
        beta: T,
        y: &mut Vector<T, E>,
        sums: ProductSums<'_, T, E::Memory>,
    ) -> Result<bool, Error> {
        let done = self.operator.apply_with_sums(alpha, x, beta, y, sums)?;
        if done {
            self.count(1);
        }
        Ok(done)
    }

    fn apply_transposed(&mut self, alpha: T, x: &Vector<T, E>, beta: T, y: &mut Vector<T, E>) -> Result<(), Error> {
        self.count(1);
        self.operator.apply_transposed(alpha, x, beta, y)
    }

    fn apply_columns(
        &mut self,
        vectors: usize,
        alpha: T,
        x: &Vector<T, E>,
        beta: T,
        y: &mut Vector<T, E>,
    ) -> Result<(), Error> {
        self.count(vectors);
        self.operator.apply_columns(vectors, alpha, x, beta, y)
    }

    fn ranks(&self) -> Option<Arc<dyn Ranks<E>>> {
        self.operator.ranks()
    }
}
