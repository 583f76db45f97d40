//! The order of all vertices from the order within each component.

use host::memory::{collect, with_capacity, zeros};

use super::graph::Graph;
use crate::deal;
use crate::error::Error;
use crate::outbox::Outbox;

/// Returns the position of each vertex of this rank in the order of all. Components, given by their smallest vertices in
/// `components`, are ordered by these, and vertices of a component by `number`, which must be unique within it and is not
/// used for vertices without neighbours.
pub(super) fn places(graph: &Graph<'_>, components: &[u32], number: impl Fn(u32) -> u32) -> Result<Vec<u32>, Error> {
    let ranks = graph.communicator.ranks();
    let vertices = || (0..graph.vertices() as u32).filter(|&vertex| graph.degree(vertex) > 0);
    // Each rank sorts the vertices with some of the numbers.
    let rank_of = |vertex| (u128::from(number(vertex)) * ranks as u128 / u128::from(graph.ranges.total())) as usize;
    let mut outbox = Outbox::new(ranks)?;
    for vertex in vertices() {
        outbox.push(rank_of(vertex), [components[vertex as usize], number(vertex)])?;
    }
    let received = outbox.send(graph.communicator)?;
    let mut order: Vec<[u32; 4]> = with_capacity(received.iter().map(Vec::len).sum())?;
    let mut found = with_capacity(ranks)?;
    for (rank, vertices) in received.iter().enumerate() {
        let keys = vertices.iter().enumerate();
        order.extend(keys.map(|(place, &[component, number])| [component, number, rank as u32, place as u32]));
        found.push(zeros::<u32>(vertices.len())?);
    }
    drop(received);
    order.sort_unstable();
    let of_components = || order.chunk_by(|left, right| left[0] == right[0]);
    let counts = of_components().map(|vertices| (vertices[0][0], vertices.len() as u32));
    let (begins, mut places) = begins(graph, counts)?;
    for (vertices, begin) in of_components().zip(begins) {
        for (place, &[.., rank, at]) in (begin..).zip(vertices) {
            found[rank as usize][at as usize] = place;
        }
    }
    let found = graph.communicator.all_to_all(&found)?;
    let mut next = zeros::<usize>(ranks)?;
    for vertex in vertices() {
        let rank = rank_of(vertex);
        places[vertex as usize] = found[rank][next[rank]];
        next[rank] += 1;
    }
    Ok(places)
}

/// Returns the first position of the vertices that this rank has sorted, per component with any, in ascending order, given
/// their numbers in `counts`. The positions of a rank's vertices follow those of previous ranks. Also returns the positions
/// of this rank's vertices without neighbours.
fn begins(graph: &Graph<'_>, counts: impl Iterator<Item = (u32, u32)>) -> Result<(Vec<u32>, Vec<u32>), Error> {
    let communicator = graph.communicator;
    let mut outbox = Outbox::new(communicator.ranks())?;
    for (component, count) in counts {
        let (rank, place) = graph.owner(component);
        outbox.push(rank, [place, count])?;
    }
    let received = outbox.send(communicator)?;
    // The size of each component, at its smallest vertex; 0 at other vertices.
    let mut next = collect((0..graph.vertices() as u32).map(|vertex| u32::from(graph.degree(vertex) == 0)))?;
    received.iter().flatten().for_each(|&[place, count]| next[place as usize] += count);
    let own = next.iter().map(|&count| u64::from(count)).sum::<u64>();
    let before = communicator.all_gather(&[own])?[..communicator.rank()].iter().flatten().sum::<u64>();
    next.iter_mut().fold(before as u32, |begin, next| {
        let end = begin + *next;
        *next = begin;
        end
    });
    let mut begins = with_capacity(received.len())?;
    for counts in &received {
        begins.push(collect(counts.iter().map(|&[place, count]| {
            let begin = next[place as usize];
            next[place as usize] += count;
            begin
        }))?);
    }
    Ok((deal::joined(&communicator.all_to_all(&begins)?)?, next))
}
