//! Lanes that share a row of CSR.

/// How many lanes of a warp work on one row.
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
    /// The number of lanes for a matrix with this many rows and entries.
    pub(crate) fn for_matrix(self, rows: usize, nnz: usize) -> u32 {
        self.count().unwrap_or_else(|| lanes_for(rows, nnz))
    }

    /// The number of lanes, unless it is to be chosen.
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

/// The number of lanes a row that [`Lanes::ByMeanLength`] stands for: about one lane for every six entries of the
/// mean row, which measured best on an H200 for stencils and bands.
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
