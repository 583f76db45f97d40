//! Reverse Cuthill-McKee.

use host::error::check_square;
use host::memory::{with_capacity, zeros};
use host::{Csr, Error, Scalar};

use super::Ordering;
use super::graph::Graph;

/// Breadth-first from a pseudo-peripheral vertex of each component, neighbours of smaller degree first, and all in
/// reverse (Cuthill & McKee 1969; George & Liu 1981, §4.3): entries move near the diagonal. The graph is that of the
/// matrix and its transpose, so the matrix need not be symmetric.
///
/// One thread, O(nnz log(longest row)) for each of the few searches for a pseudo-peripheral vertex; memory for the
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

struct Search<'a> {
    graph: &'a Graph,
    seen: Vec<bool>,
}

impl Search<'_> {
    /// Appends the vertices reachable from `start`, nearest first, to `reached`, which has capacity for every vertex.
    /// Returns the number of steps to the farthest vertices, and the index in `reached` where they begin.
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

    /// Finds a pseudo-peripheral vertex: moves to one of smallest degree among the farthest until none is farther from
    /// there. Leaves `seen` all false; `reached` is scratch with capacity for every vertex.
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
