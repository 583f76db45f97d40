//! A rank's rows of a matrix, and its elements of vectors.

use std::ops::Range;
use std::path::Path;
use std::time::{Duration, Instant};

use warp_spmv::distributed::{
    Communicator, Distribution, FileRows, MatrixOptions, Ranges, own_block, portion_for, read_rows, transposed_balanced,
};
use warp_spmv::format::{FillLimit, Offsets};
use warp_spmv::io::{FileParts, Number};
use warp_spmv::synthetic::Generator;
use warp_spmv::{Csr, Format, PlanOptions, ValueStorage, memory};

use super::world::World;
use crate::cli::error::Error;
use crate::cli::input::{self, Source, of_generator};
use crate::cli::output::{self, printable};
use crate::cli::progress::Progress;
use crate::cli::record::Shape;

/// Calls `work` on each rank with its rows and the time that loading them took. Returns its result on rank 0; nothing
/// in another process.
pub fn with_rows<T: Number, R: Send>(
    world: World,
    source: &Source,
    work: impl Fn(&Communicator, Loaded<T>, Duration) -> Result<R, Error> + Sync,
) -> Result<Option<R>, Error> {
    let begin = Instant::now();
    // Processes without the file report that as ranks.
    let shared = match world {
        World::Threads(ranks) => Some(Given::new(source, ranks)?),
        World::Processes(_) => None,
    };
    world.run(|communicator| {
        let arguments: Vec<_> = std::env::args_os().skip(1).collect();
        communicator.agree("the command line", &arguments.join(" ".as_ref()).to_string_lossy())?;
        let loaded = match &shared {
            Some(given) => given.load(communicator)?,
            None => Given::new(source, communicator.ranks())?.load(communicator)?,
        };
        work(communicator, loaded, begin.elapsed())
    })
}

/// A matrix from which ranks take their rows.
enum Given<T: Number> {
    /// Each rank generates its own.
    Generator(Generator),
    /// Each rank reads its own.
    File(String, FileParts),
    /// The matrix was read as a whole, because of the kind of its file.
    Matrix(String, Csr<T>, String),
}

/// The rows of one rank.
pub struct Loaded<T: Number> {
    /// The shape of the whole matrix.
    pub shape: Shape,
    pub distribution: Distribution,
    /// These have all columns of the whole.
    pub rows: Csr<T>,
}

impl<T: Number> Given<T> {
    fn new(source: &Source, ranks: usize) -> Result<Self, Error> {
        if let Some(generator) = source.parsed() {
            return Ok(Self::Generator(generator?));
        }
        match source.open::<T>(portion_for(ranks))? {
            FileParts::Whole(file) => {
                Ok(Self::Matrix(source.name(), source.read_whole(&file)?, file.kind().to_owned()))
            }
            parts => Ok(Self::File(source.name(), parts)),
        }
    }

    fn name(&self) -> String {
        match self {
            Self::Generator(generator) => generator.to_string(),
            Self::File(name, _) | Self::Matrix(name, ..) => name.clone(),
        }
    }

    /// The row ranges of all ranks, with about the same number of entries each, and the rows of this rank.
    fn balanced(&self, communicator: &Communicator) -> Result<(Ranges, Csr<T>), Error> {
        match self {
            Self::Generator(generator) => {
                balanced(communicator, generator.rows(), |rows| generator.generate_rows(rows).map_err(of_generator))
            }
            Self::Matrix(name, matrix, kind) => {
                if communicator.rank() == 0 {
                    let (name, kind) = (printable(name), printable(kind));
                    output::say(&format!(
                        "{name} is {kind}, which ranks cannot read by ranges: it was read as a whole"
                    ));
                }
                balanced(communicator, matrix.rows(), |rows| Ok(part_of(matrix, rows)?))
            }
            Self::File(_, parts) => {
                let progress = (communicator.rank() == 0).then(|| Progress::bytes("reading the matrix"));
                let report = |done, total| progress.iter().for_each(|progress| progress.update(done, total));
                let FileRows { ranges, rows, .. } = read_rows(communicator, parts, Some(&report))?;
                Ok((ranges, rows))
            }
        }
    }

    /// The rows of this rank.
    fn load(&self, communicator: &Communicator) -> Result<Loaded<T>, Error> {
        let (balanced, part) = self.balanced(communicator)?;
        let (rows, columns, name) = (balanced.total() as usize, part.columns(), self.name());
        let mut entries = [part.nnz() as u64];
        communicator.reduce(&mut entries, |sum, next| sum + next)?;
        let shape = Shape { name, rows, columns, nonzeros: entries[0] as usize };
        // Processes on several machines may have read different files of the same name.
        communicator.agree("the matrix", &format!("{}: {shape}", shape.name))?;
        let distribution = match rows == columns {
            true => Distribution::square(balanced),
            false => Distribution { rows: balanced, columns: Ranges::even(columns as u64, communicator.ranks())? },
        };
        Ok(Loaded { shape, distribution, rows: part })
    }
}

/// The row ranges of all ranks, and the rows of this rank; `part` returns any rows.
fn balanced<T: Number>(
    communicator: &Communicator,
    rows: usize,
    part: impl Fn(Range<usize>) -> Result<Csr<T>, Error>,
) -> Result<(Ranges, Csr<T>), Error> {
    let even = Ranges::even(rows as u64, communicator.ranks())?;
    let own = |ranges: &Ranges| {
        let Range { start, end } = ranges.of(communicator.rank());
        part(start as usize..end as usize)
    };
    let first = own(&even)?;
    let lengths = memory::collect(first.row_lengths())?;
    let balanced = Ranges::balanced_together(communicator, &lengths)?;
    if balanced == even {
        return Ok((even, first));
    }
    drop(first);
    let rows = own(&balanced)?;
    Ok((balanced, rows))
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
    /// Rounds the values to the type in which they will be stored: the correct answer is then the one for these values.
    pub fn round_values(&mut self, values: ValueStorage) -> Result<(), warp_spmv::Error> {
        match values {
            ValueStorage::Rounded(narrow_type) => self.rows.round_values(narrow_type).map(drop),
            _ => Ok(()),
        }
    }

    /// The transpose, whose rows are divided again. All ranks call it.
    pub fn transposed(self, communicator: &Communicator) -> Result<Self, Error> {
        let Self { shape, distribution: Distribution { rows: of_rows, .. }, rows } = self;
        let (ranges, rows) = transposed_balanced(communicator, &rows, &of_rows)?;
        let shape = Shape { rows: shape.columns, columns: shape.rows, ..shape };
        let distribution = match shape.rows == shape.columns {
            true => Distribution::square(ranges),
            false => Distribution { rows: ranges, columns: of_rows },
        };
        Ok(Self { shape, distribution, rows })
    }

    /// Whether each rank can store its entries in columns of its own in a format without disproportionate memory.
    pub fn suits(&self, communicator: &Communicator, format: Format) -> Result<bool, Error> {
        let block = own_block(&self.rows, self.distribution.columns.of(communicator.rank()))?;
        let csr = Format::CSR_SCALAR.bytes::<_, T>(&block)?;
        let suits = format == Format::Auto
            || match format.bytes::<_, T>(&block) {
                Err(warp_spmv::Error::TooLarge { .. }) => false,
                bytes => FillLimit::default().allows(bytes?, csr),
            };
        let mut all = [u8::from(suits)];
        communicator.reduce(&mut all, u8::min)?;
        Ok(all == [1])
    }

    /// The rows with only their non-empty columns, and the numbers of those columns.
    pub fn compressed(&self) -> Result<(Csr<T>, Vec<u32>), warp_spmv::Error> {
        let columns = self.rows.column_indices();
        let bounds = columns.iter().fold((u32::MAX, 0), |(first, last), &column| (column.min(first), column.max(last)));
        let first = bounds.0.min(bounds.1) as usize;
        // For each column from the first to the last one: 1 if it is needed, later its new index.
        let mut places = memory::zeros::<u32>(bounds.1 as usize - first + 1)?;
        for &column in columns {
            places[column as usize - first] = 1;
        }
        let mut needed = memory::with_capacity(places.iter().map(|&place| place as usize).sum())?;
        for (column, place) in (first..).zip(&mut places).filter(|(_, place)| **place == 1) {
            *place = needed.len() as u32;
            needed.push(column as u32);
        }
        let columns = memory::collect(columns.iter().map(|&column| places[column as usize - first]))?;
        drop(places);
        let offsets = Offsets::from_lengths(self.rows.row_lengths())?;
        let values = memory::copy(self.rows.values())?;
        Ok((Csr::try_new(self.rows.rows(), needed.len(), offsets, columns, values)?, needed))
    }
}

/// This rank's elements of a vector in a file.
pub fn vector_part<T: Number>(communicator: &Communicator, path: &Path, ranges: &Ranges) -> Result<Vec<T>, Error> {
    let vector: Vec<T> = input::vector(path, ranges.total() as usize)?;
    let Range { start, end } = ranges.of(communicator.rank());
    Ok(memory::copy(&vector[start as usize..end as usize])?)
}

/// The storage of a rank's rows: the entries in columns of its own are in the requested format. The choice of a format
/// also chooses the storage of values, unless one was requested.
pub fn matrix_options(format: Format, values: ValueStorage) -> MatrixOptions {
    let options = MatrixOptions::default();
    let values = match values {
        ValueStorage::Full if format == Format::Auto => ValueStorage::Lossless,
        values => values,
    };
    MatrixOptions { local: format, plan: PlanOptions { values, ..options.plan }, ..options }
}

/// Elements of a distributed vector, whichever ranks have them; `needed` is sorted. This is independent of the exchange
/// of a product, which is checked against it.
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
        found.ok_or_else(|| Error::Usage(format!("a rank requests more elements than exist from {begin} on")))
    };
    let answers = communicator.all_to_all(&asked)?.iter().map(answer).collect::<Result<Vec<_>, _>>()?;
    Ok(communicator.all_to_all(&answers)?.concat())
}
