//! Several right-hand sides at once, Y ← α A X + β Y: the matrix is read once for a tile of up to 32 vectors
//! (block vectors, Bell & Garland 2009, §6).
//!
//! One lane per vector: the lanes of a group read the same entry, which costs one access, and each multiplies it by its
//! own vector's element. If the vectors are interleaved, these elements are adjacent. The number of lanes is known only
//! at run time, because only a lane's position depends on it.

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

/// The vectors of one launch, and their layout: element `i` of vector `j` is at `i` times the element stride plus `j`
/// times the vector stride.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Tile {
    /// Lanes of a group, one per vector; a power of two, at most 32.
    pub lanes: u32,
    /// The vector of each group's first lane.
    pub first_vector: u32,
    /// Total number of vectors; lanes beyond the last one are idle.
    pub vectors: u32,
    /// Distance from one element of a vector to the next, in X and in Y.
    pub element_stride: u32,
    /// Distance from one vector of X to the next.
    pub x_vector_stride: u32,
    /// Distance from one vector of Y to the next.
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

    /// Index of the element for `column` in this thread's vector of X.
    #[inline(always)]
    fn x_place(self, column: u32) -> u64 {
        self.place(column, self.x_vector_stride)
    }

    /// Index of the element for `row` in this thread's vector of Y.
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
