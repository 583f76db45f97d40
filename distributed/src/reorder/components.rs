//! The components of a graph.

use std::ops::Range;

use host::memory::{collect, reserve};

use super::graph::{Graph, Neighbour};
use crate::error::Error;
use crate::outbox::Outbox;

/// Returns, for each vertex of this rank, the smallest vertex of its component. All components are found at the same time:
/// each rank joins the vertices connected by its own edges, and ranks send each other smaller vertices until there are
/// none. The number of exchanges is that of joined parts on the shortest way to the smallest vertex.
pub(super) fn components(graph: &Graph<'_>) -> Result<Vec<u32>, Error> {
    let mut smallest = collect((0..graph.vertices() as u32).map(|vertex| graph.number(vertex)))?;
    let parts = Parts::new(graph)?;
    let mut outbox = Outbox::new(graph.communicator.ranks())?;
    let mut changed = collect(parts.border.iter().map(|&[part, _]| part))?;
    changed.dedup();
    loop {
        for &part in &changed {
            for &[_, vertex] in &parts.border[parts.border_of(part)] {
                for neighbour in graph.of(vertex) {
                    if let Neighbour::Of(rank, place) = neighbour {
                        outbox.push(rank, [place, smallest[part as usize]])?;
                    }
                }
            }
        }
        outbox.keep_first(|&[place, _]| place);
        let mut is_last = [u8::from(outbox.is_empty())];
        graph.communicator.reduce(&mut is_last, u8::min)?;
        if is_last == [1] {
            break;
        }
        changed.clear();
        for [place, vertex] in outbox.send(graph.communicator)?.into_iter().flatten() {
            let part = parts.of[place as usize];
            if vertex < smallest[part as usize] {
                smallest[part as usize] = vertex;
                reserve(&mut changed, 1)?;
                changed.push(part);
            }
        }
        changed.sort_unstable();
        changed.dedup();
    }
    // The number of a part is stored at its first vertex.
    for (vertex, &part) in parts.of.iter().enumerate() {
        smallest[vertex] = smallest[part as usize];
    }
    Ok(smallest)
}

/// Sets of vertices connected by edges of this rank.
struct Parts {
    /// The first vertex of each vertex's part.
    of: Vec<u32>,
    /// The parts and their vertices with neighbours on other ranks, sorted.
    border: Vec<[u32; 2]>,
}

impl Parts {
    fn new(graph: &Graph<'_>) -> Result<Self, Error> {
        let vertices = 0..graph.vertices() as u32;
        let mut of = collect(vertices.clone())?;
        let mut border = Vec::new();
        for vertex in vertices.clone() {
            let mut at_border = false;
            for neighbour in graph.of(vertex) {
                match neighbour {
                    Neighbour::Own(neighbour) => join(&mut of, vertex, neighbour),
                    Neighbour::Of(..) => at_border = true,
                }
            }
            if at_border {
                reserve(&mut border, 1)?;
                border.push([0, vertex]);
            }
        }
        vertices.for_each(|vertex| of[vertex as usize] = first(&mut of, vertex));
        border.iter_mut().for_each(|[part, vertex]| *part = of[*vertex as usize]);
        border.sort_unstable();
        Ok(Self { of, border })
    }

    /// Returns the range of a part in the border.
    fn border_of(&self, part: u32) -> Range<usize> {
        self.border.partition_point(|&[other, _]| other < part)
            ..self.border.partition_point(|&[other, _]| other <= part)
    }
}

/// Joins the parts of two vertices.
fn join(of: &mut [u32], left: u32, right: u32) {
    let (left, right) = (first(of, left), first(of, right));
    of[left.max(right) as usize] = left.min(right);
}

/// Returns the first vertex of a vertex's part, with path halving.
fn first(of: &mut [u32], mut vertex: u32) -> u32 {
    while of[vertex as usize] != vertex {
        of[vertex as usize] = of[of[vertex as usize] as usize];
        vertex = of[vertex as usize];
    }
    vertex
}
