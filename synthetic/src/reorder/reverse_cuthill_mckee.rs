//! Reverse Cuthill-McKee.

use host::error::check_square;
use host::memory::{copy, with_capacity, zeros};
use host::{Csr, Error, Scalar};

use super::Ordering;
use crate::draw::keep_distinct;

/// Breadth first from a vertex at the edge of each component, neighbours of smaller degree first, and all that in
/// reverse (Cuthill & McKee 1969; George & Liu 1981, §4.3): entries come near the diagonal. The graph is that of the
/// matrix and its transpose, so that the matrix need not be symmetric.
///
/// One thread, O(nnz log(longest row)) for each of the few searches that find a vertex at the edge; memory for the
/// columns of the matrix and of its transpose.
///
/// # Errors
/// When the matrix is not square, or memory runs out.
pub fn reverse_cuthill_mckee<T: Scalar>(matrix: &Csr<T>) -> Result<Ordering, Error> {
    check_square("the matrix", matrix.rows(), matrix.columns())?;
    let graph = Graph::new(matrix)?;
    let mut search = Search { graph: &graph, seen: zeros(matrix.rows())? };
    let (mut ordered, mut reached) = (with_capacity(matrix.rows())?, with_capacity(matrix.rows())?);
    for start in 0..matrix.rows() as u32 {
        if !search.seen[start as usize] {
            let edge = search.vertex_at_edge(start, &mut reached);
            search.breadth_first(edge, &mut ordered);
        }
    }
    ordered.reverse();
    Ok(Ordering::from_valid(ordered))
}

/// The vertices that each vertex has an entry with, in either direction: those of smaller degree first.
struct Graph {
    offsets: Vec<usize>,
    neighbours: Vec<u32>,
}

impl Graph {
    fn new<T: Scalar>(matrix: &Csr<T>) -> Result<Self, Error> {
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
        // Keeps one of those that have entries in both directions.
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
            // By the vertex too: a stable sort would take memory, and abort without it.
            let own = &mut neighbours[offsets[row]..offsets[row + 1]];
            own.sort_unstable_by_key(|&vertex| (degree(&offsets, vertex), vertex));
        }
        Ok(Self { offsets, neighbours })
    }

    fn of(&self, vertex: u32) -> &[u32] {
        &self.neighbours[self.offsets[vertex as usize]..self.offsets[vertex as usize + 1]]
    }
}

fn degree(offsets: &[usize], vertex: u32) -> usize {
    offsets[vertex as usize + 1] - offsets[vertex as usize]
}

/// Calls `pair` with both ends of each entry off the diagonal, both ways.
fn for_each_pair<T: Scalar>(matrix: &Csr<T>, mut pair: impl FnMut(usize, usize)) {
    for row in 0..matrix.rows() {
        for (column, _) in matrix.row(row).filter(|&(column, _)| column as usize != row) {
            pair(row, column as usize);
            pair(column as usize, row);
        }
    }
}

struct Search<'a> {
    graph: &'a Graph,
    seen: Vec<bool>,
}

impl Search<'_> {
    /// Appends what can be reached from a vertex, nearest first, to a vector that has room for every vertex. Returns the
    /// number of steps to the farthest, and where in `reached` the farthest begin.
    fn breadth_first(&mut self, start: u32, reached: &mut Vec<u32>) -> (usize, usize) {
        let mut level = reached.len();
        let mut steps = 0;
        self.seen[start as usize] = true;
        reached.push(start);
        loop {
            let end = reached.len();
            for place in level..end {
                for &neighbour in self.graph.of(reached[place]) {
                    if !std::mem::replace(&mut self.seen[neighbour as usize], true) {
                        reached.push(neighbour);
                    }
                }
            }
            if reached.len() == end {
                return (steps, level);
            }
            level = end;
            steps += 1;
        }
    }

    /// A vertex from which the farthest one is far: goes to one of small degree among the farthest, until none is
    /// farther from there. Leaves nothing seen; `reached` is scratch with room for every vertex.
    fn vertex_at_edge(&mut self, start: u32, reached: &mut Vec<u32>) -> u32 {
        let mut edge = start;
        let mut most_steps = None;
        loop {
            reached.clear();
            let (steps, level) = self.breadth_first(edge, reached);
            for &vertex in &*reached {
                self.seen[vertex as usize] = false;
            }
            let farther = most_steps.is_none_or(|most| steps > most);
            let candidate = reached[level..].iter().copied().min_by_key(|&vertex| self.graph.of(vertex).len());
            match candidate {
                Some(candidate) if farther && steps > 0 => edge = candidate,
                _ => return edge,
            }
            most_steps = Some(steps);
        }
    }
}
