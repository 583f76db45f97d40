//! Laplacians on regular grids (000 §4.2, Table 2).

use std::fmt;
use std::ops::Range;

use host::format::{Csr, LARGEST_DIMENSION};
use host::real::Real;
use rand_chacha::ChaCha8Rng;

use crate::assemble::{RowByRow, assemble};
use crate::options::{Options, check_dimension, number, unfit};
use crate::{Error, Generate, Help};

/// The Laplace operator as a stencil on a regular grid, by its number of points. Each variant has the edges
/// of its grid, that of the fastest-running coordinate first: the point (x, y, z) of a grid of
/// `[width, height, depth]` is row (z · height + y) · width + x.
///
/// The entry of a point itself is the number of its neighbours in the stencil, points − 1, and that of each
/// neighbour is −1. Neighbours outside the grid have no entry (a Dirichlet boundary), so that the matrix is
/// symmetric and its rows sum to 0 except at the boundary. Nothing is random.
///
/// As text `stencil:POINTS:GRID`, with the edges of the grid joined by `x` or one edge for all; or
/// `stencil:points=POINTS,grid=GRID`.
///
/// ```
/// use host::Csr;
/// use synthetic::{Generate, Stencil};
///
/// let matrix: Csr<f64> = Stencil::Points5([3, 2]).generate()?;
/// assert_eq!(matrix.row(1).collect::<Vec<_>>(), [(0, -1.0), (1, 4.0), (2, -1.0), (4, -1.0)]);
/// # Ok::<(), synthetic::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stencil {
    /// Both neighbours on a line.
    Points3([usize; 1]),
    /// The four nearest neighbours in a plane.
    Points5([usize; 2]),
    /// The six nearest neighbours in space.
    Points7([usize; 3]),
    /// The eight neighbours in a plane, diagonal ones too.
    Points9([usize; 2]),
    /// The 26 neighbours in space, diagonal ones too.
    Points27([usize; 3]),
}

impl Stencil {
    /// A stencil by its number of points, on a grid with the given edges; one edge stands for all.
    ///
    /// # Errors
    /// When there is no such stencil, or the number of edges is not that of its dimensions.
    pub fn new(points: usize, edges: &[usize]) -> Result<Self, Error> {
        Ok(match points {
            3 => Self::Points3(grid(edges)?),
            5 => Self::Points5(grid(edges)?),
            7 => Self::Points7(grid(edges)?),
            9 => Self::Points9(grid(edges)?),
            27 => Self::Points27(grid(edges)?),
            _ => return Err(unfit(Self::HELP, "points", points, "3, 5, 7, 9 or 27")),
        })
    }

    /// Number of points of the stencil.
    pub fn points(&self) -> usize {
        match self {
            Self::Points3(_) => 3,
            Self::Points5(_) => 5,
            Self::Points7(_) => 7,
            Self::Points9(_) => 9,
            Self::Points27(_) => 27,
        }
    }

    /// The edges of the grid, that of the fastest-running coordinate first.
    pub fn edges(&self) -> &[usize] {
        match self {
            Self::Points3(edges) => edges,
            Self::Points5(edges) | Self::Points9(edges) => edges,
            Self::Points7(edges) | Self::Points27(edges) => edges,
        }
    }

    /// Whether diagonal neighbours belong to the stencil.
    fn has_diagonals(&self) -> bool {
        matches!(self, Self::Points9(_) | Self::Points27(_))
    }

    /// The edges as those of a grid in space.
    fn grid(&self) -> [usize; 3] {
        let mut grid = [1; 3];
        for (edge, &given) in grid.iter_mut().zip(self.edges()) {
            *edge = given;
        }
        grid
    }

    /// The coordinates near those of a row's point, and the coordinates themselves.
    fn near(&self, row: usize) -> [(usize, Range<usize>); 3] {
        let [width, height, depth] = self.grid();
        let line = row / width;
        [(row % width, width), (line % height, height), (line / height, depth)]
            .map(|(at, edge)| (at, at.saturating_sub(1)..(at + 2).min(edge)))
    }
}

fn grid<const DIMENSIONS: usize>(edges: &[usize]) -> Result<[usize; DIMENSIONS], Error> {
    match edges {
        &[edge] => Ok([edge; DIMENSIONS]),
        _ => edges
            .try_into()
            .map_err(|_| unfit(Stencil::HELP, "grid", Edges(edges), format!("one edge or {DIMENSIONS} joined by x"))),
    }
}

/// Edges as they are written.
struct Edges<'a>(&'a [usize]);

impl fmt::Display for Edges<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, edge) in self.0.iter().enumerate() {
            write!(f, "{}{edge}", if place == 0 { "" } else { "x" })?;
        }
        Ok(())
    }
}

impl fmt::Display for Stencil {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", Self::HELP.name, self.points(), Edges(self.edges()))
    }
}

impl Generate for Stencil {
    const HELP: Help = Help {
        name: "stencil",
        form: "stencil:POINTS:GRID",
        about: "Laplacian of 3, 5, 7, 9 or 27 points on a grid such as 100 or 100x200x50",
    };

    fn from_options(text: &str) -> Result<Self, Error> {
        let (points, edges) = match text.split_once(':') {
            Some((points, edges)) => (number(Self::HELP, "points", points)?, edges),
            None => {
                let options = Options::parse(Self::HELP, text, &["points", "grid"])?;
                (options.required("points")?, options.text("grid")?)
            }
        };
        let edges: Vec<usize> =
            edges.split('x').map(|edge| number(Self::HELP, "grid", edge)).collect::<Result<_, _>>()?;
        let stencil = Self::new(points, &edges)?;
        stencil.check()?;
        Ok(stencil)
    }

    fn check(&self) -> Result<(), Error> {
        for &edge in self.edges() {
            check_dimension(Self::HELP, "grid", edge)?;
        }
        if self.rows() > LARGEST_DIMENSION {
            let expected = format!("a grid of at most {LARGEST_DIMENSION} points");
            return Err(unfit(Self::HELP, "grid", Edges(self.edges()), expected));
        }
        Ok(())
    }

    fn rows(&self) -> usize {
        self.edges().iter().fold(1, |points: usize, &edge| points.saturating_mul(edge))
    }

    fn columns(&self) -> usize {
        self.rows()
    }

    fn expected_nnz(&self) -> u128 {
        let product = |edges: [u128; 3]| edges.iter().fold(1, |product: u128, &edge| product.saturating_mul(edge));
        let grid = self.grid().map(|edge| edge as u128);
        if self.has_diagonals() {
            // In each direction a coordinate has three near it, but two at either end.
            return product(grid.map(|edge| (3 * edge).saturating_sub(2)));
        }
        // Each direction joins the points of a line in pairs, and each pair has two entries.
        let pairs = |direction: usize| {
            let mut grid = grid;
            grid[direction] = grid[direction].saturating_sub(1);
            product(grid)
        };
        (0..3).fold(product(grid), |entries, direction| entries.saturating_add(pairs(direction).saturating_mul(2)))
    }

    fn generate<T: Real>(&self) -> Result<Csr<T>, Error> {
        assemble(self)
    }
}

impl RowByRow for Stencil {
    fn length(&self, row: usize, _: &mut ChaCha8Rng) -> u32 {
        let near = self.near(row).map(|(_, near)| near.len() as u32);
        if self.has_diagonals() { near.iter().product() } else { near.iter().sum::<u32>() - 2 }
    }

    fn fill<T: Real>(&self, row: usize, _: &mut ChaCha8Rng, columns: &mut [u32], values: &mut [T]) {
        let [width, height, _] = self.grid();
        let [(x, near_x), (y, near_y), (z, near_z)] = self.near(row);
        let mut entry = 0;
        for line_z in near_z {
            for line_y in near_y.clone() {
                let directions = usize::from(line_z != z) + usize::from(line_y != y);
                let on_line = match directions {
                    _ if self.has_diagonals() => near_x.clone(),
                    0 => near_x.clone(),
                    1 => x..x + 1,
                    _ => continue,
                };
                let begin = (line_z * height + line_y) * width;
                for column in begin + on_line.start..begin + on_line.end {
                    columns[entry] = column as u32;
                    values[entry] = T::from_f64(if column == row { self.points() as f64 - 1.0 } else { -1.0 });
                    entry += 1;
                }
            }
        }
    }
}
