//! Recursive random graphs (Chakrabarti, Zhan & Faloutsos 2004, "R-MAT").

use std::ops::Range;
use std::sync::OnceLock;

use host::format::Csr;
use host::memory;
use host::real::Scalar;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::Rng;
use rand_distr::{Distribution, Poisson};

use crate::assemble::{RowByRow, assemble};
use crate::draw::{Purpose, keep_distinct, stream, value};
use crate::numbering::{Numbering, Order};
use crate::options::{check_range, check_share, unfit};
use crate::{Error, Generate, Help};

const HELP: Help = Help {
    name: "rmat",
    form: "rmat:scale=N[,edges-per-vertex=16][,a=0.57][,b=0.19][,c=0.19][,numbering=natural][,seed=0]",
    about: "R-MAT graph of 2^scale vertices; numbering natural or shuffled",
};

/// Number of edges of a row that are drawn before duplicates are dropped.
const DRAWN_AT_ONCE: usize = 1 << 16;

/// The adjacency matrix of a directed R-MAT graph. Each edge falls into one of the four quarters of the matrix with
/// probability a, b (upper right), c (lower left) or d = 1 − a − b − c, then into a quarter of that, `scale` times.
/// Values are uniform with magnitudes from 1/2 to 1 and either sign.
///
/// An edge drawn more than once is one entry, so there are fewer nonzeros than edges;
/// [`expected_nnz`](Generate::expected_nnz) counts distinct ones. The number of edges is not fixed but from the Poisson
/// distribution with mean `edges_per_vertex` · 2^scale, which makes rows independent of each other: a row draws its own
/// number of edges, and their columns given the row, without any list of edges. The number uses the platform's `exp`
/// and `ln`, as in [`Pareto`](crate::Pareto).
///
/// The defaults are those of the Graph 500 benchmark, which also shuffles the vertices.
///
/// ```
/// use host::Csr;
/// use synthetic::{Generate, Rmat};
///
/// let matrix: Csr<f32> = Rmat::new(10).generate()?;
/// assert_eq!(matrix.rows(), 1024);
/// # Ok::<(), synthetic::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rmat {
    /// Logarithm to base 2 of the number of vertices, from 1 to 30.
    pub scale: usize,
    /// Mean number of edges per vertex, before duplicates are dropped; from 1 to 16 times the vertices.
    pub edges_per_vertex: usize,
    /// Probability of the upper left quarter.
    pub a: f64,
    /// Probability of the upper right quarter.
    pub b: f64,
    /// Probability of the lower left quarter.
    pub c: f64,
    /// How the vertices are numbered.
    pub numbering: Numbering,
    /// The seed of the random numbers.
    pub seed: u64,
}

impl Rmat {
    const EDGES: usize = 16;
    const A: f64 = 0.57;
    const B: f64 = 0.19;
    const C: f64 = 0.19;

    /// A graph with the parameters of the Graph 500 benchmark, in natural numbering, seed 0.
    pub fn new(scale: usize) -> Self {
        let (a, b, c) = (Self::A, Self::B, Self::C);
        Self { scale, edges_per_vertex: Self::EDGES, a, b, c, numbering: Numbering::Natural, seed: 0 }
    }

    /// The probability of the lower right quarter.
    fn d(&self) -> f64 {
        (1.0 - self.a - self.b - self.c).max(0.0)
    }

    fn mean_edges(&self) -> f64 {
        self.edges_per_vertex as f64 * (self.scale as f64).exp2()
    }
}

parameters!(Rmat {
    scale = "scale",
    edges_per_vertex = "edges-per-vertex" or Self::EDGES,
    a = "a" or Self::A,
    b = "b" or Self::B,
    c = "c" or Self::C,
    numbering = "numbering" or Numbering::Natural,
    seed = "seed" or 0,
});

impl Generate for Rmat {
    const HELP: &'static [Help] = &[HELP];

    fn from_options(_: &str, text: &str) -> Result<Self, Error> {
        Self::from_pairs(text)
    }

    fn times(&self, factor: usize) -> Result<Self, Error> {
        if !factor.is_power_of_two() {
            return Err(unfit(HELP, "times", factor, "a power of two"));
        }
        Ok(Self { scale: self.scale.saturating_add(factor.trailing_zeros() as usize), ..*self })
    }

    fn check(&self) -> Result<(), Error> {
        check_range(HELP, "scale", self.scale, 1..=30)?;
        // Nearly all edges are duplicates long before.
        let most = (self.rows() * Self::EDGES).min(u32::MAX as usize);
        check_range(HELP, "edges-per-vertex", self.edges_per_vertex, 1..=most)?;
        for (name, share) in [("a", self.a), ("b", self.b), ("c", self.c)] {
            check_share(HELP, name, share)?;
        }
        let sum = self.a + self.b + self.c;
        // Texts such as 0.1, 0.2 and 0.7 add up to a little more than 1.
        if sum > 1.0 + 1e-9 {
            return Err(unfit(HELP, "a + b + c", sum, "at most 1"));
        }
        Ok(())
    }

    fn rows(&self) -> usize {
        u32::try_from(self.scale).ok().and_then(|scale| 1usize.checked_shl(scale)).unwrap_or(usize::MAX)
    }

    fn columns(&self) -> usize {
        self.rows()
    }

    /// The mean number of entries that at least one edge falls on. Entries with the same numbers of a, b, c and d on
    /// their path have the same probability.
    fn expected_nnz(&self) -> u128 {
        let levels = self.scale.min(30);
        let power = |share: f64, exponent: usize| share.powi(exponent as i32);
        let choose = |from: usize, count: usize| {
            (0..count).fold(1.0, |product, step| product * (from - step) as f64 / (step + 1) as f64)
        };
        let mut sum = 0.0;
        for a in 0..=levels {
            for b in 0..=levels - a {
                for c in 0..=levels - a - b {
                    let d = levels - a - b - c;
                    let places = choose(levels, a) * choose(levels - a, b) * choose(levels - a - b, c);
                    let share = power(self.a, a) * power(self.b, b) * power(self.c, c) * power(self.d(), d);
                    sum -= places * (-share * self.mean_edges()).exp_m1();
                }
            }
        }
        sum as u128
    }

    fn generate_rows<T: Scalar>(&self, wanted: Range<usize>) -> Result<Csr<T>, Error> {
        self.check()?;
        let rows = Rows::new(self);
        let matrix = assemble(self, &rows, wanted)?;
        rows.failure.into_inner().map_or(Ok(matrix), |error| Err(error.into()))
    }
}

struct Rows<'a> {
    graph: &'a Rmat,
    order: Order,
    /// Probability that a column's bit is 1, given a row's bit of 0 and of 1, times 2^32.
    odds: [u64; 2],
    /// Set once memory for a row has run out: then no further rows are generated.
    failure: OnceLock<host::Error>,
}

impl<'a> Rows<'a> {
    fn new(graph: &'a Rmat) -> Self {
        let odds = [(graph.a, graph.b), (graph.c, graph.d())]
            .map(|(zero, one)| if one > 0.0 { (one / (zero + one) * 2f64.powi(32)) as u64 } else { 0 });
        Self { graph, order: graph.numbering.of(graph.rows(), graph.seed), odds, failure: OnceLock::new() }
    }

    /// Returns the columns of a row, the same ones at every call, or `None` if memory runs out or has run out.
    fn columns(&self, row: usize) -> Option<Vec<u32>> {
        if self.failure.get().is_some() {
            return None;
        }
        self.draw_columns(row).map_err(|error| self.failure.set(error)).ok()
    }

    fn draw_columns(&self, row: usize) -> Result<Vec<u32>, host::Error> {
        let vertex = self.order.vertex(row);
        let mut random = stream(self.graph.seed, Purpose::Row, row);
        let ones = vertex.count_ones() as i32;
        let zeros = self.graph.scale as i32 - ones;
        let mean = self.graph.mean_edges()
            * (self.graph.a + self.graph.b).powi(zeros)
            * (self.graph.c + self.graph.d()).powi(ones);
        let mut missing = Poisson::new(mean).map_or(0.0, |poisson| poisson.sample(&mut random)) as u64;
        let mut columns = Vec::new();
        while missing > 0 {
            let drawn = missing.min((DRAWN_AT_ONCE + columns.len()) as u64);
            memory::reserve(&mut columns, drawn as usize)?;
            columns.extend((0..drawn).map(|_| self.order.number(self.column(vertex, &mut random)) as u32));
            columns.sort_unstable();
            let distinct = keep_distinct(&mut columns);
            columns.truncate(distinct);
            missing -= drawn;
        }
        Ok(columns)
    }

    fn column(&self, vertex: usize, random: &mut ChaCha8Rng) -> usize {
        (0..self.graph.scale).fold(0, |column, level| {
            let one = u64::from(random.next_u32()) < self.odds[vertex >> level & 1];
            column | usize::from(one) << level
        })
    }
}

impl RowByRow for Rows<'_> {
    fn seed(&self) -> u64 {
        self.graph.seed
    }

    fn length(&self, row: usize, _: &mut ChaCha8Rng) -> u32 {
        self.columns(row).map_or(0, |columns| columns.len() as u32)
    }

    fn fill<T: Scalar>(&self, row: usize, random: &mut ChaCha8Rng, columns: &mut [u32], values: &mut [T]) {
        let Some(own) = self.columns(row) else { return };
        columns.copy_from_slice(&own);
        values.fill_with(|| value(random));
    }
}
