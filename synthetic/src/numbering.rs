//! How the vertices of a graph or a mesh are numbered.

use crate::bijection::Bijection;

words! {
    /// How vertices are numbered.
    Numbering: "natural or shuffled" {
        /// In the order of generation: neighbours have close numbers where possible.
        Natural = "natural",
        /// At random, so that neighbours are anywhere.
        Shuffled = "shuffled",
    }
}

impl Numbering {
    /// Returns the numbers of `length` vertices.
    pub(crate) fn of(self, length: usize, seed: u64) -> Order {
        Order((self == Self::Shuffled).then(|| Bijection::new(length, seed)))
    }
}

/// The numbers of vertices.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Order(Option<Bijection>);

impl Order {
    /// Returns the number of a vertex.
    pub(crate) fn number(&self, vertex: usize) -> usize {
        self.0.map_or(vertex, |bijection| bijection.forward(vertex))
    }

    /// Returns the vertex of a number.
    pub(crate) fn vertex(&self, number: usize) -> usize {
        self.0.map_or(number, |bijection| bijection.backward(number))
    }
}
