//! Aggregates by kernels equal those on the host. Not under Miri, which has no lanes.

use std::collections::BTreeSet;

use host::device::Tuning;
use host::executor::{Cpu, Emulated, Executor};

use super::super::graph::Graph;
use super::{Aggregate, NONE};

/// The graph of these connections, made symmetric.
fn graph(nodes: usize, connections: impl IntoIterator<Item = (usize, usize)>) -> Graph {
    let mut rows = vec![BTreeSet::new(); nodes];
    for (one, other) in connections.into_iter().filter(|(one, other)| one != other) {
        rows[one].insert(other as u32);
        rows[other].insert(one as u32);
    }
    let mut offsets = vec![0];
    offsets.extend(rows.iter().scan(0, |end, row| {
        *end += row.len() as u64;
        Some(*end)
    }));
    Graph { offsets, neighbours: rows.into_iter().flatten().collect() }
}

/// Random connections among `nodes` nodes, and seven more nodes without any.
fn random(nodes: usize, connections: usize, seed: u64) -> Graph {
    let mut state = seed;
    let mut number = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % nodes
    };
    let connections: Vec<_> = (0..connections).map(|_| (number(), number())).collect();
    graph(nodes + 7, connections)
}

/// Points connected to the four or the eight nearest ones.
fn grid(width: usize, corners: bool) -> Graph {
    let near = move |point: usize| {
        let (x, y) = (point % width, point / width);
        let right = (x + 1 < width).then_some((point, point + 1));
        let below = (y + 1 < width).then_some((point, point + width));
        let inner = corners && x + 1 < width && y + 1 < width;
        let corners = inner.then_some([(point, point + width + 1), (point + 1, point + width)]);
        right.into_iter().chain(below).chain(corners.into_iter().flatten())
    };
    graph(width * width, (0..width * width).flat_map(near))
}

fn check(graph: &Graph) {
    let expected = Cpu::new().run::<Aggregate>(graph).unwrap();
    let sized = |(multiprocessors, threads)| {
        Emulated::with_size(7, multiprocessors, 128, Tuning::new(threads, 1).unwrap()).unwrap()
    };
    let sized = [(1, 32), (3, 128), (40, 32)].map(sized);
    for executor in (0..3).map(Emulated::new).chain(sized) {
        let aggregates = executor.run::<Aggregate>(graph).unwrap();
        assert_eq!(aggregates.count, expected.count, "{} nodes", graph.nodes());
        assert_eq!(aggregates.of_node, expected.of_node, "{} nodes", graph.nodes());
    }
}

#[test]
fn aggregates_of_grids_are_those_on_the_host() {
    for width in [1, 2, 3, 7, 25] {
        check(&grid(width, false));
        check(&grid(width, true));
    }
}

#[test]
fn aggregates_of_random_graphs_are_those_on_the_host() {
    for (nodes, connections) in [(2, 3), (40, 20), (100, 100), (100, 300), (300, 450), (60, 1500), (500, 4000)] {
        for seed in 0..4 {
            check(&random(nodes, connections, seed));
        }
    }
}

#[test]
fn aggregates_of_single_nodes_chains_stars_and_cliques_are_those_on_the_host() {
    check(&graph(0, []));
    check(&graph(1, []));
    check(&graph(50, []));
    for nodes in [2, 5, 200] {
        check(&graph(nodes, (1..nodes).map(|node| (node - 1, node))));
        check(&graph(nodes, (1..nodes).map(|node| (0, node))));
        check(&graph(nodes, (1..nodes).map(|node| (node / 7 * 7, node))));
    }
    check(&graph(70, (0..70).flat_map(|one| (0..one).map(move |other| (one, other)))));
}

#[test]
fn nodes_without_neighbours_are_in_no_aggregate() {
    let aggregates = Emulated::new(5).run::<Aggregate>(&graph(4, [(1, 3)])).unwrap();
    assert_eq!((aggregates.count, aggregates.of_node), (1, vec![NONE, 0, NONE, 0]));
}
