//! The patterns of the two matrices that are multiplied.

use cuda_std::Global;

use super::team::Team;
use crate::Offset;

/// The patterns of A and B.
#[derive(Clone, Copy)]
pub(super) struct Sides<O> {
    pub left_offsets: Global<O>,
    pub left_columns: Global<u32>,
    pub right_offsets: Global<O>,
    pub right_columns: Global<u32>,
}

impl<O: Offset> Sides<O> {
    /// Calls `visit` with the column of each product of a row, shared out among a team: `together` neighbours, a power of two
    /// that divides the team, take a row of B at a time.
    ///
    /// # Safety
    /// The matrices are valid, and A has the row.
    #[inline(always)]
    pub unsafe fn for_each_column(self, team: Team, together: u32, row: u32, mut visit: impl FnMut(u32)) {
        let step = O::from(team.lanes / together);
        let end = self.left_offsets.load(row + 1);
        let mut entry = self.left_offsets.load(row) + O::from(team.lane / together);
        while entry < end {
            let inner = self.left_columns.load(entry);
            let right_end = self.right_offsets.load(inner + 1);
            let mut place = self.right_offsets.load(inner) + O::from(team.lane % together);
            while place < right_end {
                visit(self.right_columns.load(place));
                place = place + O::from(together);
            }
            entry = entry + step;
        }
    }
}
