//! A maximal set of candidates, no two of which are within two steps over candidates (Bell, Dalton & Olson 2012,
//! algorithm 5, with new priorities in each round as in Kelley & Rajamanickam 2022).
//!
//! A candidate is a node with neighbours that is in no aggregate. Each has a state: it is in the set, it cannot be in
//! it any more, or it has a priority. A round finds the largest state among each candidate and its neighbours, and then
//! the largest of these: a candidate with exactly that priority joins the set, and one within two steps of the set
//! stays out of it. The states of other nodes, and the largest states next to them, are always [`OUTSIDE`], the least
//! of all, so only the writes check whether a node is a candidate.
//!
//! In a symmetric graph, no two nodes of the set are within two steps over candidates. For if two candidates are, some
//! candidate is next to both or is one of them: a node between them or, if they are neighbours, either. If one round
//! put both in the set, the largest state next to that candidate would be the priority of both, but no two are equal;
//! and once one of them is in the set, that state is [`INSIDE`], which excludes the other.
//!
//! Each round decides on the candidate with the highest priority, so the rounds come to an end.

use cuda_std::thread::{grid_threads, index_1d};
use cuda_std::{Global, GlobalMut, kernel};

use super::aggregates::NONE;
use crate::sparse_product::team::Team;

/// A node that is in the set.
pub const INSIDE: u64 = u64::MAX;

/// A node that can no longer be in the set; all other states lie between the two.
pub const OUTSIDE: u64 = 0;

/// A number that no other node has in this round, between [`OUTSIDE`] and [`INSIDE`].
#[inline(always)]
pub fn priority(round: u64, node: u32) -> u64 {
    let mut bits = (u64::from(node) + 1) ^ (round + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^= bits >> 31;
    // Includes the node itself, so that no two are equal, and avoids both ends.
    (bits >> 33).wrapping_add(1) << 32 | u64::from(node)
}

/// Sets the states before the first round: a priority for each candidate.
///
/// # Safety
/// `offsets` are those of `nodes` nodes; the other arrays have an element for each node.
#[kernel]
pub unsafe fn independent_set_begin(
    /// Number of nodes.
    nodes: u32,
    /// Where the neighbours of each node begin.
    offsets: Global<u64>,
    /// The aggregate of each node.
    of_node: Global<u32>,
    /// The state of each node.
    states: GlobalMut<u64>,
    /// The largest state next to each node.
    nearest: GlobalMut<u64>,
) {
    let mut node = index_1d();
    while node < nodes {
        let is_candidate = of_node.load(node) == NONE && offsets.load(node) < offsets.load(node + 1);
        states.store(node, if is_candidate { priority(0, node) } else { OUTSIDE });
        nearest.store(node, OUTSIDE);
        node += grid_threads();
    }
}

/// The largest of `own` and the values of the node's neighbours, for all lanes of the team.
///
/// # Safety
/// The whole team calls it; the graph has the node.
#[inline(always)]
unsafe fn largest_next_to(
    team: Team,
    node: u32,
    own: u64,
    offsets: Global<u64>,
    neighbours: Global<u32>,
    values: Global<u64>,
) -> u64 {
    let (mut entry, end) = (offsets.load(node) + u64::from(team.lane), offsets.load(node + 1));
    let mut largest = own;
    while entry < end && largest != INSIDE {
        largest = largest.max(values.load(neighbours.load(entry)));
        entry += u64::from(team.lanes);
    }
    team.together_in_warp(largest, u64::max)
}

/// Finds the largest state among each candidate and its neighbours. A neighbour of a node of the set stays one.
///
/// # Safety
/// `offsets` and `neighbours` are those of a graph of `nodes` nodes; the other arrays have an element for each node.
/// `lanes` is a power of two up to 32; blocks are made of whole warps.
#[kernel]
pub unsafe fn independent_set_nearest(
    /// Number of nodes.
    nodes: u32,
    /// Lanes that share a row.
    lanes: u32,
    /// Where the neighbours of each node begin.
    offsets: Global<u64>,
    /// The neighbours of all nodes.
    neighbours: Global<u32>,
    /// The aggregate of each node.
    of_node: Global<u32>,
    /// The state of each node.
    states: Global<u64>,
    /// The largest state next to each node.
    nearest: GlobalMut<u64>,
) {
    let team = Team::new(lanes);
    let mut node = team.in_grid();
    while node < nodes {
        if of_node.load(node) == NONE && nearest.load(node) != INSIDE {
            let largest = largest_next_to(team, node, states.load(node), offsets, neighbours, states);
            // All lanes have read it.
            team.sync();
            if team.lane == 0 {
                nearest.store(node, largest);
            }
        }
        node += team.count();
    }
}

/// Decides on candidates, and gives the remaining ones their priority for the next round.
///
/// # Safety
/// As for [`independent_set_nearest`]; `undecided` has one element.
#[kernel]
pub unsafe fn independent_set_decide(
    /// Number of nodes.
    nodes: u32,
    /// Lanes that share a row.
    lanes: u32,
    /// The number of the next round.
    next_round: u64,
    /// Where the neighbours of each node begin.
    offsets: Global<u64>,
    /// The neighbours of all nodes.
    neighbours: Global<u32>,
    /// The largest state next to each node.
    nearest: Global<u64>,
    /// The state of each node.
    states: GlobalMut<u64>,
    /// Becomes 1 if a candidate remains.
    undecided: GlobalMut<u32>,
) {
    let team = Team::new(lanes);
    let mut node = team.in_grid();
    while node < nodes {
        let state = states.load(node);
        if state != INSIDE && state != OUTSIDE {
            let largest = largest_next_to(team, node, nearest.load(node), offsets, neighbours, nearest);
            // All lanes have read it.
            team.sync();
            if team.lane == 0 {
                if largest == INSIDE {
                    states.store(node, OUTSIDE);
                } else if largest == state {
                    states.store(node, INSIDE);
                } else {
                    states.store(node, priority(next_round, node));
                    undecided.set_flag(0u32);
                }
            }
        }
        node += team.count();
    }
}
