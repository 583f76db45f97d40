//! The graph of a matrix and its transpose.

use host::memory::{copy, with_capacity, zeros};
use host::{Csr, Error, Scalar};

use crate::draw::keep_distinct;

/// The neighbours of each vertex, which are those with an entry in either direction: smallest degree first.
pub(super) struct Graph {
    pub offsets: Vec<usize>,
    pub neighbours: Vec<u32>,
}

impl Graph {
    pub fn new<T: Scalar>(matrix: &Csr<T>) -> Result<Self, Error> {
        let rows = matrix.rows();
        let mut ends: Vec<usize> = zeros(rows + 1)?;
        for_each_pair(matrix, |from, _| ends[from + 1] += 1);
        for row in 0..rows {
            ends[row + 1] += ends[row];
        }
        let mut neighbours: Vec<u32> = zeros(ends[rows])?;
        let mut next = copy(&ends)?;
        for_each_pair(matrix, |from, to| {
            neighbours[next[from]] = to as u32;
            next[from] += 1;
        });
        // Keeps one of the duplicates from entries in both directions.
        let mut offsets = with_capacity(rows + 1)?;
        offsets.push(0);
        let mut kept = 0;
        for row in 0..rows {
            let own = &mut neighbours[ends[row]..ends[row + 1]];
            own.sort_unstable();
            let distinct = keep_distinct(own);
            neighbours.copy_within(ends[row]..ends[row] + distinct, kept);
            kept += distinct;
            offsets.push(kept);
        }
        neighbours.truncate(kept);
        for row in 0..rows {
            // Also by vertex: a stable sort would allocate, and abort if that failed.
            let own = &mut neighbours[offsets[row]..offsets[row + 1]];
            own.sort_unstable_by_key(|&vertex| (degree(&offsets, vertex), vertex));
        }
        Ok(Self { offsets, neighbours })
    }

    pub fn of(&self, vertex: u32) -> &[u32] {
        &self.neighbours[self.offsets[vertex as usize]..self.offsets[vertex as usize + 1]]
    }
}

fn degree(offsets: &[usize], vertex: u32) -> usize {
    offsets[vertex as usize + 1] - offsets[vertex as usize]
}

/// Calls `pair` with both ends of each entry off the diagonal, in both orders.
fn for_each_pair<T: Scalar>(matrix: &Csr<T>, mut pair: impl FnMut(usize, usize)) {
    for row in 0..matrix.rows() {
        for (column, _) in matrix.row(row).filter(|&(column, _)| column as usize != row) {
            pair(row, column as usize);
            pair(column as usize, row);
        }
    }
}
