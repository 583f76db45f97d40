//! What an iteration takes.

use std::cell::Cell;

use super::operator::Operator;
use crate::error::Error;
use crate::executor::Executor;
use crate::plan::Vector;
use crate::real::Real;

/// What an iteration takes, on average over those that a method queues together; all 0 if there was none.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Work {
    /// Products of the matrix with a vector.
    pub products: f64,
    /// Applications of the preconditioner to a vector.
    pub preconditionings: f64,
    /// Bytes of vectors that are read and written besides.
    pub vector_bytes: f64,
}

/// An operator whose applications to vectors are counted.
pub(super) struct Counted<'a, T: Real, E: Executor> {
    pub operator: &'a mut dyn Operator<T, E>,
    pub applications: &'a Cell<u64>,
}

impl<T: Real, E: Executor> Counted<'_, T, E> {
    fn count(&self, vectors: usize) {
        self.applications.set(self.applications.get() + vectors as u64);
    }
}

impl<T: Real, E: Executor> Operator<T, E> for Counted<'_, T, E> {
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
}
