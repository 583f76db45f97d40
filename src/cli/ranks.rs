//! How a matrix divides among ranks, for `info`.

use std::fmt::{self, Display};
use std::ops::Range;

use serde::Serialize;
use warp_spmv::distributed::{self, Distribution, Ranges, Statistics};
use warp_spmv::synthetic::{Generator, reorder};
use warp_spmv::{Complex, Csr, Scalar, memory};

use super::error::Error;
use super::input::of_generator;
use super::output::printable;
use super::record::Shape;
use super::units::HumanCount;

/// How a matrix divides among ranks, in its own order and, if it is square, in another.
#[derive(Debug, Serialize)]
pub struct Ranks {
    ranks: usize,
    as_given: Division,
    /// After reverse Cuthill-McKee; null for a matrix that is not square.
    reordered: Option<Division>,
    /// With parts by METIS; null for a matrix that is not square, and in a program without the feature `metis`.
    metis: Option<Division>,
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
        Ok(Self { ranks, as_given: Division::new(matrix, ranks)?, reordered, metis: by_metis(matrix, ranks)? })
    }
}

/// How the parts that METIS finds divide.
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

/// How a matrix that is never there as a whole divides among ranks.
#[derive(Debug, Serialize)]
pub struct Divided {
    version: &'static str,
    matrix: Shape,
    ranks: Ranks,
}

/// Entries that are generated at a time, about.
const AT_ONCE: u128 = 1 << 24;

impl Divided {
    pub fn new(generator: &Generator, ranks: usize) -> Result<Self, Error> {
        match generator.is_complex() {
            true => Self::of_type::<Complex<f32>>(generator, ranks),
            false => Self::of_type::<f32>(generator, ranks),
        }
    }

    fn of_type<T: Scalar>(generator: &Generator, ranks: usize) -> Result<Self, Error> {
        let (rows, columns) = (generator.rows(), generator.columns());
        let mean = generator.expected_nnz() / rows.max(1) as u128 + 1;
        let rows_at_once = (AT_ONCE / mean).clamp(1, 1 << 22) as usize;
        let part = |rows: Range<usize>| generator.generate_rows::<T>(rows).map_err(of_generator);
        let mut lengths = memory::with_capacity(rows)?;
        for begin in (0..rows).step_by(rows_at_once) {
            lengths.extend(part(begin..rows.min(begin + rows_at_once))?.row_lengths());
        }
        let distribution = distribution([rows, columns], lengths.iter().copied(), ranks)?;
        let nonzeros = lengths.iter().sum();
        drop(lengths);
        let mut failed = None;
        let statistics = Statistics::by_ranges(&distribution, rows_at_once as u64, |rows| {
            part(rows.start as usize..rows.end as usize).map_err(|error| {
                let message = error.to_string();
                failed = Some(error);
                distributed::Error::Ranges { what: "rows", reason: message }
            })
        });
        if let Some(error) = failed {
            return Err(error);
        }
        let as_given = Division::of(&statistics?);
        let matrix = Shape { name: generator.to_string(), rows, columns, nonzeros };
        Ok(Self {
            version: env!("CARGO_PKG_VERSION"),
            matrix,
            ranks: Ranks { ranks, as_given, reordered: None, metis: None },
        })
    }
}

impl Display for Divided {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { matrix, ranks, .. } = self;
        write!(f, "matrix      {}\nshape       {matrix}\n\n{ranks}", printable(&matrix.name))
    }
}

/// The rows of each rank, of about as many entries as those of any other.
fn distribution(
    [rows, columns]: [usize; 2],
    lengths: impl ExactSizeIterator<Item = usize>,
    ranks: usize,
) -> Result<Distribution, distributed::Error> {
    let balanced = Ranges::balanced(lengths, ranks)?;
    Ok(match rows == columns {
        true => Distribution::square(balanced),
        false => Distribution { rows: balanced, columns: Ranges::even(columns as u64, ranks)? },
    })
}

impl Division {
    fn new<T: Scalar>(matrix: &Csr<T>, ranks: usize) -> Result<Self, warp_spmv::Error> {
        let distribution = distribution([matrix.rows(), matrix.columns()], matrix.row_lengths(), ranks)?;
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

/// A table.
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
