//! Division of a matrix among ranks, for `info`.

use std::fmt::{self, Display};

use serde::Serialize;
use warp_spmv::distributed::{Distribution, Ranges, Statistics};
use warp_spmv::synthetic::{Generator, reorder};
use warp_spmv::{Csr, Scalar};

use super::error::Error;
use super::output::printable;
use super::pattern::Pattern;
use super::record::Shape;
use super::units::HumanCount;

/// Division of a matrix among ranks, in its own order and, if it is square, in another.
#[derive(Debug, Serialize)]
pub struct Ranks {
    ranks: usize,
    as_given: Division,
    /// After reverse Cuthill-McKee; null for a matrix that is not square.
    reordered: Option<Division>,
    /// With parts by METIS; null for a matrix that is not square, and in a program without the feature `metis`.
    metis: Option<Division>,
}

/// Work of the ranks, and their exchange for a product.
#[derive(Debug, Serialize)]
struct Division {
    /// Elements of x that are sent between ranks.
    volume: u64,
    /// Largest number of elements of x that one rank receives.
    largest_halo: u64,
    /// Largest number of ranks from which one receives them.
    most_neighbours: u64,
    /// Entries in columns of other ranks.
    remote_nnz: u64,
    /// Largest number of entries of a rank over the mean.
    imbalance: f64,
}

impl Ranks {
    pub fn new<T: Scalar>(matrix: &Csr<T>, ranks: usize) -> Result<Self, Error> {
        let reordered = if matrix.rows() == matrix.columns() {
            let ordering = reorder::reverse_cuthill_mckee(matrix)?;
            Some(Division::new(&ordering.apply_symmetric(matrix)?, ranks)?)
        } else {
            None
        };
        Ok(Self { ranks, as_given: Division::new(matrix, ranks)?, reordered, metis: by_metis(matrix, ranks)? })
    }
}

/// Division by the parts that METIS finds.
#[cfg(feature = "metis")]
fn by_metis<T: Scalar>(matrix: &Csr<T>, ranks: usize) -> Result<Option<Division>, Error> {
    if matrix.rows() != matrix.columns() {
        return Ok(None);
    }
    let (ordering, begins) = reorder::metis(matrix, ranks)?;
    let distribution = Distribution::square(Ranges::try_new(begins)?);
    Ok(Some(Division::of(&Statistics::new(&ordering.apply_symmetric(matrix)?, &distribution)?)))
}

#[cfg(not(feature = "metis"))]
fn by_metis<T: Scalar>(_: &Csr<T>, _: usize) -> Result<Option<Division>, Error> {
    Ok(None)
}

/// Division among ranks of a matrix that never exists as a whole.
#[derive(Debug, Serialize)]
pub struct Divided {
    version: &'static str,
    matrix: Shape,
    ranks: Ranks,
}

impl Divided {
    pub fn new(generator: Generator, ranks: usize) -> Result<Self, Error> {
        let complex = generator.is_complex();
        let pattern = Pattern::generated(generator, complex)?;
        let statistics = pattern.divide(&[ranks])?.remove(0);
        let ranks = Ranks { ranks, as_given: Division::of(&statistics), reordered: None, metis: None };
        Ok(Self { version: env!("CARGO_PKG_VERSION"), matrix: pattern.shape(&statistics), ranks })
    }
}

impl Display for Divided {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { matrix, ranks, .. } = self;
        write!(f, "matrix      {}\nshape       {matrix}\n\n{ranks}", printable(&matrix.name))
    }
}

impl Division {
    fn new<T: Scalar>(matrix: &Csr<T>, ranks: usize) -> Result<Self, warp_spmv::Error> {
        let rows = Ranges::balanced(matrix.row_lengths(), ranks)?;
        let distribution = match matrix.rows() == matrix.columns() {
            true => Distribution::square(rows),
            false => Distribution { rows, columns: Ranges::even(matrix.columns() as u64, ranks)? },
        };
        Ok(Self::of(&Statistics::new(matrix, &distribution)?))
    }

    fn of(statistics: &Statistics) -> Self {
        Self {
            volume: statistics.volume(),
            largest_halo: statistics.largest_halo(),
            most_neighbours: statistics.parts.iter().map(|part| part.neighbours).max().unwrap_or(0),
            remote_nnz: statistics.parts.iter().map(|part| part.remote_nnz).sum(),
            imbalance: statistics.imbalance(),
        }
    }
}

/// Formats a table.
impl Display for Ranks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let heads = ["exchanged", "most to 1", "neighbours", "remote", "imbalance"];
        write!(f, "{:<21}", format!("on {} rank{}", self.ranks, if self.ranks == 1 { "" } else { "s" }))?;
        heads.iter().try_for_each(|head| write!(f, "{head:>11}"))?;
        let order = [
            ("as given", Some(&self.as_given)),
            ("reverse Cuthill-McKee", self.reordered.as_ref()),
            ("METIS", self.metis.as_ref()),
        ];
        for (name, division) in order.into_iter().filter_map(|(name, division)| Some((name, division?))) {
            let Division { volume, largest_halo, most_neighbours, remote_nnz, imbalance } = division;
            write!(f, "\n{name:<21}")?;
            for count in [volume, largest_halo, most_neighbours, remote_nnz] {
                write!(f, "{:>11}", HumanCount(*count).to_string())?;
            }
            write!(f, "{imbalance:>11.3}")?;
        }
        writeln!(f)
    }
}
