//! Waves on regular grids.

use std::ops::Range;

use host::format::Csr;
use host::real::Scalar;
use rand_chacha::ChaCha8Rng;

use crate::assemble::{RowByRow, assemble};
use crate::grid::Grid;
use crate::options::{check_finite, check_positive};
use crate::registry::complex_only;
use crate::{Error, Generate, Help, Points, Stencil};

const HELP: Help = Help {
    name: "helmholtz",
    form: "helmholtz:grid=GRID[,wavenumber=0.5][,damping=0.1]",
    about: "waves with damping on a grid such as 100x100, in 1 to 3 dimensions; complex symmetric",
};

/// Helmholtz's operator −Δ − (1 − i damping) k² on a regular grid with spacing 1, with the Laplacian of [`Stencil`] for
/// 3, 5 or 7 points and its Dirichlet boundary: with damping, the shifted Laplacian of Erlangga, Vuik & Oosterlee 2004.
/// The matrix is complex and symmetric, but not Hermitian. Nothing is random.
///
/// ```
/// use host::{Complex, Csr};
/// use synthetic::{Generate, Grid, Helmholtz};
///
/// let helmholtz = Helmholtz { grid: Grid(vec![3, 2]), wavenumber: 0.5, damping: 2.0 };
/// let matrix: Csr<Complex<f64>> = helmholtz.generate()?;
/// assert_eq!(matrix.row(0).next(), Some((0, Complex::new(3.75, 0.5))));
/// assert!(helmholtz.generate::<f64>().is_err());
/// # Ok::<(), synthetic::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Helmholtz {
    /// The grid, in 1 to 3 dimensions.
    pub grid: Grid,
    /// k times the grid spacing, greater than 0.
    pub wavenumber: f64,
    /// The damping, finite; 0 gives a matrix without imaginary parts.
    pub damping: f64,
}

parameters!(Helmholtz { grid = "grid", wavenumber = "wavenumber" or 0.5, damping = "damping" or 0.1 });

impl Helmholtz {
    /// The Laplacian.
    fn stencil(&self) -> Result<Stencil, Error> {
        Ok(Points::new(2 * self.grid.0.len() + 1, &self.grid.0)?.into())
    }
}

impl Generate for Helmholtz {
    const HELP: &'static [Help] = &[HELP];
    const COMPLEX: bool = true;

    fn from_options(_: &str, text: &str) -> Result<Self, Error> {
        Self::from_pairs(text)
    }

    fn times(&self, factor: usize) -> Result<Self, Error> {
        Ok(Self { grid: self.grid.times(factor), ..*self })
    }

    fn check(&self) -> Result<(), Error> {
        self.grid.check(HELP, 3, 1)?;
        check_positive(HELP, "wavenumber", self.wavenumber)?;
        check_finite(HELP, "damping", self.damping)
    }

    fn rows(&self) -> usize {
        self.grid.points()
    }

    fn columns(&self) -> usize {
        self.rows()
    }

    fn expected_nnz(&self) -> u128 {
        self.stencil().map_or(0, |stencil| stencil.expected_nnz())
    }

    fn generate_rows<T: Scalar>(&self, wanted: Range<usize>) -> Result<Csr<T>, Error> {
        self.check()?;
        complex_only::<T>(HELP)?;
        let square = self.wavenumber * self.wavenumber;
        assemble(self, &Rows { stencil: self.stencil()?, shift: [-square, self.damping * square] }, wanted)
    }
}

struct Rows {
    stencil: Stencil,
    /// Added to the diagonal of the Laplacian.
    shift: [f64; 2],
}

impl RowByRow for Rows {
    fn length(&self, row: usize, random: &mut ChaCha8Rng) -> u32 {
        self.stencil.length(row, random)
    }

    fn fill<T: Scalar>(&self, row: usize, random: &mut ChaCha8Rng, columns: &mut [u32], values: &mut [T]) {
        self.stencil.fill(row, random, columns, values);
        let on_diagonal = columns.iter().zip(values).filter(|(column, _)| **column as usize == row);
        for (_, value) in on_diagonal {
            let ([re, im], [shift_re, shift_im]) = (value.parts(), self.shift);
            *value = T::from_parts(re + shift_re, im + shift_im);
        }
    }
}
