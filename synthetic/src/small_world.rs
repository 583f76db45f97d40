//! Small-world graphs (Watts & Strogatz 1998).

use std::ops::Range;

use host::format::Csr;
use host::memory;
use host::real::Scalar;
use rand::RngExt;

use crate::draw::{Purpose, stream};
use crate::edges::{EdgeByEdge, assemble_edges};
use crate::options::{check_dimension, check_share, unfit};
use crate::{Error, Generate, Help};

const HELP: Help = Help {
    name: "small-world",
    form: "small-world:vertices=N,neighbours=EVEN,rewired=SHARE[,seed=0]",
    about: "Watts-Strogatz graph: a ring whose edges are moved to a random end with that probability",
};

/// The symmetric adjacency matrix of a Watts-Strogatz graph. Each vertex of a ring is joined to the `neighbours` / 2
/// next ones on either side; then each edge, with probability `rewired`, moves its far end to a random vertex that its
/// near end has not chosen so far.
///
/// The original moves the edges sequentially and avoids all existing ones. Here each vertex moves its own edges with
/// its own random numbers, so that all can at the same time, and avoids only those: now and then two vertices choose
/// each other, and their edges are one entry. The values are uniform with magnitudes from 1/2 to 1 and either sign, the
/// same at both ends of an edge.
///
/// ```
/// use host::Csr;
/// use synthetic::{Generate, SmallWorld};
///
/// let matrix: Csr<f32> = SmallWorld::new(1000, 6, 0.0).generate()?;
/// assert!(matrix.row(10).map(|(column, _)| column).eq([7, 8, 9, 11, 12, 13]));
/// # Ok::<(), synthetic::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SmallWorld {
    /// Number of vertices, more than `neighbours`.
    pub vertices: usize,
    /// Number of neighbours of each vertex before the edges are moved: even, at least 2.
    pub neighbours: usize,
    /// The probability that an edge is moved.
    pub rewired: f64,
    /// The seed of the random numbers.
    pub seed: u64,
}

impl SmallWorld {
    /// A small world, seed 0.
    pub fn new(vertices: usize, neighbours: usize, rewired: f64) -> Self {
        Self { vertices, neighbours, rewired, seed: 0 }
    }
}

parameters!(SmallWorld {
    vertices = "vertices",
    neighbours = "neighbours",
    rewired = "rewired",
    seed = "seed" or 0,
});

impl Generate for SmallWorld {
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
        if self.neighbours < 2 || !self.neighbours.is_multiple_of(2) || self.neighbours >= self.vertices {
            return Err(unfit(HELP, "neighbours", self.neighbours, "an even number from 2 to less than the vertices"));
        }
        check_share(HELP, "rewired", self.rewired)
    }

    fn rows(&self) -> usize {
        self.vertices
    }

    fn columns(&self) -> usize {
        self.vertices
    }

    /// As if all edges were distinct.
    fn expected_nnz(&self) -> u128 {
        self.vertices as u128 * self.neighbours as u128
    }

    fn generate_rows<T: Scalar>(&self, wanted: Range<usize>) -> Result<Csr<T>, Error> {
        assemble_edges(self, wanted)
    }
}

impl EdgeByEdge for SmallWorld {
    fn seed(&self) -> u64 {
        self.seed
    }

    fn edges_of(&self, vertex: usize, mut edge: impl FnMut(usize, usize)) -> Result<(), host::Error> {
        let mut random = stream(self.seed, Purpose::Row, vertex);
        let mut chosen = memory::with_capacity(self.neighbours / 2)?;
        for distance in 1..=self.neighbours / 2 {
            let mut end = (vertex + distance) % self.vertices;
            if random.random::<f64>() < self.rewired {
                end = random.random_range(0..self.vertices as u32) as usize;
                while end == vertex || chosen.contains(&end) {
                    end = random.random_range(0..self.vertices as u32) as usize;
                }
            }
            chosen.push(end);
            edge(vertex, end);
        }
        Ok(())
    }
}
