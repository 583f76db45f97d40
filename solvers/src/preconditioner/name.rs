//! The names of the preconditioners.

use std::fmt;
use std::str::FromStr;

use host::error::Error;

use crate::dense::LARGEST_BLOCK;
use crate::multigrid::Multigrid;

/// Largest degree of a polynomial, and largest number of sweeps.
const MOST_STEPS: u32 = 100;

/// A preconditioner with its parameters. Its text form is "jacobi", "block-jacobi-8", "neumann-3", "chebyshev-6", "ilu0",
/// "ilu0-coloured", "ilu0-sweeps-5", "ic0", "ic0-coloured" or "ic0-sweeps-5", with any number instead of these, or "amg" or
/// "saddle", optionally followed by a colon and [options](Multigrid).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PreconditionerName {
    /// The inverse of the diagonal.
    Jacobi,
    /// The inverses of dense diagonal blocks.
    BlockJacobi {
        /// Rows per block, from 1 to [`LARGEST_BLOCK`].
        size: u32,
    },
    /// Neumann's series for the matrix scaled by its diagonal, truncated after a power (Saad 2003, §12.3.1).
    Neumann {
        /// The power, from 0 to 100: the number of products with the matrix.
        degree: u32,
    },
    /// Chebyshev's polynomial for the matrix scaled by its diagonal (Saad 2003, §12.3.2).
    Chebyshev {
        /// The degree, from 0 to 100: the number of products with the matrix.
        degree: u32,
    },
    /// Incomplete LU factors with the pattern of the matrix (Saad 2003, §10.3.2).
    Ilu0(TriangularSolver),
    /// Incomplete Cholesky factors with the pattern of the matrix (Meijerink & van der Vorst 1977), for symmetric or
    /// Hermitian positive definite matrices, of which only the entries on and below the diagonal are read.
    Ic0(TriangularSolver),
    /// Algebraic multigrid.
    Amg(Multigrid),
    /// For saddle points: algebraic multigrid for the rows with a positive diagonal element, and a diagonal approximation
    /// of the Schur complement for the others (Benzi, Golub & Liesen 2005, §10.1.1). For MINRES and GMRES.
    Saddle(Multigrid),
}

/// The method of solving with triangular factors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TriangularSolver {
    /// Exactly, level by level.
    Levels,
    /// Exactly, level by level, with the rows of the matrix ordered by colour. Rows of a colour have no entries in each
    /// other's columns, so there are as many levels as colours, a few to a few dozen. Solvers take more iterations than
    /// with factors in row order.
    Colours,
    /// By the given number of sweeps of Jacobi's method, from 1 to 100 (Anzt, Chow & Dongarra 2015). A sweep is a product
    /// with the factor, so no row waits for another. The solution is exact with one sweep less than there are levels. An
    /// error if sweeps would increase the error of a solve, which is estimated on the host.
    Sweeps(u32),
}

impl PreconditionerName {
    /// Every preconditioner, with parameters that are often suitable.
    pub const ALL: &[Self] = &[
        Self::Jacobi,
        Self::BlockJacobi { size: 8 },
        Self::Neumann { degree: 3 },
        Self::Chebyshev { degree: 6 },
        Self::Ilu0(TriangularSolver::Levels),
        Self::Ilu0(TriangularSolver::Colours),
        Self::Ilu0(TriangularSolver::Sweeps(5)),
        Self::Ic0(TriangularSolver::Levels),
        Self::Ic0(TriangularSolver::Colours),
        Self::Ic0(TriangularSolver::Sweeps(5)),
        Self::Amg(Multigrid::DEFAULT),
        Self::Saddle(Multigrid::DEFAULT),
    ];

    /// Returns the name without the number, and the number.
    fn parts(self) -> (&'static str, Option<u32>) {
        match self {
            Self::Jacobi => ("jacobi", None),
            Self::BlockJacobi { size } => ("block-jacobi", Some(size)),
            Self::Neumann { degree } => ("neumann", Some(degree)),
            Self::Chebyshev { degree } => ("chebyshev", Some(degree)),
            Self::Ilu0(TriangularSolver::Levels) => ("ilu0", None),
            Self::Ilu0(TriangularSolver::Colours) => ("ilu0-coloured", None),
            Self::Ilu0(TriangularSolver::Sweeps(sweeps)) => ("ilu0-sweeps", Some(sweeps)),
            Self::Ic0(TriangularSolver::Levels) => ("ic0", None),
            Self::Ic0(TriangularSolver::Colours) => ("ic0-coloured", None),
            Self::Ic0(TriangularSolver::Sweeps(sweeps)) => ("ic0-sweeps", Some(sweeps)),
            Self::Amg(_) => ("amg", None),
            Self::Saddle(_) => ("saddle", None),
        }
    }

    /// Returns the same preconditioner with another number, if it has one.
    fn with_number(self, number: u32) -> Option<Self> {
        match self {
            Self::BlockJacobi { .. } => Some(Self::BlockJacobi { size: number }),
            Self::Neumann { .. } => Some(Self::Neumann { degree: number }),
            Self::Chebyshev { .. } => Some(Self::Chebyshev { degree: number }),
            Self::Ilu0(TriangularSolver::Sweeps(_)) => Some(Self::Ilu0(TriangularSolver::Sweeps(number))),
            Self::Ic0(TriangularSolver::Sweeps(_)) => Some(Self::Ic0(TriangularSolver::Sweeps(number))),
            Self::Jacobi | Self::Ilu0(_) | Self::Ic0(_) | Self::Amg(_) | Self::Saddle(_) => None,
        }
    }

    /// Checks the number.
    pub(super) fn check(self) -> Result<(), Error> {
        let (what, number, least, most, expected) = match self {
            Self::BlockJacobi { size } => ("the block size", size, 1, LARGEST_BLOCK as u32, "1 to 32"),
            Self::Neumann { degree } | Self::Chebyshev { degree } => {
                ("the degree of the polynomial", degree, 0, MOST_STEPS, "0 to 100")
            }
            Self::Ilu0(TriangularSolver::Sweeps(sweeps)) | Self::Ic0(TriangularSolver::Sweeps(sweeps)) => {
                ("the number of sweeps", sweeps, 1, MOST_STEPS, "1 to 100")
            }
            Self::Amg(options) | Self::Saddle(options) => return options.check(),
            Self::Jacobi | Self::Ilu0(_) | Self::Ic0(_) => return Ok(()),
        };
        if (least..=most).contains(&number) {
            return Ok(());
        }
        Err(Error::Setting { what, value: number.to_string(), expected })
    }
}

impl fmt::Display for PreconditionerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Self::Amg(options) | Self::Saddle(options) = self {
            return f.pad(&options.named(self.parts().0));
        }
        match self.parts() {
            (name, None) => f.pad(name),
            (name, Some(number)) => f.pad(&format!("{name}-{number}")),
        }
    }
}

impl FromStr for PreconditionerName {
    type Err = Error;

    /// Without a number, takes the one in [`ALL`](Self::ALL).
    fn from_str(name: &str) -> Result<Self, Error> {
        match name.split_once(':') {
            Some(("amg", options)) => return Multigrid::parse(options).map(Self::Amg),
            Some(("saddle", options)) => return Multigrid::parse(options).map(Self::Saddle),
            _ => {}
        }
        let named = |text| Self::ALL.iter().copied().find(|preconditioner| preconditioner.parts().0 == text);
        let with_number = || {
            let (text, number) = name.rsplit_once('-')?;
            named(text)?.with_number(number.parse().ok()?)
        };
        let preconditioner = named(name).or_else(with_number).ok_or_else(|| Error::Name {
            what: "preconditioner",
            name: name.into(),
            expected: Self::ALL.iter().map(Self::to_string).collect::<Vec<_>>().join(", "),
        })?;
        preconditioner.check()?;
        Ok(preconditioner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for &name in PreconditionerName::ALL {
            assert_eq!(name.to_string().parse::<PreconditionerName>().unwrap(), name);
            assert_eq!(name.parts().0.parse::<PreconditionerName>().unwrap(), name);
        }
        assert_eq!("ic0-sweeps-12".parse::<PreconditionerName>().unwrap().to_string(), "ic0-sweeps-12");
        assert_eq!(format!("{:>12}", PreconditionerName::Jacobi), "      jacobi");
        let error = |name: &str| name.parse::<PreconditionerName>().unwrap_err().to_string();
        for name in ["jacobi-3", "block-jacobi-", "neumann-x", "ilu", "", "ic0-5", "ic0-coloured-5", "chebyshev--1"] {
            assert!(
                error(name).starts_with(&format!("unknown preconditioner '{name}': expected jacobi, block-jacobi-8"))
            );
        }
        assert_eq!(error("block-jacobi-33"), "the block size is 33, expected 1 to 32");
        assert_eq!(error("neumann-101"), "the degree of the polynomial is 101, expected 0 to 100");
        assert_eq!(error("ic0-sweeps-0"), "the number of sweeps is 0, expected 1 to 100");
    }
}
