//! Nodes and the graph of their connections.

use host::error::Error;
use host::memory::{Buffer, HostMemory, Memory, with_capacity};
use host::parallel;

use super::AT_ONCE;

/// The unknowns of each node, numbered consecutively. Kernels rely on the offsets of the nodes starting with 0 and never
/// decreasing, and on both arrays agreeing.
pub(super) struct Nodes<M: Memory = HostMemory> {
    /// The first unknown of each node, and the end of the last one.
    pub(super) first: M::Buffer<u32>,
    /// The node of each unknown.
    pub(super) of_unknown: M::Buffer<u32>,
}

impl<M: Memory> Nodes<M> {
    pub(super) fn len(&self) -> usize {
        self.first.len() - 1
    }

    /// Returns whether there are as many nodes as unknowns: then each node has one, unless some node is empty.
    pub(super) fn are_unknowns(&self) -> bool {
        self.len() == self.of_unknown.len()
    }
}

impl Nodes {
    /// Creates nodes that begin at the unknowns `first`, whose last element is the number of unknowns.
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

    /// Creates nodes of `size` unknowns each.
    ///
    /// # Errors
    /// When the number of unknowns is not a multiple of `size`, or memory runs out.
    pub(super) fn of_size(size: usize, unknowns: usize) -> Result<Self, Error> {
        Self::check_size(size, unknowns)?;
        Ok(Self {
            first: parallel::map(unknowns / size + 1, AT_ONCE, &|node| (node * size) as u32)?,
            of_unknown: parallel::map(unknowns, AT_ONCE, &|unknown| (unknown / size) as u32)?,
        })
    }

    /// Checks that nodes can have `size` unknowns each.
    ///
    /// # Errors
    /// When the number of unknowns is not a multiple of `size`.
    pub(super) fn check_size(size: usize, unknowns: usize) -> Result<(), Error> {
        if unknowns.is_multiple_of(size) {
            return Ok(());
        }
        let expected = "a divisor of the number of rows";
        Err(Error::Setting { what: "the number of unknowns of a node", value: size.to_string(), expected })
    }

    /// Returns the unknowns of a node.
    pub(super) fn unknowns(&self, node: usize) -> std::ops::Range<usize> {
        self.first[node] as usize..self.first[node + 1] as usize
    }
}

/// Neighbours of nodes, in ascending order. The graph is symmetric, and no node is its own neighbour. Kernels rely on the
/// offsets starting with 0, never decreasing and ending with the number of neighbours, and on the neighbours being nodes.
pub(super) struct Graph<M: Memory = HostMemory> {
    /// The offset of each node's neighbours, and the end of the last one's.
    pub(super) offsets: M::Buffer<u64>,
    pub(super) neighbours: M::Buffer<u32>,
}

impl<M: Memory> Graph<M> {
    pub(super) fn nodes(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Returns the lanes per row in kernels.
    pub(super) fn lanes(&self) -> u32 {
        lanes(self.nodes(), self.neighbours.len())
    }
}

/// Returns the lanes per row in a kernel: about the average number of entries per row.
pub(super) fn lanes(rows: usize, entries: usize) -> u32 {
    entries.div_ceil(rows.max(1)).next_power_of_two().clamp(1, 32) as u32
}

impl Graph {
    /// Returns the neighbours of a node.
    pub(super) fn of(&self, node: usize) -> &[u32] {
        &self.neighbours[self.offsets[node] as usize..self.offsets[node + 1] as usize]
    }
}
