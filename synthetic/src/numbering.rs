//! In which order the vertices of a graph or a mesh are numbered.

use crate::bijection::Bijection;

words! {
    /// How vertices are numbered.
    Numbering: "natural or shuffled" {
        /// As they are made: neighbours have near numbers, as far as they can.
        Natural = "natural",
        /// At random, so that neighbours are anywhere.
        Shuffled = "shuffled",
    }
}

impl Numbering {
    /// The numbers of `length` vertices.
    pub(crate) fn of(self, length: usize, seed: u64) -> Order {
        Order((self == Self::Shuffled).then(|| Bijection::new(length, seed)))
    }
}

/// The numbers of vertices.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Order(Option<Bijection>);

impl Order {
    /// The number of a vertex.
    pub(crate) fn number(&self, vertex: usize) -> usize {
        self.0.map_or(vertex, |bijection| bijection.forward(vertex))
    }

    /// The vertex of a number.
    pub(crate) fn vertex(&self, number: usize) -> usize {
        self.0.map_or(number, |bijection| bijection.backward(number))
    }
}
