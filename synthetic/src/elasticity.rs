//! Elasticity on a three-dimensional mesh: blocks of 3 × 3.

use std::ops::Range;

use host::format::{Csr, LARGEST_DIMENSION};
use host::memory::with_capacity;
use host::real::Scalar;
use rand_chacha::ChaCha8Rng;

use crate::assemble::{RowByRow, assemble};
use crate::draw::{mix, unit};
use crate::numbering::{Numbering, Order};
use crate::options::{check_range, check_share, unfit};
use crate::{Error, Generate, Help};

const HELP: Help = Help {
    name: "elasticity",
    form: "elasticity:width=N[,height=WIDTH][,depth=HEIGHT][,cells=tetrahedra][,voids=0][,numbering=shuffled][,seed=0]",
    about: "3 x 3 blocks on an uneven mesh; cells tetrahedra or hexahedra, numbering natural or shuffled",
};

words! {
    /// The cells of a [mesh](Elasticity).
    Cells: "tetrahedra or hexahedra" {
        /// Each box is cut into six along one of its diagonals (Kuhn): an interior node has 14 neighbours.
        Tetrahedra = "tetrahedra",
        /// Boxes: an interior node has 26 neighbours.
        Hexahedra = "hexahedra",
    }
}

/// Maximum displacement of a node from its grid point, in each direction.
const JITTER: f64 = 0.3;

/// Stiffness of the spring between each node and its position, which makes the matrix positive definite.
const ANCHOR: f64 = 0.01;

/// A matrix as from finite elements for elasticity: three unknowns per node, its displacements, and a dense 3 × 3 block
/// for each node and each pair of nodes that share a cell.
///
/// The mesh is a grid of `width` · `height` · `depth` nodes, each displaced at random by up to 0.3 of a step, with
/// boxes between them that are cells or are cut into tetrahedra; a fraction of the boxes is void, which makes the
/// lengths of rows uneven. In `shuffled` numbering the nodes have random numbers, as in an unstructured mesh that has
/// not been reordered.
///
/// Neighbours are joined by springs of stiffness 1: the block of two nodes with unit vector n between them is −n nᵀ,
/// and that of a node itself is minus the sum of its others, plus 0.01 times the identity. The matrix is symmetric to
/// the last bit and positive definite.
///
/// ```
/// use host::Csr;
/// use synthetic::{Elasticity, Generate};
///
/// let matrix: Csr<f64> = Elasticity::new(10).generate()?;
/// assert_eq!((matrix.rows(), matrix.longest_row()), (3000, 45));
/// # Ok::<(), synthetic::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Elasticity {
    /// Number of nodes along the fastest-running coordinate, at least 2.
    pub width: usize,
    /// Number of nodes along the next one, at least 2.
    pub height: usize,
    /// Number of nodes along the slowest-running one, at least 2.
    pub depth: usize,
    /// The cells of the mesh.
    pub cells: Cells,
    /// The fraction of boxes that are missing, at random. A node without any cell has only its own block.
    pub voids: f64,
    /// The numbering of the nodes.
    pub numbering: Numbering,
    /// The seed of the random numbers.
    pub seed: u64,
}

impl Elasticity {
    /// A cube of tetrahedra without voids in shuffled numbering, seed 0.
    pub fn new(nodes: usize) -> Self {
        let (width, height, depth) = (nodes, nodes, nodes);
        Self { width, height, depth, cells: Cells::Tetrahedra, voids: 0.0, numbering: Numbering::Shuffled, seed: 0 }
    }

    /// The coordinates of the nodes, three per node, in the order of the numbering and in steps of the grid.
    ///
    /// # Errors
    /// When [`check`](Generate::check) fails, or memory runs out.
    pub fn positions(&self) -> Result<Vec<f64>, Error> {
        self.check()?;
        let order = self.numbering.of(self.nodes(), self.seed);
        let mut positions = with_capacity(self.rows())?;
        positions.extend((0..self.nodes()).flat_map(|node| self.position(self.coordinates(order.vertex(node)))));
        Ok(positions)
    }

    fn edges(&self) -> [usize; 3] {
        [self.width, self.height, self.depth]
    }

    fn nodes(&self) -> usize {
        self.width.saturating_mul(self.height).saturating_mul(self.depth)
    }

    /// Whether nodes with this offset can share a cell. The diagonal along which all boxes are cut has the same
    /// direction in every coordinate, and so does each edge of their tetrahedra.
    fn can_share(&self, offset: [isize; 3]) -> bool {
        let [up, down] = [1, -1].map(|direction| offset.contains(&direction));
        self.cells == Cells::Hexahedra || !(up && down)
    }

    fn is_void(&self, cell: [usize; 3]) -> bool {
        let number = (cell[2] * self.height + cell[1]) * self.width + cell[0];
        unit(mix(self.seed, number as u64, 3)) < self.voids
    }

    /// Whether two nodes share a cell that is not void.
    fn share(&self, node: [usize; 3], offset: [isize; 3]) -> bool {
        let edges = self.edges();
        // The boxes around both, by their first corner: one or two in each direction.
        let [x, y, z] = std::array::from_fn(|direction| {
            let (at, last) = (node[direction], edges[direction] - 2);
            match offset[direction] {
                0 => at.saturating_sub(1)..=at.min(last),
                1 => at..=at,
                _ => at - 1..=at - 1,
            }
        });
        z.into_iter().any(|z| y.clone().any(|y| x.clone().any(|x| !self.is_void([x, y, z]))))
    }

    fn position(&self, node: [usize; 3]) -> [f64; 3] {
        let number = (node[2] * self.height + node[1]) * self.width + node[0];
        std::array::from_fn(|direction| {
            node[direction] as f64 + JITTER * (2.0 * unit(mix(self.seed, number as u64, direction as u64)) - 1.0)
        })
    }

    fn coordinates(&self, node: usize) -> [usize; 3] {
        let line = node / self.width;
        [node % self.width, line % self.height, line / self.height]
    }

    /// Calls `visit` with each neighbour of a node, and with the node itself.
    fn for_each_near(&self, node: [usize; 3], mut visit: impl FnMut([usize; 3])) {
        for offset in offsets() {
            let near = std::array::from_fn(|direction| node[direction].wrapping_add_signed(offset[direction]));
            let inside = near.iter().zip(self.edges()).all(|(&at, edge)| at < edge);
            if inside && self.can_share(offset) && (offset == [0; 3] || self.voids == 0.0 || self.share(node, offset)) {
                visit(near);
            }
        }
    }
}

/// The 27 offsets of a node and those around it.
fn offsets() -> impl Iterator<Item = [isize; 3]> {
    (0..27).map(|number: isize| [number % 3 - 1, number / 3 % 3 - 1, number / 9 - 1])
}

parameters!(Elasticity {
    width = "width",
    height = "height" or width,
    depth = "depth" or height,
    cells = "cells" or Cells::Tetrahedra,
    voids = "voids" or 0.0,
    numbering = "numbering" or Numbering::Shuffled,
    seed = "seed" or 0,
});

impl Generate for Elasticity {
    const HELP: &'static [Help] = &[HELP];

    fn from_options(_: &str, text: &str) -> Result<Self, Error> {
        Self::from_pairs(text)
    }

    /// Along the slowest-running coordinate.
    fn times(&self, factor: usize) -> Result<Self, Error> {
        Ok(Self { depth: self.depth.saturating_mul(factor), ..*self })
    }

    fn check(&self) -> Result<(), Error> {
        for (name, edge) in ["width", "height", "depth"].into_iter().zip(self.edges()) {
            check_range(HELP, name, edge, 2..=LARGEST_DIMENSION)?;
        }
        check_share(HELP, "voids", self.voids)?;
        if self.rows() > LARGEST_DIMENSION {
            let expected = format!("a mesh of at most {} nodes", LARGEST_DIMENSION / 3);
            return Err(unfit(HELP, "depth", self.depth, expected));
        }
        Ok(())
    }

    fn rows(&self) -> usize {
        self.nodes().saturating_mul(3)
    }

    fn columns(&self) -> usize {
        self.rows()
    }

    /// The mean over the random voids; exact without them.
    fn expected_nnz(&self) -> u128 {
        // For each direction: the number of nodes with a given number of boxes around themselves and their neighbour.
        let around = |offset: isize, edge: usize| match offset {
            0 => [(2.0, 1), (edge as f64 - 2.0, 2)],
            _ => [(edge as f64 - 1.0, 1), (0.0, 1)],
        };
        let mut blocks = self.nodes() as f64;
        for offset in offsets().filter(|&offset| offset != [0; 3] && self.can_share(offset)) {
            for (x, boxes_x) in around(offset[0], self.width) {
                for (y, boxes_y) in around(offset[1], self.height) {
                    for (z, boxes_z) in around(offset[2], self.depth) {
                        blocks += x * y * z * (1.0 - self.voids.powi(boxes_x * boxes_y * boxes_z));
                    }
                }
            }
        }
        (blocks.round() as u128).saturating_mul(9)
    }

    fn generate_rows<T: Scalar>(&self, wanted: Range<usize>) -> Result<Csr<T>, Error> {
        self.check()?;
        assemble(self, &Rows { mesh: self, order: self.numbering.of(self.nodes(), self.seed) }, wanted)
    }
}

struct Rows<'a> {
    mesh: &'a Elasticity,
    order: Order,
}

impl RowByRow for Rows<'_> {
    fn length(&self, row: usize, _: &mut ChaCha8Rng) -> u32 {
        let mut length = 0;
        self.mesh.for_each_near(self.mesh.coordinates(self.order.vertex(row / 3)), |_| length += 3);
        length
    }

    fn fill<T: Scalar>(&self, row: usize, _: &mut ChaCha8Rng, columns: &mut [u32], values: &mut [T]) {
        let mesh = self.mesh;
        let node = mesh.coordinates(self.order.vertex(row / 3));
        let component = row % 3;
        let here = mesh.position(node);
        // The row's part of each neighbour's block, by the neighbour's number.
        let mut blocks = [(0, [0.0; 3]); 27];
        let (mut count, mut own) = (0, 0);
        let mut sum = [0.0; 3];
        mesh.for_each_near(node, |near| {
            let number = self.order.number((near[2] * mesh.height + near[1]) * mesh.width + near[0]);
            let mut part = [0.0; 3];
            if near == node {
                own = number;
            } else {
                let there = mesh.position(near);
                let apart: [f64; 3] = std::array::from_fn(|direction| there[direction] - here[direction]);
                let square = apart[0] * apart[0] + apart[1] * apart[1] + apart[2] * apart[2];
                for direction in 0..3 {
                    part[direction] = -(apart[component] * apart[direction]) / square;
                    sum[direction] += part[direction];
                }
            }
            blocks[count] = (number, part);
            count += 1;
        });
        let blocks = &mut blocks[..count];
        blocks.sort_unstable_by_key(|&(number, _)| number);
        for (entry, &(number, part)) in blocks.iter().enumerate() {
            for direction in 0..3 {
                let value = if number != own {
                    part[direction]
                } else {
                    -sum[direction] + if direction == component { ANCHOR } else { 0.0 }
                };
                columns[3 * entry + direction] = (3 * number + direction) as u32;
                values[3 * entry + direction] = T::from_f64(value);
            }
        }
    }
}
