//! Nodes, and the graph of their connections.

use host::error::Error;
use host::executor::Executor;
use host::memory::{Buffer, HostMemory, Memory, with_capacity};
use host::parallel;

use super::AT_ONCE;

/// The unknowns of each node, which are numbered one after the other. Kernels rely on it that the nodes begin with 0, that
/// none begins before the one before it, and that both arrays agree.
pub(super) struct Nodes<M: Memory = HostMemory> {
    /// Where each node begins, and where the last one ends.
    pub(super) first: M::Buffer<u32>,
    /// The node of each unknown.
    pub(super) of_unknown: M::Buffer<u32>,
}

impl<M: Memory> Nodes<M> {
    pub(super) fn len(&self) -> usize {
        self.first.len() - 1
    }

    /// Whether there are as many nodes as unknowns. Each node has one then, unless one has none.
    pub(super) fn are_unknowns(&self) -> bool {
        self.len() == self.of_unknown.len()
    }
}

impl Nodes {
    /// Nodes that begin at these unknowns; the last element is the number of unknowns.
    ///
    /// # Errors
    /// When memory runs out.
    pub(super) fn new(first: Vec<u32>) -> Result<Self, Error> {
        let mut of_unknown = with_capacity(first.last().map_or(0, |&end| end as usize))?;
        for (node, unknowns) in first.windows(2).enumerate() {
            of_unknown.resize(unknowns[1] as usize, node as u32);
        }
        Ok(Self { first, of_unknown })
    }

    /// Nodes of `size` unknowns each.
    ///
    /// # Errors
    /// When the unknowns are no whole nodes, or memory runs out.
    pub(super) fn of_size(size: usize, unknowns: usize) -> Result<Self, Error> {
        if !unknowns.is_multiple_of(size) {
            let expected = "a divisor of the number of rows";
            return Err(Error::Setting { what: "the number of unknowns of a node", value: size.to_string(), expected });
        }
        Self::new(parallel::map(unknowns / size + 1, AT_ONCE, &|node| (node * size) as u32)?)
    }

    /// Moves the nodes into an executor's memory.
    ///
    /// # Errors
    /// When memory runs out.
    pub(super) fn upload<E: Executor>(self, executor: &E) -> Result<Nodes<E::Memory>, Error> {
        Ok(Nodes { first: executor.upload(self.first)?, of_unknown: executor.upload(self.of_unknown)? })
    }

    /// The unknowns of a node.
    pub(super) fn unknowns(&self, node: usize) -> std::ops::Range<usize> {
        self.first[node] as usize..self.first[node + 1] as usize
    }
}

/// Neighbours of nodes, in ascending order: the same both ways, and no node its own. Kernels rely on it that the offsets
/// begin with 0, never decrease and end with the number of neighbours, and that these are nodes.
pub(super) struct Graph<M: Memory = HostMemory> {
    /// Where the neighbours of each node begin, and where those of the last one end.
    pub(super) offsets: M::Buffer<u64>,
    pub(super) neighbours: M::Buffer<u32>,
}

impl<M: Memory> Graph<M> {
    pub(super) fn nodes(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Lanes that share a row in kernels.
    pub(super) fn lanes(&self) -> u32 {
        lanes(self.nodes(), self.neighbours.len())
    }
}

/// Lanes that share a row in a kernel: about as many as a row has entries on average.
pub(super) fn lanes(rows: usize, entries: usize) -> u32 {
    entries.div_ceil(rows.max(1)).next_power_of_two().clamp(1, 32) as u32
}

impl Graph {
    /// The neighbours of a node.
    pub(super) fn of(&self, node: usize) -> &[u32] {
        &self.neighbours[self.offsets[node] as usize..self.offsets[node + 1] as usize]
    }
}
