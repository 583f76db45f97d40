//! A rank's rows of a matrix, and its elements of vectors.

use std::ops::Range;
use std::time::{Duration, Instant};

use warp_spmv::distributed::{Communicator, Distribution, Ranges};
use warp_spmv::format::Offsets;
use warp_spmv::io::Number;
use warp_spmv::synthetic::Generator;
use warp_spmv::{Csr, memory};

use super::world::World;
use crate::cli::error::Error;
use crate::cli::input::{Input, Source, of_generator};
use crate::cli::record::Shape;

/// Does `work` on each rank, once it has its rows, and is told how long that took. What came of it on rank 0; nothing in
/// another process.
pub fn with_rows<T: Number, R: Send>(
    world: World,
    source: &Source,
    work: impl Fn(&Communicator, Loaded<T>, Duration) -> Result<R, Error> + Sync,
) -> Result<Option<R>, Error> {
    let begin = Instant::now();
    // Processes that have no file say so as ranks.
    let shared = match world {
        World::Threads(_) => Some(Given::new(source)?),
        World::Processes(_) => None,
    };
    world.run(|communicator| {
        let arguments: Vec<_> = std::env::args_os().skip(1).collect();
        communicator.agree("the command line", &arguments.join(" ".as_ref()).to_string_lossy())?;
        let loaded = match &shared {
            Some(given) => given.load(communicator)?,
            None => Given::new(source)?.load(communicator)?,
        };
        work(communicator, loaded, begin.elapsed())
    })
}

/// A matrix of which ranks take their rows.
enum Given<T: Number> {
    /// Each makes its own.
    Generator(Generator),
    /// It was read as a whole.
    Matrix(String, Csr<T>),
}

/// The rows of one rank.
pub struct Loaded<T: Number> {
    /// That of the whole matrix.
    pub shape: Shape,
    pub distribution: Distribution,
    /// With all columns of the whole.
    pub rows: Csr<T>,
}

impl<T: Number> Given<T> {
    fn new(source: &Source) -> Result<Self, Error> {
        match source.parsed() {
            Some(generator) => Ok(Self::Generator(generator?)),
            None => {
                let Input { name, matrix, .. } = source.load()?;
                Ok(Self::Matrix(name, matrix.into_csr()?))
            }
        }
    }

    fn name(&self) -> String {
        match self {
            Self::Generator(generator) => generator.to_string(),
            Self::Matrix(name, _) => name.clone(),
        }
    }

    fn dimensions(&self) -> [usize; 2] {
        match self {
            Self::Generator(generator) => [generator.rows(), generator.columns()],
            Self::Matrix(_, matrix) => [matrix.rows(), matrix.columns()],
        }
    }

    fn rows(&self, rows: Range<u64>) -> Result<Csr<T>, Error> {
        let rows = rows.start as usize..rows.end as usize;
        match self {
            Self::Generator(generator) => generator.generate_rows(rows).map_err(of_generator),
            Self::Matrix(_, matrix) => Ok(part_of(matrix, rows)?),
        }
    }

    /// The rows of this rank: about as many entries as any other has.
    fn load(&self, communicator: &Communicator) -> Result<Loaded<T>, Error> {
        let ([rows, columns], name) = (self.dimensions(), self.name());
        let even = Ranges::even(rows as u64, communicator.ranks())?;
        let own = |ranges: &Ranges| self.rows(ranges.of(communicator.rank()));
        let mut part = own(&even)?;
        let lengths = memory::collect(part.row_lengths())?;
        let balanced = Ranges::balanced_together(communicator, &lengths)?;
        if balanced != even {
            part = own(&balanced)?;
        }
        let mut entries = [part.nnz() as u64];
        communicator.reduce(&mut entries, |sum, next| sum + next)?;
        let shape = Shape { name, rows, columns, nonzeros: entries[0] as usize };
        // Processes on several machines may have read several files of one name.
        communicator.agree("the matrix", &format!("{}: {shape}", shape.name))?;
        let distribution = match rows == columns {
            true => Distribution::square(balanced),
            false => Distribution { rows: balanced, columns: Ranges::even(columns as u64, communicator.ranks())? },
        };
        Ok(Loaded { shape, distribution, rows: part })
    }
}

/// Some rows of a matrix, with all its columns.
fn part_of<T: Number>(matrix: &Csr<T>, rows: Range<usize>) -> Result<Csr<T>, warp_spmv::Error> {
    let lengths = rows.clone().map(|row| matrix.range(row).len());
    let offsets = Offsets::from_lengths(lengths)?;
    let entries = matrix.row_offsets().get(rows.start)..matrix.row_offsets().get(rows.end);
    let columns = memory::copy(&matrix.column_indices()[entries.clone()])?;
    let values = memory::copy(&matrix.values()[entries])?;
    Csr::try_new(rows.len(), matrix.columns(), offsets, columns, values)
}

impl<T: Number> Loaded<T> {
    /// The rows with only those columns that they have entries in, and which these are.
    pub fn compressed(&self) -> Result<(Csr<T>, Vec<u32>), warp_spmv::Error> {
        let mut needed = memory::copy(self.rows.column_indices())?;
        needed.sort_unstable();
        needed.dedup();
        let place = |column: &u32| needed.partition_point(|other| other < column) as u32;
        let columns = memory::collect(self.rows.column_indices().iter().map(place))?;
        let offsets = Offsets::from_lengths(self.rows.row_lengths())?;
        let values = memory::copy(self.rows.values())?;
        Ok((Csr::try_new(self.rows.rows(), needed.len(), offsets, columns, values)?, needed))
    }
}

/// Elements of a vector that is divided so, whoever has them: `needed` is sorted. Another way than that of a product, which
/// is checked by it.
pub fn fetched<T: Number>(
    communicator: &Communicator,
    ranges: &Ranges,
    own: &[T],
    needed: &[u32],
) -> Result<Vec<T>, Error> {
    let begin = ranges.of(communicator.rank()).start;
    let place = |number: u64| needed.partition_point(|&other| u64::from(other) < number);
    let asked = |rank: usize| {
        let Range { start, end } = ranges.of(rank);
        memory::collect(needed[place(start)..place(end)].iter().map(|&number| u64::from(number) - start))
    };
    let asked = (0..communicator.ranks()).map(asked).collect::<Result<Vec<Vec<u64>>, _>>()?;
    let answer = |places: &Vec<u64>| {
        let elements = places.iter().map(|&place| own.get(place as usize).copied());
        let found: Option<Vec<T>> = elements.collect();
        found.ok_or_else(|| Error::Usage(format!("a rank asks for more elements than there are from {begin} on")))
    };
    let answers = communicator.all_to_all(&asked)?.iter().map(answer).collect::<Result<Vec<_>, _>>()?;
    Ok(communicator.all_to_all(&answers)?.concat())
}
