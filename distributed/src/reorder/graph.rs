//! The graph of a matrix and its transpose; each rank has the vertices of its rows.

use std::ops::Range;

use host::memory::{copy, with_capacity, zeros};
use host::{Csr, Scalar};

use crate::communicator::Communicator;
use crate::deal::Deal;
use crate::error::Error;
use crate::ranges::Ranges;
use crate::transpose::{column_lengths, in_portions, numbers_of_rows};

/// The vertices with which each vertex of this rank shares an entry, in either direction, in ascending order, without
/// itself. Vertices of this rank are numbered relative to its first, neighbours over all ranks.
pub(super) struct Graph<'a> {
    pub communicator: &'a Communicator,
    pub ranges: &'a Ranges,
    own: Range<u32>,
    offsets: Vec<usize>,
    neighbours: Vec<u32>,
}

/// The location of a neighbour.
pub(super) enum Neighbour {
    /// On this rank, relative to its first vertex.
    Own(u32),
    /// On another rank, relative to that rank's first vertex.
    Of(usize, u32),
}

impl<'a> Graph<'a> {
    pub fn new<T: Scalar>(communicator: &'a Communicator, rows: &Csr<T>, ranges: &'a Ranges) -> Result<Self, Error> {
        let Range { start, end } = ranges.of(communicator.rank());
        let mut ends = zeros::<usize>(rows.rows() + 1)?;
        let lengths = rows.row_lengths().zip(column_lengths(communicator, rows, ranges)?);
        for (row, (of_row, of_column)) in lengths.enumerate() {
            ends[row + 1] = ends[row] + of_row + of_column;
        }
        let mut neighbours = zeros::<u32>(ends[rows.rows()])?;
        let mut next = copy(&ends)?;
        let mut add = |vertex: usize, neighbour: u32| {
            neighbours[next[vertex]] = neighbour;
            next[vertex] += 1;
        };
        for row in 0..rows.rows() {
            rows.row(row).for_each(|(column, _)| add(row, column));
        }
        in_portions(communicator, rows.nnz(), |entries| {
            let columns = &rows.column_indices()[entries.clone()];
            let of_rows = numbers_of_rows(rows, entries, start)?;
            let deal = Deal::new(communicator, ranges, &[columns])?;
            let (columns, of_rows) = (deal.rows()?, deal.items(&[&of_rows])?);
            let received = columns.iter().flatten().zip(of_rows.iter().flatten());
            received.for_each(|(&column, &row)| add(column as usize, row));
            Ok(())
        })?;
        drop(next);
        let mut graph = Self { communicator, ranges, own: start as u32..end as u32, offsets: ends, neighbours };
        graph.keep_distinct()?;
        Ok(graph)
    }

    /// Sorts the neighbours of each vertex, and removes duplicates and the vertex itself.
    fn keep_distinct(&mut self) -> Result<(), Error> {
        let Self { own, offsets: ends, neighbours, .. } = self;
        let mut offsets = with_capacity(ends.len())?;
        offsets.push(0);
        let mut kept = 0;
        for (vertex, ends) in own.clone().zip(ends.windows(2)) {
            neighbours[ends[0]..ends[1]].sort_unstable();
            let begin = kept;
            for place in ends[0]..ends[1] {
                let neighbour = neighbours[place];
                if neighbour != vertex && (kept == begin || neighbours[kept - 1] != neighbour) {
                    neighbours[kept] = neighbour;
                    kept += 1;
                }
            }
            offsets.push(kept);
        }
        self.neighbours.truncate(kept);
        self.offsets = offsets;
        Ok(())
    }

    /// Returns the number of vertices of this rank.
    pub fn vertices(&self) -> usize {
        self.own.len()
    }

    /// Returns the global number of a vertex of this rank.
    pub fn number(&self, vertex: u32) -> u32 {
        self.own.start + vertex
    }

    pub fn degree(&self, vertex: u32) -> u32 {
        (self.offsets[vertex as usize + 1] - self.offsets[vertex as usize]) as u32
    }

    /// Returns the neighbours of a vertex.
    pub fn of(&self, vertex: u32) -> impl Iterator<Item = Neighbour> + '_ {
        let neighbours = &self.neighbours[self.offsets[vertex as usize]..self.offsets[vertex as usize + 1]];
        neighbours.iter().map(|&neighbour| self.place(neighbour))
    }

    /// Returns the location of a vertex.
    pub fn place(&self, number: u32) -> Neighbour {
        if self.own.contains(&number) {
            return Neighbour::Own(number - self.own.start);
        }
        let (rank, place) = self.owner(number);
        Neighbour::Of(rank, place)
    }

    /// Returns the rank that owns a vertex, and the vertex relative to that rank's first.
    pub fn owner(&self, number: u32) -> (usize, u32) {
        let rank = self.ranges.owner(number.into());
        (rank, (u64::from(number) - self.ranges.of(rank).start) as u32)
    }
}
