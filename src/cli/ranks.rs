//! How a matrix divides among ranks, for `info`.

use std::fmt::{self, Display};

use serde::Serialize;
use warp_spmv::distributed::{Distribution, Ranges, Statistics};
use warp_spmv::synthetic::reorder;
use warp_spmv::{Csr, Scalar};

use super::error::Error;
use super::units::HumanCount;

/// How a matrix divides among ranks, in its own order and, if it is square, in another.
#[derive(Debug, Serialize)]
pub struct Ranks {
    ranks: usize,
    as_given: Division,
    /// After reverse Cuthill-McKee; null for a matrix that is not square.
    reordered: Option<Division>,
}

/// What the ranks have, and what they exchange for a product.
#[derive(Debug, Serialize)]
struct Division {
    /// Elements of x that go from a rank to another.
    volume: u64,
    /// The most elements of x that come to one rank.
    largest_halo: u64,
    /// The most ranks that they come from.
    most_neighbours: u64,
    /// Entries in columns of other ranks.
    remote_nnz: u64,
    /// The most entries of a rank over their mean.
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
        Ok(Self { ranks, as_given: Division::new(matrix, ranks)?, reordered })
    }
}

impl Division {
    fn new<T: Scalar>(matrix: &Csr<T>, ranks: usize) -> Result<Self, warp_spmv::Error> {
        let rows = Ranges::balanced(matrix.row_lengths(), ranks)?;
        let distribution = match matrix.rows() == matrix.columns() {
            true => Distribution::square(rows),
            false => Distribution { rows, columns: Ranges::even(matrix.columns() as u64, ranks)? },
        };
        let statistics = Statistics::new(matrix, &distribution)?;
        Ok(Self {
            volume: statistics.volume(),
            largest_halo: statistics.largest_halo(),
            most_neighbours: statistics.parts.iter().map(|part| part.neighbours).max().unwrap_or(0),
            remote_nnz: statistics.parts.iter().map(|part| part.remote_nnz).sum(),
            imbalance: statistics.imbalance(),
        })
    }
}

/// A table.
impl Display for Ranks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let heads = ["exchanged", "most to 1", "neighbours", "remote", "imbalance"];
        write!(f, "{:<21}", format!("on {} rank{}", self.ranks, if self.ranks == 1 { "" } else { "s" }))?;
        heads.iter().try_for_each(|head| write!(f, "{head:>11}"))?;
        let order = [("as given", Some(&self.as_given)), ("reverse Cuthill-McKee", self.reordered.as_ref())];
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
