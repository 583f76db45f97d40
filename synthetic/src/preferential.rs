//! Graphs that grow by preferential attachment (Barabási & Albert 1999).

use std::ops::Range;

use host::format::{Csr, LARGEST_DIMENSION};
use host::real::Scalar;

use crate::draw::{below, mix};
use crate::edges::{EdgeByEdge, assemble_edges};
use crate::options::{check_dimension, check_range};
use crate::{Error, Generate, Help};

const HELP: Help = Help {
    name: "barabasi-albert",
    form: "barabasi-albert:vertices=N,edges-per-vertex=N[,seed=0]",
    about: "graph that grows by preferential attachment: P(degree = d) falls as d^-3",
};

/// The symmetric adjacency matrix of a Barabási-Albert graph: vertices are added one by one, each with
/// `edges_per_vertex` edges to earlier vertices, which are chosen with probability in proportion to their number of
/// edges so far.
///
/// In one list of ends, two per edge, the second end of an edge is a copy of a random end before it (Batagelj & Brandes
/// 2005, algorithm 5). Which one is a hash of the edge's number, so any edge is found without the list by following
/// copies back to a first end: at most O(log n) steps with high probability, and no edge waits for another (Sanders &
/// Schulz 2016, "Scalable generation of scale-free graphs"). As there, a vertex may choose itself (a diagonal entry) or
/// another twice (one entry). The values are uniform with magnitudes from 1/2 to 1 and either sign, the same at both
/// ends of an edge.
///
/// ```
/// use host::Csr;
/// use synthetic::{BarabasiAlbert, Generate};
///
/// let matrix: Csr<f32> = BarabasiAlbert::new(1000, 4).generate()?;
/// assert!(matrix.nnz() > 7500 && matrix.nnz() <= 8000);
/// # Ok::<(), synthetic::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BarabasiAlbert {
    /// Number of vertices, at least 1.
    pub vertices: usize,
    /// Number of edges that each vertex adds, at least 1.
    pub edges_per_vertex: usize,
    /// The seed of the random numbers.
    pub seed: u64,
}

impl BarabasiAlbert {
    /// A graph, seed 0.
    pub fn new(vertices: usize, edges_per_vertex: usize) -> Self {
        Self { vertices, edges_per_vertex, seed: 0 }
    }
}

parameters!(BarabasiAlbert { vertices = "vertices", edges_per_vertex = "edges-per-vertex", seed = "seed" or 0 });

impl Generate for BarabasiAlbert {
    const HELP: &'static [Help] = &[HELP];
    const MAKES_ALL_EDGES: bool = true;

    fn from_options(_: &str, text: &str) -> Result<Self, Error> {
        Self::from_pairs(text)
    }

    fn times(&self, factor: usize) -> Result<Self, Error> {
        Ok(Self { vertices: self.vertices.saturating_mul(factor), ..*self })
    }

    fn check(&self) -> Result<(), Error> {
        check_dimension(HELP, "vertices", self.vertices)?;
        check_range(HELP, "edges-per-vertex", self.edges_per_vertex, 1..=LARGEST_DIMENSION)
    }

    fn rows(&self) -> usize {
        self.vertices
    }

    fn columns(&self) -> usize {
        self.vertices
    }

    /// As if all edges were distinct.
    fn expected_nnz(&self) -> u128 {
        (self.vertices as u128 * self.edges_per_vertex as u128).saturating_mul(2)
    }

    fn generate_rows<T: Scalar>(&self, wanted: Range<usize>) -> Result<Csr<T>, Error> {
        assemble_edges(self, wanted)
    }
}

impl EdgeByEdge for BarabasiAlbert {
    fn seed(&self) -> u64 {
        self.seed
    }

    fn edges_of(&self, vertex: usize, mut edge: impl FnMut(usize, usize)) -> Result<(), host::Error> {
        for number in vertex * self.edges_per_vertex..(vertex + 1) * self.edges_per_vertex {
            // In the list of ends, an edge's own vertex has an even index, and the copy follows it.
            let mut place = 2 * number as u64 + 1;
            while place % 2 == 1 {
                place = below(mix(self.seed, place, 0), place);
            }
            edge(vertex, (place / 2) as usize / self.edges_per_vertex);
        }
        Ok(())
    }
}
