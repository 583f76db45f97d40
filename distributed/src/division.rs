//! The parts of ranks under construction, as rows arrive block by block from several threads.

use std::mem;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use host::memory::{reserve, with_capacity};

use crate::column_set::ColumnSet;
use crate::error::Error;
use crate::matrix::Distribution;
use crate::source::{Blocks, RowSource};
use crate::statistics::{Message, Part, Statistics};

/// The parts of one distribution, as far as counted.
pub(crate) struct Division<'a> {
    distribution: &'a Distribution,
    columns: u64,
    open: Vec<Mutex<OpenPart>>,
}

/// A part with missing rows.
#[derive(Default)]
struct OpenPart {
    part: Part,
    /// Blocks with rows of this part that are not yet counted.
    blocks: u64,
    /// Columns of other ranks with at least one entry.
    needed: ColumnSet,
    /// Source ranks and number of elements, when all rows are counted.
    received: Vec<(u32, u64)>,
}

impl<'a> Division<'a> {
    pub fn new(source: &dyn RowSource, blocks: &Blocks, distribution: &'a Distribution) -> Result<Self, Error> {
        let Distribution { rows, columns } = distribution;
        for (what, ranges, length) in [("rows", rows, source.rows()), ("columns", columns, source.columns())] {
            if ranges.total() != length || ranges.ranks() != rows.ranks() {
                let reason = format!("{} {what} for {} ranks, of {length}", ranges.total(), ranges.ranks());
                return Err(Error::Ranges { what, reason });
            }
        }
        let mut open = with_capacity(rows.ranks())?;
        open.extend((0..rows.ranks()).map(|rank| {
            let own = rows.of(rank);
            let part = Part { rows: own.end - own.start, ..Part::default() };
            Mutex::new(OpenPart { part, blocks: blocks.overlapping(&own), ..OpenPart::default() })
        }));
        Ok(Self { distribution, columns: source.columns(), open })
    }

    /// Adds rows of one rank.
    fn add(&self, rank: usize, rows: &CountedRows) -> Result<(), Error> {
        let own = self.distribution.columns.of(rank);
        let mut open = self.open[rank].lock().unwrap_or_else(PoisonError::into_inner);
        let OpenPart { part, needed, .. } = &mut *open;
        part.nnz += rows.nnz;
        // In most distributions all columns are the rank's own, which the smallest and the largest show at once.
        if rows.columns.is_empty() || own.start <= rows.least.into() && u64::from(rows.largest) < own.end {
            return Ok(());
        }
        let mut begin = 0;
        for &end in &rows.ends {
            let before = part.remote_nnz;
            for &column in &rows.columns[begin..end] {
                if !own.contains(&u64::from(column)) {
                    part.remote_nnz += 1;
                    needed.insert(column, self.columns)?;
                }
            }
            part.remote_rows += u64::from(part.remote_nnz > before);
            begin = end;
        }
        Ok(())
    }

    /// Marks the rows of a block as counted. When a rank has no missing rows left, its columns become messages.
    fn end_block(&self, rows: &Range<u64>) -> Result<(), Error> {
        let Distribution { rows: ranges, columns } = self.distribution;
        for rank in ranges.owner(rows.start)..=ranges.owner(rows.end - 1) {
            if ranges.of(rank).is_empty() {
                continue;
            }
            let mut open = self.open[rank].lock().unwrap_or_else(PoisonError::into_inner);
            open.blocks -= 1;
            if open.blocks > 0 {
                continue;
            }
            let needed = mem::take(&mut open.needed);
            let mut owned = 0..0;
            for column in needed.iter() {
                if !owned.contains(&column) {
                    let owner = columns.owner(column);
                    owned = columns.of(owner);
                    reserve(&mut open.received, 1)?;
                    open.received.push((owner as u32, 0));
                }
                if let Some((_, elements)) = open.received.last_mut() {
                    *elements += 1;
                }
            }
        }
        Ok(())
    }

    pub fn finish(self) -> Result<Statistics, Error> {
        let mut parts = with_capacity(self.open.len())?;
        let mut messages = Vec::new();
        for (to, open) in self.open.into_iter().enumerate() {
            let OpenPart { mut part, received, .. } = open.into_inner().unwrap_or_else(PoisonError::into_inner);
            part.neighbours = received.len() as u64;
            part.halo = received.iter().map(|&(_, elements)| elements).sum();
            part.largest_message = received.iter().map(|&(_, elements)| elements).max().unwrap_or(0);
            parts.push(part);
            reserve(&mut messages, received.len())?;
            messages.extend(received.iter().map(|&(from, elements)| Message { from, to: to as u32, elements }));
        }
        for message in &messages {
            let sender: &mut Part = &mut parts[message.from as usize];
            sender.sent += message.elements;
            sender.receivers += 1;
        }
        Ok(Statistics { parts, messages })
    }
}

/// Consecutive rows with the same rank in every distribution.
#[derive(Default)]
struct CountedRows {
    nnz: u64,
    /// The columns of entries that are not the rank's own in every distribution.
    columns: Vec<u32>,
    /// The smallest and the largest of these, if any.
    least: u32,
    largest: u32,
    /// The end of each row's columns, for rows that have any.
    ends: Vec<usize>,
}

/// Counts the rows of a block.
pub(crate) fn count(source: &dyn RowSource, block: Range<u64>, divisions: &[Division<'_>]) -> Result<(), Error> {
    // Rows at which the rank changes in one of the distributions.
    let mut cuts = Vec::new();
    for Division { distribution, .. } in divisions {
        let begins = distribution.rows.begins();
        let inside =
            begins.partition_point(|&begin| begin <= block.start)..begins.partition_point(|&begin| begin < block.end);
        let inside = begins.get(inside).unwrap_or_default();
        reserve(&mut cuts, inside.len() + 1)?;
        cuts.extend_from_slice(inside);
    }
    cuts.push(block.end);
    cuts.sort_unstable();
    cuts.dedup();
    let ranks = |row: u64| divisions.iter().map(move |division| division.distribution.rows.owner(row));
    // The columns that the owner of a row owns in every distribution.
    let own = |row: u64| {
        let ranges = divisions.iter().zip(ranks(row)).map(|(division, rank)| division.distribution.columns.of(rank));
        ranges.fold(0..u64::MAX, |common, own| common.start.max(own.start)..common.end.min(own.end))
    };
    let (mut row, mut cuts) = (block.start, cuts.into_iter().peekable());
    let (mut common, mut counted, mut result) = (own(row), CountedRows::default(), Ok(()));
    let mut add = |columns: &[u32]| -> Result<(), Error> {
        counted.nnz += columns.len() as u64;
        let known = counted.columns.len();
        for &column in columns {
            if common.contains(&u64::from(column)) {
                continue;
            }
            if u64::from(column) >= source.columns() {
                return Err(Error::Rows { row, reason: format!("column {column} of {}", source.columns()) });
            }
            reserve(&mut counted.columns, 1)?;
            counted.least = if counted.columns.is_empty() { column } else { counted.least.min(column) };
            counted.largest = if counted.columns.is_empty() { column } else { counted.largest.max(column) };
            counted.columns.push(column);
        }
        if counted.columns.len() > known {
            reserve(&mut counted.ends, 1)?;
            counted.ends.push(counted.columns.len());
        }
        row += 1;
        if cuts.next_if_eq(&row).is_some() {
            for (division, rank) in divisions.iter().zip(ranks(row - 1)) {
                division.add(rank, &counted)?;
            }
            counted.nnz = 0;
            counted.columns.clear();
            counted.ends.clear();
            if row < block.end {
                common = own(row);
            }
        }
        Ok(())
    };
    source.visit(block.clone(), &mut |columns| {
        if result.is_ok() {
            result = add(columns);
        }
    })?;
    result?;
    divisions.iter().try_for_each(|division| division.end_block(&block))
}
