//! The experiments of Choi et al. 2010.

use host::format::BlockSize;

use super::*;

/// The formats of Bell & Garland 2009, for the best of them.
const BELL_GARLAND: &[Format] =
    &[Format::COO, Format::CSR_SCALAR, VECTOR_OF_A_WARP, Format::Dia, Format::ELL, Format::hyb(HybSplit::BellGarland)];

const BCSR_UP_TO_4: &[Format] = &[
    Format::Bcsr(BlockSize::B1x2),
    Format::Bcsr(BlockSize::B2x2),
    Format::Bcsr(BlockSize::B2x3),
    Format::Bcsr(BlockSize::B3x2),
    Format::Bcsr(BlockSize::B3x3),
    Format::Bcsr(BlockSize::B3x4),
    Format::Bcsr(BlockSize::B4x4),
];

const BELLPACK: &[Format] = &[
    Format::bellpack(BlockSize::B1x2),
    Format::bellpack(BlockSize::B2x2),
    Format::bellpack(BlockSize::B2x3),
    Format::bellpack(BlockSize::B3x2),
    Format::bellpack(BlockSize::B3x3),
    Format::bellpack(BlockSize::B3x4),
    Format::bellpack(BlockSize::B4x4),
    Format::bellpack(BlockSize::B5x5),
    Format::bellpack(BlockSize::B6x6),
    Format::bellpack(BlockSize::B7x7),
    Format::bellpack(BlockSize::B8x8),
];

/// The paper's experiments.
pub const EXPERIMENTS: &[Experiment] = &[
    Experiment {
        name: "choi-2",
        source: "Choi et al. 2010, Fig. 2",
        title: "BCSR",
        matrices: matrices::table_3,
        precisions: SINGLE,
        series: &[
            Series::of("best BCSR up to 4 × 4", BCSR_UP_TO_4),
            WARP,
            Series::of("best of Bell & Garland", BELL_GARLAND),
        ],
        plot: Plot::ByMatrix(Quantity::Gflops, Scale::Linear),
    },
    Experiment {
        name: "choi-5",
        source: "Choi et al. 2010, Fig. 5",
        title: "BELLPACK",
        matrices: matrices::blocked,
        precisions: BOTH,
        series: &[Series::of("best BELLPACK", BELLPACK), Series::of("best of Bell & Garland", BELL_GARLAND)],
        plot: Plot::ByMatrix(Quantity::Gflops, Scale::Linear),
    },
    Experiment {
        name: "choi-5b",
        source: "Choi et al. 2010, Fig. 5 (b)",
        title: "bandwidth of BELLPACK",
        matrices: matrices::blocked,
        precisions: SINGLE,
        series: &[Series::of("best BELLPACK", BELLPACK), Series::of("best of Bell & Garland", BELL_GARLAND)],
        plot: Plot::ByMatrix(Quantity::ValueGbps, Scale::Linear),
    },
    Experiment {
        name: "choi-13",
        source: "Choi et al. 2010, Fig. 13",
        title: "the block size chosen without a search",
        matrices: matrices::blocked,
        precisions: BOTH,
        series: &[
            Series::of("best BELLPACK", BELLPACK),
            Series { choice: Choice::Smallest, ..Series::of("smallest BELLPACK", BELLPACK) },
        ],
        plot: Plot::ByMatrix(Quantity::Gflops, Scale::Linear),
    },
];
