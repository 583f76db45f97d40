//! The pattern of a matrix, generated or read.

use std::ops::Range;

use warp_spmv::Complex;
use warp_spmv::distributed::{self, Distribution, Ranges, RowSource, Statistics};
use warp_spmv::format::Offsets;
use warp_spmv::io::Number;
use warp_spmv::synthetic::{self, Generator};

use super::error::Error;
use super::input::{Input, Source, of_generator};
use super::precision::AnyPrecision;
use super::progress::Progress;
use super::record::Shape;

/// Approximate number of entries that a generator makes at once.
const ENTRIES_AT_ONCE: u128 = 1 << 20;

/// Smallest and largest number of rows that it makes at once: multiples of those that share a stream of random numbers.
const FEWEST_ROWS: u64 = 1 << 10;
const MOST_ROWS: u64 = 1 << 16;

/// The pattern of a matrix, and its source.
pub struct Pattern {
    name: String,
    /// None for a file.
    generator: Option<Generator>,
    complex: bool,
    source: Box<dyn RowSource>,
}

impl Pattern {
    /// The pattern of a generator, whose rows are made on demand, or of a file, which is read.
    pub fn new(source: &Source, precision: AnyPrecision) -> Result<Self, Error> {
        let complex = matches!(precision, AnyPrecision::Complex64 | AnyPrecision::Complex128);
        match source.parsed() {
            Some(generator) => Self::generated(generator?, complex),
            None if complex => Self::read::<Complex<f32>>(source, complex),
            None => Self::read::<f32>(source, complex),
        }
    }

    fn read<T: Number>(source: &Source, complex: bool) -> Result<Self, Error> {
        let Input { name, matrix, .. } = source.load::<T>()?;
        Ok(Self { name, generator: None, complex, source: Box::new(matrix.into_csr()?) })
    }

    /// The pattern of a generator, with real or complex values.
    pub fn generated(generator: Generator, complex: bool) -> Result<Self, Error> {
        let rows = Rows { generator: generator.clone(), complex };
        let source: Box<dyn RowSource> = match generator.makes_all_edges() {
            // Its edges would be generated again for each range.
            true if complex => Box::new(generator.generate::<Complex<f32>>().map_err(of_generator)?),
            true => Box::new(generator.generate::<f32>().map_err(of_generator)?),
            false => {
                // Checks that the generator has such values.
                rows.part(0..0).map_err(of_generator)?;
                Box::new(rows)
            }
        };
        Ok(Self { name: generator.to_string(), generator: Some(generator), complex, source })
    }

    /// The parts of the matrix on these numbers of ranks.
    pub fn divide(&self, ranks: &[usize]) -> Result<Vec<Statistics>, Error> {
        let _progress = Progress::spinner(format!("dividing {}", self.name));
        let source = &*self.source;
        let distributions = Ranges::balanced_from(source, ranks)?.into_iter().map(|rows| {
            Ok(match source.rows() == source.columns() {
                true => Distribution::square(rows),
                false => Distribution { columns: Ranges::even(source.columns(), rows.ranks())?, rows },
            })
        });
        let distributions = distributions.collect::<Result<Vec<_>, Error>>()?;
        Ok(Statistics::of_rows(source, &distributions)?)
    }

    /// A matrix of the same kind, `factor` times as large, to be generated later.
    pub fn times(&self, factor: usize) -> Result<Larger, Error> {
        match &self.generator {
            Some(generator) => Ok(Larger { generator: generator.times(factor)?, complex: self.complex }),
            None => Err(Error::Usage(format!("{}: is a file, but --weak requires a generator", self.name))),
        }
    }

    /// The shape, with the entries of all parts.
    pub fn shape(&self, statistics: &Statistics) -> Shape {
        let nonzeros = statistics.parts.iter().map(|part| part.nnz).sum::<u64>() as usize;
        let [rows, columns] = [self.source.rows(), self.source.columns()].map(|count| count as usize);
        Shape { name: self.name.clone(), rows, columns, nonzeros }
    }
}

/// A matrix that is larger than another.
pub struct Larger {
    generator: Generator,
    complex: bool,
}

impl Larger {
    pub fn pattern(self) -> Result<Pattern, Error> {
        Pattern::generated(self.generator, self.complex)
    }
}

/// Rows that a generator makes on demand.
struct Rows {
    generator: Generator,
    complex: bool,
}

impl Rows {
    /// The offsets of some rows, and their columns.
    fn part(&self, rows: Range<usize>) -> Result<(Offsets, Vec<u32>), synthetic::Error> {
        Ok(if self.complex {
            let (offsets, columns, _) = self.generator.generate_rows::<Complex<f32>>(rows)?.into_parts();
            (offsets, columns)
        } else {
            let (offsets, columns, _) = self.generator.generate_rows::<f32>(rows)?.into_parts();
            (offsets, columns)
        })
    }
}

impl RowSource for Rows {
    fn rows(&self) -> u64 {
        self.generator.rows() as u64
    }

    fn columns(&self) -> u64 {
        self.generator.columns() as u64
    }

    fn rows_at_once(&self) -> u64 {
        let mean = self.generator.expected_nnz() / (self.generator.rows() as u128).max(1);
        let rows = (ENTRIES_AT_ONCE / mean.max(1)) as u64;
        rows.clamp(FEWEST_ROWS, MOST_ROWS) / FEWEST_ROWS * FEWEST_ROWS
    }

    fn visit(&self, rows: Range<u64>, visit: &mut dyn FnMut(&[u32])) -> Result<(), distributed::Error> {
        let count = (rows.end - rows.start) as usize;
        let (offsets, columns) = self.part(rows.start as usize..rows.end as usize).map_err(of_library)?;
        (0..count).for_each(|row| visit(&columns[offsets.get(row)..offsets.get(row + 1)]));
        Ok(())
    }
}

/// Converts an error of a generator for its way through the library.
fn of_library(error: synthetic::Error) -> distributed::Error {
    match error {
        synthetic::Error::Matrix(error) => error.into(),
        other => warp_spmv::Error::Operation(Box::new(other)).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_at_once_are_whole_streams() {
        for (text, expected) in [
            ("stencil:27:100", 39_936),
            ("stencil:3:100", 65_536),
            ("dense:rows=5000,columns=5000", 1024),
            ("permutation:rows=10", 65_536),
        ] {
            let rows = Rows { generator: text.parse().unwrap(), complex: false };
            assert_eq!(rows.rows_at_once(), expected, "{text}");
        }
    }

    #[test]
    fn rows_are_those_of_the_whole() {
        for (text, complex) in [("rmat:scale=8", false), ("elasticity:width=5", true), ("gauge:grid=8x8", true)] {
            let rows = Rows { generator: text.parse().unwrap(), complex };
            let (offsets, columns) = rows.part(0..rows.generator.rows()).unwrap();
            let mut row = 40;
            rows.visit(40..45, &mut |part| {
                assert_eq!(part, &columns[offsets.get(row)..offsets.get(row + 1)], "{text}: {row}");
                row += 1;
            })
            .unwrap();
            assert_eq!(row, 45, "{text}");
        }
    }
}
