//! Aggregates on the host, the same for any number of threads.

use gpu_kernels::multigrid::independent_set::{INSIDE, OUTSIDE, priority};
use host::error::Error;
use host::memory::{copy, filled, zeros};
use host::parallel;

use super::super::AT_ONCE;
use super::super::graph::Graph;
use super::{Aggregates, NONE};

/// Aggregates in two phases (Kelley & Rajamanickam 2022, algorithm 3). First, each root of a distance-2 independent set
/// forms an aggregate with all its neighbours. The second phase repeats this among the remaining nodes, for roots with at
/// least two neighbours there. Nodes that then remain join the aggregate of most of their neighbours. O(connections) for
/// each of about ten rounds.
///
/// # Errors
/// When memory runs out.
pub(super) fn aggregate(graph: &Graph) -> Result<Aggregates, Error> {
    let nodes = graph.nodes();
    let has_neighbours = parallel::map(nodes, AT_ONCE, &|node| !graph.of(node).is_empty())?;
    let mut of_node = filled(nodes, NONE)?;
    let mut count = 0;
    let roots = independent_set(graph, &has_neighbours)?;
    found(graph, &roots, 0, &mut count, &mut of_node);
    let left = parallel::map(nodes, AT_ONCE, &|node| has_neighbours[node] && of_node[node] == NONE)?;
    let roots = independent_set(graph, &left)?;
    found(graph, &roots, 2, &mut count, &mut of_node);
    let before = copy(&of_node)?;
    let mut sizes = zeros::<u32>(count)?;
    before.iter().filter(|&&aggregate| aggregate != NONE).for_each(|&aggregate| sizes[aggregate as usize] += 1);
    parallel::fill(&mut of_node, AT_ONCE, &|node| match before[node] {
        NONE if has_neighbours[node] => closest(graph.of(node), &before, &sizes),
        aggregate => aggregate,
    });
    Ok(Aggregates { count, of_node })
}

/// Makes an aggregate of each root and its unassigned neighbours, if there are at least `least` of those.
fn found(graph: &Graph, roots: &[bool], least: usize, count: &mut usize, of_node: &mut [u32]) {
    for root in (0..roots.len()).filter(|&node| roots[node]) {
        let free = |&&node: &&u32| of_node[node as usize] == NONE;
        if graph.of(root).iter().filter(free).count() < least {
            continue;
        }
        of_node[root] = *count as u32;
        for &node in graph.of(root) {
            if of_node[node as usize] == NONE {
                of_node[node as usize] = *count as u32;
            }
        }
        *count += 1;
    }
}

/// Returns the aggregate of most neighbours; of several, the smallest, and of those the first.
fn closest(neighbours: &[u32], of_node: &[u32], sizes: &[u32]) -> u32 {
    let mut best = (0, 0, NONE);
    for &neighbour in neighbours {
        let aggregate = of_node[neighbour as usize];
        if aggregate == NONE {
            continue;
        }
        let shared = neighbours.iter().filter(|&&other| of_node[other as usize] == aggregate).count();
        let size = sizes[aggregate as usize];
        let better = shared > best.0 || shared == best.0 && (size, aggregate) < (best.1, best.2);
        if better {
            best = (shared, size, aggregate);
        }
    }
    best.2
}

/// Returns a maximal set of candidates, no two within two steps over candidates (Bell, Dalton & Olson 2012, algorithm 5,
/// with new priorities in each round, as in Kelley & Rajamanickam).
fn independent_set(graph: &Graph, candidates: &[bool]) -> Result<Vec<bool>, Error> {
    let nodes = graph.nodes();
    let mut states = parallel::map(nodes, AT_ONCE, &|node| if candidates[node] { INSIDE - 1 } else { OUTSIDE })?;
    let mut nearest = zeros::<u64>(nodes)?;
    let mut round = 0;
    while !parallel::all(nodes, AT_ONCE, &|node| matches!(states[node], INSIDE | OUTSIDE)) {
        parallel::chunks_mut(&mut states, AT_ONCE, 1, &|(chunk, states)| {
            for (node, state) in (chunk * AT_ONCE..).zip(states) {
                if !matches!(*state, INSIDE | OUTSIDE) {
                    *state = priority(round, node as u32);
                }
            }
        });
        // A neighbour of a node of the set remains one.
        let largest = |values: &[u64], node: usize| {
            let neighbours = graph.of(node).iter().filter(|&&other| candidates[other as usize]);
            neighbours.fold(values[node], |largest, &other| largest.max(values[other as usize]))
        };
        parallel::chunks_mut(&mut nearest, AT_ONCE, 1, &|(chunk, nearest)| {
            for (node, nearest) in (chunk * AT_ONCE..).zip(nearest) {
                if candidates[node] && *nearest != INSIDE {
                    *nearest = largest(&states, node);
                }
            }
        });
        parallel::chunks_mut(&mut states, AT_ONCE, 1, &|(chunk, states)| {
            for (node, state) in (chunk * AT_ONCE..).zip(states) {
                if !matches!(*state, INSIDE | OUTSIDE) {
                    *state = match largest(&nearest, node) {
                        INSIDE => OUTSIDE,
                        largest if largest == *state => INSIDE,
                        _ => *state,
                    };
                }
            }
        });
        round += 1;
    }
    parallel::map(nodes, AT_ONCE, &|node| states[node] == INSIDE)
}

#[cfg(test)]
mod tests {
    use host::executor::{Cpu, Executor};
    use host::format::Csr;

    use super::super::super::graph::Nodes;
    use super::super::super::strength::StrongConnections;
    use super::*;

    /// A grid with connections to the four nearest nodes, and an isolated node.
    fn grid(width: usize) -> Graph {
        let nodes = width * width + 1;
        let (mut rows, mut columns) = (vec![], vec![]);
        for node in 0..nodes - 1 {
            let neighbours = [(node % width + 1 < width, node + 1), (node + width < nodes - 1, node + width)];
            for (_, other) in neighbours.into_iter().filter(|(is, _)| *is) {
                rows.extend([node as u32, other as u32]);
                columns.extend([other as u32, node as u32]);
            }
        }
        let matrix = Csr::try_from_triplets(nodes, nodes, &rows, &columns, &vec![-1.0; rows.len()]).unwrap();
        Cpu::new().run::<StrongConnections<f64>>((&matrix, &Nodes::of_size(1, nodes).unwrap(), 0.0)).unwrap()
    }

    #[test]
    fn no_two_of_the_set_share_a_neighbour_and_none_can_be_added() {
        for width in [1, 2, 3, 7, if cfg!(miri) { 8 } else { 40 }] {
            let graph = grid(width);
            let candidates: Vec<_> = (0..graph.nodes()).map(|node| !graph.of(node).is_empty()).collect();
            let set = independent_set(&graph, &candidates).unwrap();
            for node in 0..graph.nodes() {
                let steps = graph.of(node).iter().flat_map(|other| graph.of(*other as usize).iter().chain([other]));
                let near: std::collections::BTreeSet<_> = steps.collect();
                let inside = near.iter().filter(|&&&other| other as usize != node && set[other as usize]).count();
                assert!(if set[node] { inside == 0 } else { !candidates[node] || inside > 0 }, "{width}, {node}");
            }
        }
    }

    #[test]
    fn every_node_with_neighbours_is_in_one_aggregate_for_any_number_of_threads() {
        let large = if cfg!(miri) { 9 } else { 50 };
        for width in [1, 2, 3, large] {
            let graph = grid(width);
            let Aggregates { count, of_node } = aggregate(&graph).unwrap();
            let mut sizes = vec![0; count];
            for (node, &aggregate) in of_node.iter().enumerate() {
                assert_eq!(aggregate == NONE, graph.of(node).is_empty(), "{width}, {node}");
                if aggregate != NONE {
                    sizes[aggregate as usize] += 1;
                }
            }
            assert!(sizes.iter().all(|&size| size > 1), "{width}: {sizes:?}");
            if width == 50 {
                assert!((350..800).contains(&count), "{count} aggregates of 2500 nodes");
            }
            let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
            assert_eq!(pool.install(|| aggregate(&graph).unwrap()).of_node, of_node);
        }
    }
}
