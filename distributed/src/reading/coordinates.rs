//! Matrix Market files by portions.
//!
//! The ranks take turns: in each round, the portions of all ranks are consecutive in the file, so a rank receives the
//! entries of others in file order, round by round.

use files::{CoordinatePortions, Header, Number, Portion, PortionReader, ReadProgress, Triplets};
use host::format::{RowCounts, TripletSlices};
use host::memory::collect;

use super::{FileRows, agree_on_portions};
use crate::communicator::Communicator;
use crate::deal::{self, Deal};
use crate::error::Error;
use crate::ranges::Ranges;
use crate::together::{heard, together};

/// Reads the rows of each rank: one pass counts the entries of each row, a second one sends them to the owners of their
/// rows.
pub(super) fn read<T: Number>(
    communicator: &Communicator,
    file: &CoordinatePortions,
    progress: ReadProgress<'_>,
) -> Result<FileRows<T>, Error> {
    agree_on_portions(communicator, file)?;
    together(communicator, file.check_values::<T>().map_err(Error::from))?;
    let header = file.header();
    let even = Ranges::even(header.rows as u64, communicator.ranks())?;
    let rounds = Rounds { communicator, file, progress, passes: 2 };
    let own = even.of(communicator.rank());
    let mut counts = RowCounts::new((own.end - own.start) as usize, header.columns, header.most_entries())?;
    let counted = rounds.go_through(
        0,
        |reader, number| reader.rows(number),
        |parts| Deal::new(communicator, &even, &collect(parts.iter().map(Vec::as_slice))?)?.count(&mut counts),
    )?;
    if let Some(blame) = counted {
        // Only the rows were examined: an earlier line may have another error.
        let checked = rounds.go_through(0, |reader, number| reader.check::<T>(number), |_| Ok(()))?;
        return Err(checked.unwrap_or(blame).into_error(communicator));
    }
    let (ranges, lengths) = deal::balanced(communicator, &counts.into_lengths()?, &even)?;
    let mut assembly = RowCounts::of_lengths(header.columns, &lengths)?.into_assembly::<T>()?;
    drop(lengths);
    let read = rounds.go_through(
        1,
        |reader, number| reader.entries::<T>(number),
        |parts| {
            let slices: Vec<TripletSlices<'_, T>> = collect(parts.iter().map(slices))?;
            let received = deal::entries(communicator, &ranges, &slices)?;
            let parts = received.iter().map(|(rows, columns, values)| (&**rows, &**columns, &**values));
            Ok(assembly.place(&collect(parts)?)?)
        },
    )?;
    match read {
        Some(blame) => Err(blame.into_error(communicator)),
        None => Ok(FileRows { header, ranges, rows: together(communicator, assembly.finish().map_err(Error::from))? }),
    }
}

fn slices<T: Number>(triplets: &Triplets<T>) -> TripletSlices<'_, T> {
    (&triplets.rows, &triplets.columns, &triplets.values)
}

/// The passes over a file.
struct Rounds<'a> {
    communicator: &'a Communicator,
    file: &'a CoordinatePortions,
    progress: ReadProgress<'a>,
    /// Number of passes, for the progress.
    passes: u64,
}

/// The rank that has found the first wrong line, and its error, which only that rank has.
struct Blame {
    rank: usize,
    error: Option<Error>,
}

impl Blame {
    fn into_error(self, communicator: &Communicator) -> Error {
        self.error.unwrap_or_else(|| heard(communicator, self.rank))
    }
}

impl Rounds<'_> {
    /// Goes through all portions; `pass` is the zero-based pass number. Takes this rank's entries of each round unless a
    /// line up to its end is wrong. Returns the first wrong line, if any, or the lack of entries.
    fn go_through<C>(
        &self,
        pass: u64,
        read: impl Fn(&mut PortionReader<'_>, u64) -> Result<Portion<C>, host::Error>,
        mut take: impl FnMut(Vec<C>) -> Result<(), Error>,
    ) -> Result<Option<Blame>, Error> {
        let Self { communicator, file, .. } = *self;
        let (rank, ranks) = (communicator.rank() as u64, communicator.ranks() as u64);
        let Header { entries: announced, .. } = file.header();
        let (mut reader, mut found) = (file.reader(), 0);
        let portions = file.portions();
        for round in 0..portions.div_ceil(ranks) {
            let number = round * ranks + rank;
            // Portions past the last one are empty.
            let portion = read(&mut reader, number)?;
            let status = communicator.all_gather(&[portion.entries, u64::from(portion.error.is_some())])?;
            for (other, status) in status.iter().enumerate() {
                let (entries, own) = (status[0], other as u64 == rank);
                if entries > announced - found {
                    let error = if own { Some(reader.surplus(number, announced - found)?.into()) } else { None };
                    return Ok(Some(Blame { rank: other, error }));
                }
                if status[1] == 1 {
                    let error = portion.error.filter(|_| own).map(Error::from);
                    return Ok(Some(Blame { rank: other, error }));
                }
                found += entries;
            }
            take(portion.parts)?;
            if let Some(progress) = self.progress {
                let (bytes, done) = (file.bytes(), ((round + 1) * ranks).min(portions));
                let of_pass = (u128::from(bytes) * u128::from(done) / u128::from(portions)) as u64;
                progress((pass * bytes + of_pass) / self.passes, bytes);
            }
        }
        if found == announced {
            return Ok(None);
        }
        Ok(Some(Blame { rank: 0, error: (rank == 0).then(|| file.missing(found).into()) }))
    }
}
