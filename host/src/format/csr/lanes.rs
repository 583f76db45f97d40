//! Number of lanes per row of CSR.

/// Number of lanes of a warp that work on one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Lanes {
    /// Chosen from the mean row length.
    ByMeanLength,
    /// 2 lanes.
    L2,
    /// 4 lanes.
    L4,
    /// 8 lanes.
    L8,
    /// 16 lanes.
    L16,
    /// The whole warp.
    L32,
}

impl Lanes {
    /// Returns the number of lanes for a matrix with this number of rows and entries.
    pub(crate) fn for_matrix(self, rows: usize, nnz: usize) -> u32 {
        self.count().unwrap_or_else(|| lanes_for(rows, nnz))
    }

    /// Returns the number of lanes, or `None` if it depends on the matrix.
    pub(crate) fn count(self) -> Option<u32> {
        match self {
            Self::ByMeanLength => None,
            Self::L2 => Some(2),
            Self::L4 => Some(4),
            Self::L8 => Some(8),
            Self::L16 => Some(16),
            Self::L32 => Some(32),
        }
    }
}

/// Returns the lanes per row that [`Lanes::ByMeanLength`] stands for: about one lane per six entries of the mean row,
/// which was fastest on an H200 for stencils and bands.
pub(crate) fn lanes_for(rows: usize, nnz: usize) -> u32 {
    let mean = nnz / rows.max(1);
    (mean / 6).clamp(2, 32).next_power_of_two() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_follow_the_mean_row_length() {
        for (rows, nnz, lanes) in [
            (0, 0, 2),
            (10, 0, 2),
            (10, 30, 2),
            (10, 179, 2),
            (10, 180, 4),
            (10, 270, 4),
            (1, 1 << 40, 32),
            (10, 1920, 32),
        ] {
            assert_eq!(lanes_for(rows, nnz), lanes, "{rows} rows, {nnz} entries");
        }
    }
}
