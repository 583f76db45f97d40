//! Laplacians on regular grids (Bell & Garland 2009, §4.2, Table 2).

use std::fmt;
use std::ops::Range;

use host::format::{Csr, LARGEST_DIMENSION};
use host::real::Scalar;
use rand_chacha::ChaCha8Rng;

use crate::assemble::{RowByRow, assemble};
use crate::options::{Options, check_dimension, number, unfit};
use crate::{Error, Generate, Help};

const HELP: Help = Help {
    name: "stencil",
    form: "stencil:POINTS:GRID",
    about: "Laplacian of 3, 5, 7, 9 or 27 points on a grid such as 100 or 100x200x50; \
            then ,boundary=periodic or ,boundary=neumann if not dirichlet",
};

/// The points of a stencil on a regular grid. Each variant has the edges of its grid, that of the fastest-running
/// coordinate first: the point (x, y, z) of a grid of `[width, height, depth]` is row
/// (z · height + y) · width + x.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Points {
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

words! {
    /// What a stencil does at the boundary of its grid.
    Boundary: "dirichlet, periodic or neumann" {
        /// Neighbours outside have no entry, and the diagonal is unchanged: the value there is held at 0.
        Dirichlet = "dirichlet",
        /// The grid wraps around. Each edge has at least three points.
        Periodic = "periodic",
        /// Neighbours outside have no entry, and the diagonal counts those inside: nothing flows out, and each row
        /// sums to 0.
        Neumann = "neumann",
    }
}

/// The Laplace operator as a stencil on a regular grid. The entry of a point itself is the number of its
/// neighbours in the stencil, points − 1, and that of each neighbour is −1. The matrix is symmetric; its rows sum
/// to 0, except at a Dirichlet boundary. Nothing is random.
///
/// As text `stencil:POINTS:GRID`, with the edges of the grid joined by `x` or one edge for all; or
/// `stencil:points=POINTS,grid=GRID`; each optionally followed by `,boundary=periodic` or `,boundary=neumann`.
///
/// ```
/// use host::Csr;
/// use synthetic::{Generate, Points, Stencil};
///
/// let matrix: Csr<f64> = Stencil::from(Points::Points5([3, 2])).generate()?;
/// assert_eq!(matrix.row(1).collect::<Vec<_>>(), [(0, -1.0), (1, 4.0), (2, -1.0), (4, -1.0)]);
/// # Ok::<(), synthetic::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stencil {
    /// The stencil and its grid.
    pub points: Points,
    /// What the stencil does at the boundary of the grid.
    pub boundary: Boundary,
}

impl From<Points> for Stencil {
    /// With a Dirichlet boundary.
    fn from(points: Points) -> Self {
        Self { points, boundary: Boundary::Dirichlet }
    }
}

impl Points {
    /// A stencil by its number of points, on a grid with the given edges; one edge stands for all.
    ///
    /// # Errors
    /// When no such stencil exists, or the number of edges does not match its dimensions.
    pub fn new(points: usize, edges: &[usize]) -> Result<Self, Error> {
        Ok(match points {
            3 => Self::Points3(grid(edges)?),
            5 => Self::Points5(grid(edges)?),
            7 => Self::Points7(grid(edges)?),
            9 => Self::Points9(grid(edges)?),
            27 => Self::Points27(grid(edges)?),
            _ => return Err(unfit(HELP, "points", points, "3, 5, 7, 9 or 27")),
        })
    }

    /// Number of points of the stencil.
    pub fn count(&self) -> usize {
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

    fn edges_mut(&mut self) -> &mut [usize] {
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

    /// The edges as those of a grid in three dimensions.
    fn grid(&self) -> [usize; 3] {
        let mut grid = [1; 3];
        for (edge, &given) in grid.iter_mut().zip(self.edges()) {
            *edge = given;
        }
        grid
    }
}

fn grid<const DIMENSIONS: usize>(edges: &[usize]) -> Result<[usize; DIMENSIONS], Error> {
    match edges {
        &[edge] => Ok([edge; DIMENSIONS]),
        _ => edges
            .try_into()
            .map_err(|_| unfit(HELP, "grid", Edges(edges), format!("one edge or {DIMENSIONS} joined by x"))),
    }
}

/// The text form of edges.
struct Edges<'a>(&'a [usize]);

impl fmt::Display for Edges<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, edge) in self.0.iter().enumerate() {
            write!(f, "{}{edge}", if place == 0 { "" } else { "x" })?;
        }
        Ok(())
    }
}

/// The coordinates at most one away from `at`, ascending, and their number.
struct Near {
    at: usize,
    coordinates: [usize; 3],
    count: usize,
}

impl Near {
    fn iter(&self) -> impl Iterator<Item = usize> + Clone {
        self.coordinates.into_iter().take(self.count)
    }
}

impl Stencil {
    /// Returns the coordinates near those of a row's point, in each direction.
    fn near(&self, row: usize) -> [Near; 3] {
        let [width, height, depth] = self.points.grid();
        let dimensions = self.points.edges().len();
        let line = row / width;
        let mut direction = 0;
        [(row % width, width), (line % height, height), (line / height, depth)].map(|(at, edge)| {
            direction += 1;
            let wraps = self.boundary == Boundary::Periodic && direction <= dimensions;
            let (mut coordinates, mut count) = ([0; 3], 0);
            let before = if at > 0 { Some(at - 1) } else { wraps.then_some(edge - 1) };
            let after = if at + 1 < edge { Some(at + 1) } else { wraps.then_some(0) };
            for coordinate in [before, Some(at), after].into_iter().flatten() {
                coordinates[count] = coordinate;
                count += 1;
            }
            coordinates[..count].sort_unstable();
            Near { at, coordinates, count }
        })
    }
}

impl fmt::Display for Stencil {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", HELP.name, self.points.count(), Edges(self.points.edges()))?;
        match self.boundary {
            Boundary::Dirichlet => Ok(()),
            boundary => write!(f, ",boundary={boundary}"),
        }
    }
}

impl Generate for Stencil {
    const HELP: &'static [Help] = &[HELP];

    fn from_options(_: &str, text: &str) -> Result<Self, Error> {
        let (points, edges, boundary) = match text.split_once(':') {
            Some((points, rest)) => {
                let (edges, options) = rest.split_once(',').unwrap_or((rest, ""));
                let options = Options::parse(HELP, options, &["boundary"])?;
                (number(HELP, "points", points)?, edges, options.optional("boundary", Boundary::Dirichlet)?)
            }
            None => {
                let options = Options::parse(HELP, text, &["points", "grid", "boundary"])?;
                let boundary = options.optional("boundary", Boundary::Dirichlet)?;
                (options.required("points")?, options.text("grid")?, boundary)
            }
        };
        let edges: Vec<usize> = edges.split('x').map(|edge| number(HELP, "grid", edge)).collect::<Result<_, _>>()?;
        Ok(Self { points: Points::new(points, &edges)?, boundary })
    }

    /// Along the slowest-running coordinate.
    fn times(&self, factor: usize) -> Result<Self, Error> {
        let mut larger = *self;
        if let Some(slowest) = larger.points.edges_mut().last_mut() {
            *slowest = slowest.saturating_mul(factor);
        }
        Ok(larger)
    }

    fn check(&self) -> Result<(), Error> {
        for &edge in self.points.edges() {
            check_dimension(HELP, "grid", edge)?;
            if self.boundary == Boundary::Periodic && edge < 3 {
                return Err(unfit(HELP, "grid", edge, "at least 3 points in each direction of a periodic grid"));
            }
        }
        if self.rows() > LARGEST_DIMENSION {
            let expected = format!("a grid of at most {LARGEST_DIMENSION} points");
            return Err(unfit(HELP, "grid", Edges(self.points.edges()), expected));
        }
        Ok(())
    }

    fn rows(&self) -> usize {
        self.points.edges().iter().fold(1, |points: usize, &edge| points.saturating_mul(edge))
    }

    fn columns(&self) -> usize {
        self.rows()
    }

    fn expected_nnz(&self) -> u128 {
        if self.boundary == Boundary::Periodic {
            return self.rows() as u128 * self.points.count() as u128;
        }
        let product = |edges: [u128; 3]| edges.iter().fold(1, |product: u128, &edge| product.saturating_mul(edge));
        let grid = self.points.grid().map(|edge| edge as u128);
        if self.points.has_diagonals() {
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

    fn generate_rows<T: Scalar>(&self, wanted: Range<usize>) -> Result<Csr<T>, Error> {
        self.check()?;
        assemble(self, self, wanted)
    }
}

impl RowByRow for Stencil {
    fn length(&self, row: usize, _: &mut ChaCha8Rng) -> u32 {
        let near = self.near(row).map(|near| near.count as u32);
        if self.points.has_diagonals() { near.iter().product() } else { near.iter().sum::<u32>() - 2 }
    }

    fn fill<T: Scalar>(&self, row: usize, _: &mut ChaCha8Rng, columns: &mut [u32], values: &mut [T]) {
        let [width, height, _] = self.points.grid();
        let [near_x, near_y, near_z] = self.near(row);
        let neighbours = match self.boundary {
            Boundary::Neumann => columns.len() - 1,
            Boundary::Dirichlet | Boundary::Periodic => self.points.count() - 1,
        };
        let mut entry = 0;
        for z in near_z.iter() {
            for y in near_y.iter() {
                let away = usize::from(z != near_z.at) + usize::from(y != near_y.at);
                for x in near_x.iter() {
                    if !self.points.has_diagonals() && away + usize::from(x != near_x.at) > 1 {
                        continue;
                    }
                    let column = (z * height + y) * width + x;
                    columns[entry] = column as u32;
                    values[entry] = T::from_f64(if column == row { neighbours as f64 } else { -1.0 });
                    entry += 1;
                }
            }
        }
    }
}
