//! Breadth-first search on all ranks at the same time.

use host::memory::{collect, reserve, with_capacity, zeros};

use super::graph::{Graph, Neighbour};
use crate::error::Error;
use crate::outbox::Outbox;

/// Consecutive searches. Each numbers the vertices in the order of a single thread: level by level, first by the number of
/// the preceding neighbour, then by degree, then by vertex, all ascending.
pub(super) struct Search<'g> {
    graph: &'g Graph<'g>,
    /// The level at which each vertex of this rank was reached, counted over all searches; 0 before.
    reached: Vec<u64>,
    /// Its number in the last search that reached it; while its level is being determined, that of the neighbour it
    /// follows.
    numbers: Vec<u32>,
    level: u64,
    /// The first level of this search.
    first_level: u64,
    claims: Outbox<[u32; 2]>,
    groups: Outbox<[u32; 3]>,
}

/// The numbers of a level, or of a rank's part of it.
#[derive(Clone, Copy)]
struct Numbers {
    first: u64,
    count: u64,
}

impl<'g> Search<'g> {
    pub fn new(graph: &'g Graph<'g>) -> Result<Self, Error> {
        let (vertices, ranks) = (graph.vertices(), graph.communicator.ranks());
        Ok(Self {
            graph,
            reached: zeros(vertices)?,
            numbers: zeros(vertices)?,
            level: 0,
            first_level: 0,
            claims: Outbox::new(ranks)?,
            groups: Outbox::new(ranks)?,
        })
    }

    /// Returns the number of a vertex of this rank in the last search that reached it.
    pub fn number(&self, vertex: u32) -> u32 {
        self.numbers[vertex as usize]
    }

    /// Returns the distance of a vertex of this rank from the start of the last search that reached it.
    pub fn steps(&self, vertex: u32) -> u32 {
        (self.reached[vertex as usize] - self.first_level) as u32
    }

    /// Searches from vertices of this rank, in ascending order, and from those of other ranks. Returns the vertices of this
    /// rank that can be reached, or `None` if no rank has a vertex to start from.
    pub fn from(&mut self, sources: Vec<u32>) -> Result<Option<Vec<u32>>, Error> {
        self.level += 1;
        self.first_level = self.level;
        let Numbers { first, count } = self.numbers_of(sources.len() as u64)?;
        if count == 0 {
            return Ok(None);
        }
        for (number, &source) in (first as u32..).zip(&sources) {
            self.reached[source as usize] = self.level;
            self.numbers[source as usize] = number;
        }
        let (mut all, mut frontier) = (Vec::new(), sources);
        let mut level = Numbers { first: 0, count };
        while level.count > 0 {
            let mut found = self.neighbours(&frontier)?;
            let key = |&vertex: &u32| (self.numbers[vertex as usize], self.graph.degree(vertex), vertex);
            found.sort_unstable_by_key(key);
            level = Numbers { first: level.first + level.count, count: self.give_numbers(&found, level)? };
            reserve(&mut all, frontier.len())?;
            all.append(&mut frontier);
            frontier = found;
        }
        Ok(Some(all))
    }

    /// Finds the next level: the unreached vertices of this rank with a neighbour in the frontier.
    fn neighbours(&mut self, frontier: &[u32]) -> Result<Vec<u32>, Error> {
        let graph = self.graph;
        let mut found = Vec::new();
        self.level += 1;
        for &vertex in frontier {
            let number = self.numbers[vertex as usize];
            for neighbour in graph.of(vertex) {
                match neighbour {
                    Neighbour::Own(neighbour) => self.claim(neighbour, number, &mut found)?,
                    Neighbour::Of(rank, place) => self.claims.push(rank, [place, number])?,
                }
            }
        }
        self.claims.keep_first(|&[place, _]| place);
        for [vertex, number] in self.claims.send(graph.communicator)?.into_iter().flatten() {
            self.claim(vertex, number, &mut found)?;
        }
        Ok(found)
    }

    /// Records that a vertex of this rank is a neighbour of one with the given number.
    fn claim(&mut self, vertex: u32, number: u32, found: &mut Vec<u32>) -> Result<(), Error> {
        let (reached, of_vertex) = (&mut self.reached[vertex as usize], &mut self.numbers[vertex as usize]);
        if *reached < self.first_level {
            *reached = self.level;
            *of_vertex = number;
            reserve(found, 1)?;
            found.push(vertex);
        } else if *reached == self.level {
            *of_vertex = number.min(*of_vertex);
        }
        Ok(())
    }

    /// Numbers the vertices of the next level, which are sorted on each rank; `level` has the numbers of the previous one.
    /// Vertices with the same predecessor and the same degree form a group, ordered by rank and then as on each rank. Ranks
    /// exchange only groups and their sizes, and each rank numbers the groups that follow its share of the previous level.
    /// Returns the number of vertices of the next level on all ranks.
    fn give_numbers(&mut self, found: &[u32], level: Numbers) -> Result<u64, Error> {
        let (graph, ranks) = (self.graph, self.graph.communicator.ranks());
        let group_of = |&vertex: &u32, numbers: &[u32]| (numbers[vertex as usize], graph.degree(vertex));
        let groups = || found.chunk_by(|left, right| group_of(left, &self.numbers) == group_of(right, &self.numbers));
        for group in groups() {
            let (parent, degree) = group_of(&group[0], &self.numbers);
            let share = (u64::from(parent) - level.first) as u128 * ranks as u128 / u128::from(level.count);
            self.groups.push(share as usize, [parent, degree, group.len() as u32])?;
        }
        let received = self.groups.send(graph.communicator)?;
        let own = received.iter().flatten().map(|&[.., count]| u64::from(count)).sum();
        let Numbers { first, count } = self.numbers_of(own)?;
        let begins = begins(&received, level.first + level.count + first)?;
        let begins = graph.communicator.all_to_all(&begins)?;
        let mut begin = begins.iter().flatten();
        let mut rest = found;
        while let Some(&vertex) = rest.first() {
            let group = group_of(&vertex, &self.numbers);
            let length = rest.iter().take_while(|vertex| group_of(vertex, &self.numbers) == group).count();
            let (vertices, after) = rest.split_at(length);
            for (number, &vertex) in (begin.next().copied().unwrap_or(0)..).zip(vertices) {
                self.numbers[vertex as usize] = number;
            }
            rest = after;
        }
        Ok(count)
    }

    /// Distributes consecutive numbers to the ranks in turn, `own` of them to this one. Returns its first number, and their
    /// count on all ranks.
    fn numbers_of(&self, own: u64) -> Result<Numbers, Error> {
        let counts = self.graph.communicator.all_gather(&[own])?;
        let sum = |counts: &[Vec<u64>]| counts.iter().flatten().sum();
        Ok(Numbers { first: sum(&counts[..self.graph.communicator.rank()]), count: sum(&counts) })
    }
}

/// Returns the first number of each received group, in the order of predecessors, degrees, and ranks.
fn begins(received: &[Vec<[u32; 3]>], first: u64) -> Result<Vec<Vec<u32>>, Error> {
    let mut order: Vec<[u32; 4]> = with_capacity(received.iter().map(Vec::len).sum())?;
    let mut begins = with_capacity(received.len())?;
    for (rank, groups) in received.iter().enumerate() {
        let keys = groups.iter().enumerate();
        order.extend(keys.map(|(place, &[parent, degree, _])| [parent, degree, rank as u32, place as u32]));
        begins.push(collect(groups.iter().map(|_| 0))?);
    }
    order.sort_unstable();
    let mut next = first as u32;
    for [.., rank, place] in order {
        begins[rank as usize][place as usize] = next;
        next += received[rank as usize][place as usize][2];
    }
    Ok(begins)
}
