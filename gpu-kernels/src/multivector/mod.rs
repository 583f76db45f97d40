//! Several right-hand sides at once, Y ← α A X + β Y: the matrix is read once for a tile of up to 32 vectors
//! (block vectors, Bell & Garland 2009, §6).
//!
//! One lane a vector: the lanes of a group read the same entry, which costs one access, and each multiplies it with
//! its own vector's element. Where the first elements of all vectors come first, those are neighbours. The number of
//! lanes is known at run time only, because nothing depends on it but where a lane stands.

pub mod bcsr;
pub mod bellpack;
pub mod cmrs;
pub mod coo;
pub mod csr;
pub mod csr_tiled;
pub mod dia;
pub mod ell;
pub mod interleave;
pub mod sell_16;
pub mod sell_p;

use cuda_std::Plain;
use cuda_std::thread::{grid_threads, index_1d};

/// The vectors of one launch, and where they lie: element `i` of vector `j` is at `i` times the element stride plus
/// `j` times the vector stride.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Tile {
    /// Lanes of a group, with a vector each; a power of two, at most 32.
    pub lanes: u32,
    /// The vector of each group's first lane.
    pub first_vector: u32,
    /// Number of vectors in all; lanes beyond the last one have nothing to do.
    pub vectors: u32,
    /// From one element of a vector to its next, in X and in Y.
    pub element_stride: u32,
    /// From one vector of X to the next.
    pub x_vector_stride: u32,
    /// From one vector of Y to the next.
    pub y_vector_stride: u32,
}

// SAFETY: six numbers of the same size.
unsafe impl Plain for Tile {}

impl Tile {
    /// The number of this thread's group.
    #[inline(always)]
    fn group(self) -> u32 {
        index_1d() >> self.lanes.trailing_zeros()
    }

    /// Number of groups in the grid.
    #[inline(always)]
    fn groups(self) -> u32 {
        grid_threads() >> self.lanes.trailing_zeros()
    }

    /// This thread's number in its group.
    #[inline(always)]
    fn lane(self) -> u32 {
        index_1d() & (self.lanes - 1)
    }

    /// Whether there is a vector for this thread.
    #[inline(always)]
    fn has_vector(self) -> bool {
        self.first_vector + self.lane() < self.vectors
    }

    /// Where this thread's vector of X has its element for `column`.
    #[inline(always)]
    fn x_place(self, column: u32) -> u64 {
        self.place(column, self.x_vector_stride)
    }

    /// Where this thread's vector of Y has its element for `row`.
    #[inline(always)]
    fn y_place(self, row: u32) -> u64 {
        self.place(row, self.y_vector_stride)
    }

    #[inline(always)]
    fn place(self, element: u32, vector_stride: u32) -> u64 {
        let vector = self.first_vector + self.lane();
        u64::from(element) * u64::from(self.element_stride) + u64::from(vector) * u64::from(vector_stride)
    }
}
