//! The order in which rows are divided among ranks.

use std::borrow::Cow;
use std::fmt::{self, Display};
use std::time::{Duration, Instant};

use clap::ValueEnum;
use serde::Serialize;
use warp_spmv::Csr;
use warp_spmv::distributed::{
    Communicator, Distribution, Ranges, renumber_elements, renumbered, renumbered_ranges, restore_elements,
    reverse_cuthill_mckee,
};
use warp_spmv::io::Number;

use super::loaded::Loaded;
use crate::cli::error::Error;
use crate::cli::solution::seconds_if_any;
use crate::cli::units::{HumanCount, duration};

/// The order in which each rank is given a range of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Partition {
    /// The order of the matrix
    Rows,
    /// The reverse Cuthill-McKee order, which all ranks find together, to exchange fewer elements. Square matrices
    /// only; vectors are read and written in the order of the matrix
    Rcm,
    /// Parts with few entries between them, found by METIS. Square matrices only; rank 0 temporarily holds the pattern
    /// of the whole matrix
    #[cfg(feature = "metis")]
    Metis,
}

impl Partition {
    /// The name used in records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rows => "rows",
            Self::Rcm => "rcm",
            #[cfg(feature = "metis")]
            Self::Metis => "metis",
        }
    }
}

/// A matrix as ranks multiply it, whose rows may be renumbered.
pub struct Divided<T: Number> {
    pub distribution: Distribution,
    order: Option<Order<T>>,
}

/// An order other than that of the matrix.
struct Order<T: Number> {
    partition: Partition,
    /// The rows of each rank in the order of the matrix.
    ranges: Ranges,
    /// The new numbers of this rank's rows.
    numbers: Vec<u32>,
    /// The rows of this rank, in the new order, until they are taken.
    rows: Option<Csr<T>>,
    time: Duration,
}

impl<T: Number> Divided<T> {
    /// Renumbers the rows, if requested.
    ///
    /// # Errors
    /// Returns an error if the matrix is not square, a rank fails, or memory runs out.
    pub fn new(communicator: &Communicator, loaded: &Loaded<T>, partition: Partition) -> Result<Self, Error> {
        let Loaded { shape, distribution, rows } = loaded;
        let ranges = &distribution.rows;
        let begin = Instant::now();
        let (numbers, to) = match partition {
            Partition::Rows => return Ok(Self { distribution: distribution.clone(), order: None }),
            _ if shape.rows != shape.columns => {
                let square = format!("a square matrix for --partition {}", partition.name());
                let (rows, columns) = (shape.rows, shape.columns);
                return Err(Error::Usage(format!(
                    "{}: {rows} rows and {columns} columns, expected {square}",
                    shape.name
                )));
            }
            Partition::Rcm => {
                let numbers = reverse_cuthill_mckee(communicator, rows, ranges)?;
                let to = renumbered_ranges(communicator, rows, ranges, &numbers)?;
                (numbers, to)
            }
            #[cfg(feature = "metis")]
            Partition::Metis => super::by_metis::by_metis(communicator, rows, ranges)?,
        };
        let rows = Some(renumbered(communicator, rows, ranges, &numbers, &to)?);
        let order = Order { partition, ranges: ranges.clone(), numbers, rows, time: begin.elapsed() };
        Ok(Self { distribution: Distribution::square(to), order: Some(order) })
    }

    /// The rows of this rank, to be divided into formats: the loaded ones, or those in the new order, which can be
    /// taken only once.
    pub fn take_rows<'a>(&mut self, loaded: &'a Loaded<T>) -> Cow<'a, Csr<T>> {
        match self.order.as_mut().and_then(|order| order.rows.take()) {
            Some(rows) => Cow::Owned(rows),
            None => Cow::Borrowed(&loaded.rows),
        }
    }

    /// This rank's elements of a vector, from those that it has in the order of the matrix.
    pub fn renumbered(&self, communicator: &Communicator, elements: Vec<T>) -> Result<Vec<T>, Error> {
        match &self.order {
            Some(Order { ranges, numbers, .. }) => {
                Ok(renumber_elements(communicator, &elements, ranges, numbers, &self.distribution.rows)?)
            }
            None => Ok(elements),
        }
    }

    /// The inverse of [`renumbered`](Self::renumbered).
    pub fn restored(&self, communicator: &Communicator, elements: Vec<T>) -> Result<Vec<T>, Error> {
        match &self.order {
            Some(Order { ranges, numbers, .. }) => {
                Ok(restore_elements(communicator, &elements, ranges, numbers, &self.distribution.rows)?)
            }
            None => Ok(elements),
        }
    }

    /// The record of the division: `needed` are the columns, ascending, in which this rank has entries in the order of
    /// the matrix, and `volume` is the number of elements that all ranks exchange.
    pub fn told(
        &self,
        communicator: &Communicator,
        loaded: &Loaded<T>,
        needed: &[u32],
        volume: u64,
    ) -> Result<Told, Error> {
        let Some(order) = &self.order else {
            return Ok(Told { name: Partition::Rows.name(), volume, volume_as_given: volume, time: None });
        };
        let own = loaded.distribution.columns.of(communicator.rank());
        let mut halo = [needed.iter().filter(|&&column| !own.contains(&column.into())).count() as u64];
        communicator.reduce(&mut halo, |sum, next| sum + next)?;
        let mut time = [order.time.as_secs_f64()];
        communicator.reduce(&mut time, f64::max)?;
        let time = Some(Duration::from_secs_f64(time[0]));
        Ok(Told { name: order.partition.name(), volume, volume_as_given: halo[0], time })
    }
}

/// The division of rows, for records.
#[derive(Debug, Serialize)]
pub struct Told {
    name: &'static str,
    /// Elements of x that ranks exchange for a product.
    volume: u64,
    /// The same in the order of the matrix.
    volume_as_given: u64,
    /// The time, on the slowest rank, to find the order and to move the rows into it; null if they stay.
    #[serde(serialize_with = "seconds_if_any")]
    time: Option<Duration>,
}

/// Formats a line for the terminal if the order is another one.
impl Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(time) = self.time else { return Ok(()) };
        let [volume, as_given] = [self.volume, self.volume_as_given].map(|count| HumanCount(count).to_string());
        let name = self.name;
        writeln!(f, "partition     {name}, {}: {volume} elements exchanged, {as_given} as given", duration(time))
    }
}
