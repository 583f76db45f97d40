//! What multigrid starts from when nothing else is given: nodes of equal size, and constants on them.

use cuda_std::thread::{grid_threads, index_1d};
use cuda_std::{GlobalMut, GpuScalar, kernel};

/// Computes the nodes of unknowns in groups of equal size.
///
/// # Safety
/// `size` is not 0 and divides `unknowns`, which is less than 2^31; `of_unknown` has an element for each unknown, and
/// `first` one for each node and one more.
#[kernel]
pub unsafe fn equal_nodes(
    /// Number of unknowns.
    unknowns: u32,
    /// Number of unknowns of each node.
    size: u32,
    /// Where each node begins, and where the last one ends.
    first: GlobalMut<u32>,
    /// The node of each unknown.
    of_unknown: GlobalMut<u32>,
) {
    let mut unknown = index_1d();
    while unknown <= unknowns {
        let node = unknown / size;
        if unknown == node * size {
            first.store(node, unknown);
        }
        if unknown < unknowns {
            of_unknown.store(unknown, node);
        }
        unknown += grid_threads();
    }
}

/// Writes vectors that are 1 in one unknown of every node and 0 in the others, by rows.
///
/// # Safety
/// `elements` has `count` elements, and `vectors` is not 0.
#[kernel(W: wide)]
pub unsafe fn constant_vectors<W: GpuScalar>(
    /// Number of elements.
    count: u64,
    /// Number of vectors, and of unknowns of a node.
    vectors: u32,
    /// The vectors.
    elements: GlobalMut<W>,
) {
    let (mut place, vectors) = (u64::from(index_1d()), u64::from(vectors));
    while place < count {
        let (row, vector) = (place / vectors, place % vectors);
        elements.store(place, W::from_wide_parts([if row % vectors == vector { 1.0 } else { 0.0 }, 0.0]));
        place += u64::from(grid_threads());
    }
}
