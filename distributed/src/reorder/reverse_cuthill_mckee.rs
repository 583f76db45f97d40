//! Reverse Cuthill-McKee.

use host::error::check_square;
use host::memory::{collect, reserve};
use host::{Csr, Scalar};

use super::components::components;
use super::graph::Graph;
use super::places::places;
use super::search::Search;
use crate::communicator::Communicator;
use crate::deal;
use crate::error::Error;
use crate::outbox::Outbox;
use crate::ranges::Ranges;
use crate::together::together;

/// Returns the new number of each row of this rank in reverse Cuthill-McKee order: breadth-first from a vertex at the edge
/// of each component, neighbours of smaller degree first, then reversed (Azad, Jacquelin, Buluç & Ng 2017). The graph is
/// that of the square matrix and its transpose; each rank has its `rows` of the matrix, with all columns. All ranks must
/// call it.
///
/// The result is that of one thread (`synthetic::reorder::reverse_cuthill_mckee`), for any number of ranks and any division
/// of the rows. [`renumbered`](crate::renumbered) makes the matrix in this order.
///
/// Each rank holds only its rows' part of the graph, about 24 bytes per row, and the exchanged data: for each search the
/// edges to other ranks. A few searches find vertices at the edge, in all components at the same time, level by level; a
/// level takes three all-to-all exchanges and a sum. A search takes as many levels as the deepest component has, so many
/// components take no longer than one. Before that, the components are found in at most as many exchanges as one search has
/// levels. Rows without entries of other rows cost only their position.
///
/// ```
/// use host::Csr;
/// use synthetic::Generator;
/// use warp_spmv_distributed::{Ranges, renumbered, renumbered_ranges, reverse_cuthill_mckee, threads};
///
/// # fn main() -> Result<(), warp_spmv_distributed::Error> {
/// let generator: Generator = "elasticity:width=8".parse().unwrap();
/// let widths = threads::run(3, |communicator| {
///     let ranges = Ranges::even(generator.rows() as u64, communicator.ranks())?;
///     let own = ranges.of(communicator.rank());
///     let rows: Csr<f64> = generator.generate_rows(own.start as usize..own.end as usize).unwrap();
///     let numbers = reverse_cuthill_mckee(communicator, &rows, &ranges)?;
///     let to = renumbered_ranges(communicator, &rows, &ranges, &numbers)?;
///     let new = renumbered(communicator, &rows, &ranges, &numbers, &to)?;
///     // How far entries are from the diagonal, at most.
///     let width = |rows: &Csr<f64>, first: u64| {
///         let of_row = |row: usize| rows.row(row).map(move |(column, _)| u64::from(column).abs_diff(first + row as u64));
///         (0..rows.rows()).flat_map(of_row).max().unwrap_or(0)
///     };
///     Ok([width(&rows, own.start), width(&new, to.of(communicator.rank()).start)])
/// })?;
/// let [old, new] = [0, 1].map(|place| widths.iter().map(|widths| widths[place]).max().unwrap());
/// assert!(new < old / 2);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// When the matrix is not square, the ranks have other rows than the ranges say or other ranges, a rank fails, or memory runs
/// out.
pub fn reverse_cuthill_mckee<T: Scalar>(
    communicator: &Communicator,
    rows: &Csr<T>,
    ranges: &Ranges,
) -> Result<Vec<u32>, Error> {
    ranges.agree(communicator, "rows")?;
    together(communicator, check(communicator, rows, ranges))?;
    let graph = Graph::new(communicator, rows, ranges)?;
    let components = components(&graph)?;
    let mut search = Search::new(&graph)?;
    let mut starts = Starts::new(&graph, &components)?;
    let mut sources = collect(starts.open.iter().map(|start| start.vertex))?;
    while let Some(reached) = search.from(sources)? {
        sources = starts.farther(&search, reached)?;
    }
    let mut numbers = places(&graph, &components, |vertex| search.number(vertex))?;
    let last = ranges.total().saturating_sub(1) as u32;
    numbers.iter_mut().for_each(|number| *number = last - *number);
    Ok(numbers)
}

/// Checks the data that only this rank has.
fn check<T: Scalar>(communicator: &Communicator, rows: &Csr<T>, ranges: &Ranges) -> Result<(), Error> {
    check_square("the matrix", ranges.total() as usize, rows.columns())?;
    ranges.check_length(communicator, "rows", rows.rows())
}

/// The starting vertices of the searches of components: first their smallest vertices, then one of small degree among the
/// farthest, as long as the distance grows. The last search of a component determines the order of its vertices.
struct Starts<'g> {
    graph: &'g Graph<'g>,
    components: &'g [u32],
    /// The components of this rank, those whose smallest vertex it owns, that will be searched again.
    open: Vec<Start>,
    /// Components, the complement of the distance to their farthest vertices, and the degree, the number and the vertex of
    /// one of these with small degree.
    farthest: Outbox<[u32; 5]>,
    vertices: Outbox<u32>,
}

struct Start {
    /// The smallest vertex of the component.
    vertex: u32,
    /// The distance to the farthest vertex in the previous search, if any.
    steps: Option<u32>,
}

impl<'g> Starts<'g> {
    fn new(graph: &'g Graph<'g>, components: &'g [u32]) -> Result<Self, Error> {
        let mut open = Vec::new();
        for vertex in 0..graph.vertices() as u32 {
            if components[vertex as usize] == graph.number(vertex) && graph.degree(vertex) > 0 {
                reserve(&mut open, 1)?;
                open.push(Start { vertex, steps: None });
            }
        }
        let ranks = graph.communicator.ranks();
        Ok(Self { graph, components, open, farthest: Outbox::new(ranks)?, vertices: Outbox::new(ranks)? })
    }

    /// Returns the vertices of this rank from which components are searched next, in ascending order, after a search that
    /// has reached `reached`.
    fn farther(&mut self, search: &Search<'_>, mut reached: Vec<u32>) -> Result<Vec<u32>, Error> {
        let graph = self.graph;
        let component = |vertex: u32| self.components[vertex as usize];
        // Sorts the farthest first.
        let key = |vertex: u32| [u32::MAX - search.steps(vertex), graph.degree(vertex), search.number(vertex)];
        reached.sort_unstable_by_key(|&vertex| component(vertex));
        for vertices in reached.chunk_by(|&left, &right| component(left) == component(right)) {
            if let Some((&vertex, [steps, degree, number])) =
                vertices.iter().map(|vertex| (vertex, key(*vertex))).min_by_key(|&(_, key)| key)
            {
                let (rank, place) = graph.owner(component(vertex));
                self.farthest.push(rank, [place, steps, degree, number, graph.number(vertex)])?;
            }
        }
        drop(reached);
        let mut all = deal::joined(&self.farthest.send(graph.communicator)?)?;
        // The farthest vertex of each searched component.
        all.sort_unstable();
        all.dedup_by_key(|&mut [place, ..]| place);
        for (start, &[_, steps, .., vertex]) in self.open.iter_mut().zip(&all) {
            let steps = u32::MAX - steps;
            let is_farther = start.steps.is_none_or(|before| steps > before);
            start.steps = is_farther.then_some(steps);
            if is_farther {
                let (rank, place) = graph.owner(vertex);
                self.vertices.push(rank, place)?;
            }
        }
        self.open.retain(|start| start.steps.is_some());
        let mut sources = deal::joined(&self.vertices.send(graph.communicator)?)?;
        sources.sort_unstable();
        Ok(sources)
    }
}
