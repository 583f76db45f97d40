//! Strong connections between nodes: those entries of each row of a matrix, or its blocks, whose squares are large
//! enough. Where they are one-way only, the graph is combined with its transpose.

use cuda_std::thread::{grid_threads, index_1d};
use cuda_std::warp::{lane_id, warp_vote_ballot};
use cuda_std::{Global, GlobalMut, kernel, square_root};

use crate::search::first_at_least;
use crate::sparse_product::team::Team;

/// Computes the square of the magnitude of each entry; 0 in place of NaN.
///
/// # Safety
/// There are `parts` values, 1 or 2, for each of `count` entries; `squares` has an element for each entry.
#[kernel]
pub unsafe fn entry_squares(
    /// Number of entries.
    count: u64,
    /// Number of parts of an entry: 2 for complex numbers.
    parts: u32,
    /// The parts of each entry.
    values: Global<f64>,
    /// The square of each.
    squares: GlobalMut<f64>,
) {
    let mut entry = u64::from(index_1d());
    while entry < count {
        let first = entry * u64::from(parts);
        let re = values.load(first);
        let mut square = re * re;
        if parts == 2 {
            let im = values.load(first + 1);
            square += im * im;
        }
        squares.store(entry, if square > 0.0 { square } else { 0.0 });
        entry += u64::from(grid_threads());
    }
}

/// Determines whether an unknown is not the only one of the node of its number.
///
/// # Safety
/// `of_unknown` has `unknowns` elements, and `found` one.
#[kernel]
pub unsafe fn unknowns_beside_nodes(
    /// Number of unknowns.
    unknowns: u32,
    /// The node of each unknown.
    of_unknown: Global<u32>,
    /// Becomes 1 if there is such an unknown.
    found: GlobalMut<u32>,
) {
    let mut unknown = index_1d();
    while unknown < unknowns {
        if of_unknown.load(unknown) != unknown {
            found.set_flag(0u32);
        }
        unknown += grid_threads();
    }
}

/// The entries of a matrix that adds up the rows of each node's unknowns: a 1 in each column.
///
/// # Safety
/// Both arrays have `unknowns` elements.
#[kernel]
pub unsafe fn unknowns_of_nodes(
    /// Number of unknowns.
    unknowns: u32,
    /// The column of each entry.
    columns: GlobalMut<u32>,
    /// The value of each entry.
    values: GlobalMut<f64>,
) {
    let mut unknown = index_1d();
    while unknown < unknowns {
        columns.store(unknown, unknown);
        values.store(unknown, 1.0);
        unknown += grid_threads();
    }
}

/// Computes the node of each entry's column.
///
/// # Safety
/// `columns` and `nodes` have `count` elements, and `of_unknown` one for each column.
#[kernel]
pub unsafe fn nodes_of_columns(
    /// Number of entries.
    count: u64,
    /// The column of each entry.
    columns: Global<u32>,
    /// The node of each column.
    of_unknown: Global<u32>,
    /// The node of each entry's column.
    nodes: GlobalMut<u32>,
) {
    let mut entry = u64::from(index_1d());
    while entry < count {
        nodes.store(entry, of_unknown.load(columns.load_streaming(entry)));
        entry += u64::from(grid_threads());
    }
}

/// Finds the largest off-diagonal square of each row.
///
/// # Safety
/// The arrays are those of a valid square matrix of `nodes` rows; `largest` has an element for each row. `lanes` is a
/// power of two up to 32; blocks are made of whole warps.
#[kernel]
pub unsafe fn largest_squares(
    /// Number of rows.
    nodes: u32,
    /// Lanes that share a row.
    lanes: u32,
    /// Where each row begins.
    offsets: Global<u64>,
    /// The column of each entry.
    columns: Global<u32>,
    /// The square of each entry.
    squares: Global<f64>,
    /// The largest square of each row; 0 for a row without one.
    largest: GlobalMut<f64>,
) {
    let team = Team::new(lanes);
    let mut node = team.in_grid();
    while node < nodes {
        let (mut entry, end) = (offsets.load(node) + u64::from(team.lane), offsets.load(node + 1));
        let mut found = 0.0;
        while entry < end {
            let square = squares.load(entry);
            if square > found && columns.load(entry) != node {
                found = square;
            }
            entry += u64::from(lanes);
        }
        let found = team.together_in_warp(found, |one, other| if other > one { other } else { one });
        if team.lane == 0 {
            largest.store(node, found);
        }
        node += team.count();
    }
}

/// The squares of all connections.
#[derive(Clone, Copy)]
struct Squares {
    offsets: Global<u64>,
    columns: Global<u32>,
    squares: Global<f64>,
    largest: Global<f64>,
    threshold: f64,
}

impl Squares {
    /// Whether an entry of a node's row is a strong connection, or its mirror image is: rounding makes a Galerkin
    /// product slightly unsymmetric, and connections that are strong in one direction only would require a
    /// transposition.
    ///
    /// # Safety
    /// The entry exists, and so do the rows with the numbers of its row and of its column, with their largest squares
    /// if the threshold is above 0.
    #[inline(always)]
    unsafe fn is_strong(self, node: u32, entry: u64) -> bool {
        let (other, square) = (self.columns.load(entry), self.squares.load(entry));
        if other == node {
            return false;
        }
        let least = if self.threshold > 0.0 {
            let scale = square_root(self.largest.load(node) * self.largest.load(other));
            self.threshold * self.threshold * scale
        } else {
            0.0
        };
        let is_strong = |square: f64| square > 0.0 && square >= least;
        is_strong(square) || is_strong(self.square_at(other, node))
    }

    /// The square of the entry in a row and a column; 0 if there is none, or if the row is not sorted and the search
    /// misses it.
    ///
    /// # Safety
    /// The row exists.
    #[inline(always)]
    unsafe fn square_at(self, row: u32, column: u32) -> f64 {
        let end = self.offsets.load(row + 1);
        let place = first_at_least(self.columns, self.offsets.load(row), end, column);
        if place < end && self.columns.load(place) == column { self.squares.load(place) } else { 0.0 }
    }
}

/// Counts the strong connections of each node.
///
/// # Safety
/// As for [`largest_squares`]; `largest` is its result, or any array if `threshold` is not above 0; `lengths` has an
/// element for each node.
#[kernel]
pub unsafe fn strong_lengths(
    /// Number of nodes.
    nodes: u32,
    /// Lanes that share a row.
    lanes: u32,
    /// The threshold of strong connections.
    threshold: f64,
    /// Where each row begins.
    offsets: Global<u64>,
    /// The column of each entry.
    columns: Global<u32>,
    /// The square of each entry.
    squares: Global<f64>,
    /// The largest square of each row.
    largest: Global<f64>,
    /// The number of connections of each node.
    lengths: GlobalMut<u32>,
) {
    let squares = Squares { offsets, columns, squares, largest, threshold };
    let team = Team::new(lanes);
    let mut node = team.in_grid();
    while node < nodes {
        let (mut entry, end) = (offsets.load(node) + u64::from(team.lane), offsets.load(node + 1));
        let mut length = 0;
        while entry < end {
            length += u32::from(squares.is_strong(node, entry));
            entry += u64::from(lanes);
        }
        let length = team.together_in_warp(length, |one, other| one + other);
        if team.lane == 0 {
            lengths.store(node, length);
        }
        node += team.count();
    }
}

/// Writes the strong connections of each node, in the order of the entries.
///
/// # Safety
/// As for [`strong_lengths`]; `begins` are the sums of the lengths that it counted, and the total is the length of
/// `neighbours`.
#[kernel]
pub unsafe fn strong_columns(
    /// Number of nodes.
    nodes: u32,
    /// Lanes that share a row.
    lanes: u32,
    /// The threshold of strong connections.
    threshold: f64,
    /// Where each row begins.
    offsets: Global<u64>,
    /// The column of each entry.
    columns: Global<u32>,
    /// The square of each entry.
    squares: Global<f64>,
    /// The largest square of each row.
    largest: Global<f64>,
    /// Where the connections of each node begin.
    begins: Global<u64>,
    /// The connections of all nodes.
    neighbours: GlobalMut<u32>,
) {
    let squares = Squares { offsets, columns, squares, largest, threshold };
    let team = Team::new(lanes);
    let mut node = team.in_grid();
    while node < nodes {
        let (mut first, end) = (offsets.load(node), offsets.load(node + 1));
        // The count of a row of 2^32 connections, some of them duplicates, has wrapped around.
        let (mut begin, last) = (begins.load(node), begins.load(node + 1));
        while first < end {
            let entry = first + u64::from(team.lane);
            let is_strong = entry < end && squares.is_strong(node, entry);
            let strong = warp_vote_ballot(team.mask, is_strong) & team.mask;
            let place = begin + u64::from((strong & ((1 << lane_id()) - 1)).count_ones());
            if is_strong && place < last {
                neighbours.store(place, columns.load(entry));
            }
            begin += u64::from(strong.count_ones());
            first += u64::from(lanes);
        }
        node += team.count();
    }
}

/// Determines whether a node is not a neighbour of one of its neighbours.
///
/// # Safety
/// `offsets` and `neighbours` are those of a graph of `nodes` nodes, and `found` has one element. `lanes` is a power of
/// two up to 32; blocks are made of whole warps.
#[kernel]
pub unsafe fn one_way_connections(
    /// Number of nodes.
    nodes: u32,
    /// Lanes that share a row.
    lanes: u32,
    /// Where the neighbours of each node begin.
    offsets: Global<u64>,
    /// The neighbours of all nodes, in ascending order.
    neighbours: Global<u32>,
    /// Becomes 1 if there is such a node.
    found: GlobalMut<u32>,
) {
    let team = Team::new(lanes);
    let mut node = team.in_grid();
    while node < nodes {
        let (mut entry, end) = (offsets.load(node) + u64::from(team.lane), offsets.load(node + 1));
        while entry < end {
            let other = neighbours.load(entry);
            let other_end = offsets.load(other + 1);
            let place = first_at_least(neighbours, offsets.load(other), other_end, node);
            if place == other_end || neighbours.load(place) != node {
                found.set_flag(0u32);
            }
            entry += u64::from(lanes);
        }
        node += team.count();
    }
}

/// The neighbours of nodes in two graphs.
#[derive(Clone, Copy)]
struct Both {
    offsets: [Global<u64>; 2],
    neighbours: [Global<u32>; 2],
}

impl Both {
    /// Calls `visit` with each neighbour of a node in one of the graphs or in both, in ascending order.
    ///
    /// # Safety
    /// The graphs have the node.
    #[inline(always)]
    unsafe fn for_each(self, node: u32, mut visit: impl FnMut(u32)) {
        let Self { offsets: [own, back], neighbours: [of_own, of_back] } = self;
        let (mut one, one_end) = (own.load(node), own.load(node + 1));
        let (mut other, other_end) = (back.load(node), back.load(node + 1));
        while one < one_end || other < other_end {
            // No node has the number `u32::MAX`.
            let left = if one < one_end { of_own.load(one) } else { u32::MAX };
            let right = if other < other_end { of_back.load(other) } else { u32::MAX };
            visit(left.min(right));
            one += u64::from(left <= right);
            other += u64::from(right <= left);
        }
    }
}

/// Counts the neighbours of each node in either graph.
///
/// # Safety
/// The arrays are those of graphs of `nodes` nodes, fewer than 2^32 - 1; `lengths` has an element for each node.
#[kernel]
pub unsafe fn both_lengths(
    /// Number of nodes.
    nodes: u32,
    /// Where the neighbours of each node begin in each graph.
    offsets: [Global<u64>; 2],
    /// The neighbours of all nodes in each graph, in ascending order.
    neighbours: [Global<u32>; 2],
    /// The number of neighbours of each node.
    lengths: GlobalMut<u32>,
) {
    let both = Both { offsets, neighbours };
    let mut node = index_1d();
    while node < nodes {
        let mut length = 0;
        both.for_each(node, |_| length += 1);
        lengths.store(node, length);
        node += grid_threads();
    }
}

/// Writes the neighbours of each node in either graph, in ascending order.
///
/// # Safety
/// As for [`both_lengths`]; `begins` are the sums of the lengths that it counted, and the total is the length of `all`.
#[kernel]
pub unsafe fn both_columns(
    /// Number of nodes.
    nodes: u32,
    /// Where the neighbours of each node begin in each graph.
    offsets: [Global<u64>; 2],
    /// The neighbours of all nodes in each graph, in ascending order.
    neighbours: [Global<u32>; 2],
    /// Where the neighbours of each node begin in the combined graph.
    begins: Global<u64>,
    /// The neighbours of all nodes in the combined graph.
    all: GlobalMut<u32>,
) {
    let both = Both { offsets, neighbours };
    let mut node = index_1d();
    while node < nodes {
        let (mut place, end) = (begins.load(node), begins.load(node + 1));
        both.for_each(node, |neighbour| {
            // As for [`strong_columns`].
            if place < end {
                all.store(place, neighbour);
            }
            place += 1;
        });
        node += grid_threads();
    }
}
