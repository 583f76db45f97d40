//! Aggregates of nodes around the roots of an independent set.

use cuda_std::thread::{grid_threads, index_1d};
use cuda_std::warp::{WARP_LANES, warp_shuffle_xor};
use cuda_std::{Global, GlobalMut, kernel};

use super::independent_set::INSIDE;
use crate::sparse_product::team::Team;

/// The aggregate of a node that is in no aggregate.
pub const NONE: u32 = u32::MAX;

/// Marks all nodes as being in no aggregate.
///
/// # Safety
/// `of_node` has `nodes` elements.
#[kernel]
pub unsafe fn no_aggregates(
    /// Number of nodes.
    nodes: u32,
    /// The aggregate of each node.
    of_node: GlobalMut<u32>,
) {
    let mut node = index_1d();
    while node < nodes {
        of_node.store(node, NONE);
        node += grid_threads();
    }
}

/// Finds the roots of new aggregates: the nodes of the set with enough neighbours that are in no aggregate.
///
/// # Safety
/// `offsets` and `neighbours` are those of a graph of `nodes` nodes; the other arrays have an element for each node.
#[kernel]
pub unsafe fn aggregate_roots(
    /// Number of nodes.
    nodes: u32,
    /// Number of such neighbours that are enough.
    least: u32,
    /// Where the neighbours of each node begin.
    offsets: Global<u64>,
    /// The neighbours of all nodes.
    neighbours: Global<u32>,
    /// The state of each node.
    states: Global<u64>,
    /// The aggregate of each node.
    of_node: Global<u32>,
    /// 1 for a root, 0 for another node.
    roots: GlobalMut<u32>,
) {
    let mut node = index_1d();
    while node < nodes {
        let mut is_root = states.load(node) == INSIDE;
        if is_root {
            let (mut entry, end) = (offsets.load(node), offsets.load(node + 1));
            let mut free = 0;
            while entry < end && free < least {
                free += u32::from(of_node.load(neighbours.load(entry)) == NONE);
                entry += 1;
            }
            is_root = free == least;
        }
        roots.store(node, is_root.into());
        node += grid_threads();
    }
}

/// Makes an aggregate of each root and its neighbours that are in none.
///
/// # Safety
/// `offsets` and `neighbours` are those of a symmetric graph of `nodes` nodes; the other arrays have an element for
/// each node, and `numbers` one more. The roots are in no aggregate, and no two of them are within two steps over nodes
/// that are in none. `numbers` are the sums of `roots` before each node; `before` plus the number of roots is at most
/// the number of nodes.
#[kernel]
pub unsafe fn aggregate_members(
    /// Number of nodes.
    nodes: u32,
    /// Number of existing aggregates.
    before: u32,
    /// Where the neighbours of each node begin.
    offsets: Global<u64>,
    /// The neighbours of all nodes.
    neighbours: Global<u32>,
    /// 1 for a root, 0 for another node.
    roots: Global<u32>,
    /// The number of roots before each node.
    numbers: Global<u32>,
    /// The aggregate of each node.
    of_node: GlobalMut<u32>,
    /// The number of nodes of each aggregate.
    sizes: GlobalMut<u32>,
) {
    let mut root = index_1d();
    while root < nodes {
        if roots.load(root) == 1 {
            // No other thread accesses what this one writes: the root and its free neighbours, which are in no
            // aggregate yet. Such a thread would have another root, which would be one of these nodes or a neighbour of
            // one. But then the two roots would be neighbours, or share a free neighbour, and thus be within two steps.
            // For the same reason, no other thread writes what this one reads: whether its root's neighbours are free.
            let aggregate = before + numbers.load(root);
            of_node.store(root, aggregate);
            let (mut entry, end) = (offsets.load(root), offsets.load(root + 1));
            let mut size = 1;
            while entry < end {
                let neighbour = neighbours.load(entry);
                if of_node.load(neighbour) == NONE {
                    of_node.store(neighbour, aggregate);
                    size += 1;
                }
                entry += 1;
            }
            sizes.store(aggregate, size);
        }
        root += grid_threads();
    }
}

/// An aggregate that a node may join.
#[derive(Clone, Copy)]
struct Choice {
    /// Number of the node's neighbours in it, in the upper half; the lower half is larger for a smaller aggregate.
    worth: u64,
    aggregate: u32,
}

impl Choice {
    /// The better of two: the one of greater worth or, if they are equal, the first aggregate.
    #[inline(always)]
    fn or(self, other: Self) -> Self {
        let better = other.worth > self.worth || other.worth == self.worth && other.aggregate < self.aggregate;
        if better { other } else { self }
    }
}

/// Puts each node that is in no aggregate into the one with most of its neighbours; of several, into the smallest, and
/// of those into the first.
///
/// # Safety
/// `offsets` and `neighbours` are those of a graph of `nodes` nodes; `before` and `of_node` have an element for each
/// node, and `sizes` one for each aggregate in `before`. `lanes` is a power of two up to 32; blocks are made of whole
/// warps.
#[kernel]
pub unsafe fn join_aggregates(
    /// Number of nodes.
    nodes: u32,
    /// Lanes that share a row.
    lanes: u32,
    /// Where the neighbours of each node begin.
    offsets: Global<u64>,
    /// The neighbours of all nodes.
    neighbours: Global<u32>,
    /// The number of nodes of each aggregate.
    sizes: Global<u32>,
    /// The previous aggregate of each node.
    before: Global<u32>,
    /// The aggregate of each node.
    of_node: GlobalMut<u32>,
) {
    let team = Team::new(lanes);
    let mut node = team.in_grid();
    while node < nodes {
        let mut best = Choice { worth: 0, aggregate: before.load(node) };
        if best.aggregate == NONE {
            let (begin, end) = (offsets.load(node), offsets.load(node + 1));
            let mut entry = begin + u64::from(team.lane);
            while entry < end {
                let aggregate = before.load(neighbours.load(entry));
                if aggregate != NONE && aggregate != best.aggregate {
                    let (mut other, mut shared) = (begin, 0u32);
                    while other < end {
                        shared += u32::from(before.load(neighbours.load(other)) == aggregate);
                        other += 1;
                    }
                    let worth = u64::from(shared) << 32 | u64::from(u32::MAX - sizes.load(aggregate));
                    best = best.or(Choice { worth, aggregate });
                }
                entry += u64::from(lanes);
            }
            let mut distance = lanes / 2;
            while distance > 0 {
                let worth = warp_shuffle_xor(team.mask, best.worth, distance, WARP_LANES).0;
                let aggregate = warp_shuffle_xor(team.mask, best.aggregate, distance, WARP_LANES).0;
                best = best.or(Choice { worth, aggregate });
                distance /= 2;
            }
        }
        if team.lane == 0 {
            of_node.store(node, best.aggregate);
        }
        node += team.count();
    }
}
