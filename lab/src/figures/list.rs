//! All experiments.

use host::Format;
use host::format::{BlockSize, CsrStrategy, HybSplit, Lanes, StripHeight};

use super::{Choice, Curve, Experiment, Plot, Quantity, Scale, Series, X, matrices};

const BOTH: &[&str] = &["float32", "float64"];
const SINGLE: &[&str] = &["float32"];
const DOUBLE: &[&str] = &["float64"];

const COO: Series = Series::of("coo", &[Format::COO]);
const SCALAR: Series = Series::of("csr-scalar", &[Format::CSR_SCALAR]);
/// Today's, which takes fewer lanes for short rows.
const VECTOR: Series = Series::of("csr-vector", &[Format::CSR_VECTOR]);
/// The papers', with a whole warp for every row.
const WARP: Series = Series::of("csr-vector-32", &[Format::Csr(CsrStrategy::Vector(Lanes::L32))]);
const BALANCED: Series = Series::of("csr-load-balanced", &[Format::CSR_LOAD_BALANCED]);
const DIA: Series = Series::of("dia", &[Format::Dia]);
const ELL: Series = Series::of("ell", &[Format::ELL]);
/// With Bell & Garland's own rule for the split.
const HYB: Series = Series::of("hyb-bell-garland", &[Format::Hyb(HybSplit::BellGarland)]);

/// What Bell & Garland 2009 have, for the best of it.
const BELL_GARLAND: &[Format] = &[
    Format::COO,
    Format::CSR_SCALAR,
    Format::Csr(CsrStrategy::Vector(Lanes::L32)),
    Format::Dia,
    Format::ELL,
    Format::Hyb(HybSplit::BellGarland),
];

const CMRS: Format = Format::Cmrs(StripHeight::ByTraffic);
/// The five kernels beside CMRS, as near as there are some: vector, scalar, hybrid, and two CSR of libraries.
const BESIDE_CMRS: Series = Series::with_peers(
    "best of the others",
    &[
        Format::Csr(CsrStrategy::Vector(Lanes::L32)),
        Format::CSR_SCALAR,
        Format::Hyb(HybSplit::SmallestStorage),
        Format::CSR_VECTOR,
        Format::CSR_LOAD_BALANCED,
    ],
    &["cusparse-csr-1", "cusparse-csr-2"],
);

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
    Format::Bellpack(BlockSize::B1x2),
    Format::Bellpack(BlockSize::B2x2),
    Format::Bellpack(BlockSize::B2x3),
    Format::Bellpack(BlockSize::B3x2),
    Format::Bellpack(BlockSize::B3x3),
    Format::Bellpack(BlockSize::B3x4),
    Format::Bellpack(BlockSize::B4x4),
    Format::Bellpack(BlockSize::B5x5),
    Format::Bellpack(BlockSize::B6x6),
    Format::Bellpack(BlockSize::B7x7),
    Format::Bellpack(BlockSize::B8x8),
];

const CUSPARSE_COO: Series = Series::with_peers("cusparse-coo", &[], &["cusparse-coo-1", "cusparse-coo-2"]);
const CUSPARSE_CSR_1: Series = Series::with_peers("cusparse-csr-1", &[], &["cusparse-csr-1"]);
const CUSPARSE_CSR_2: Series = Series::with_peers("cusparse-csr-2", &[], &["cusparse-csr-2"]);
const CUSPARSE_SELL: Series = Series::with_peers("cusparse-sell", &[], &["cusparse-sell"]);
/// What is nearest to Ginkgo's.
const GINKGO_COO: Series = Series::of("coo-atomic", &[Format::COO_ATOMIC]);
const GINKGO_CSR: Series = Series::of("csr-automatic", &[Format::CSR_AUTOMATIC]);
const GINKGO_ELL: Series = Series::of("ell-subwarp", &[Format::ELL_SUBWARP]);
const GINKGO_HYB: Series = Series::of("hyb", &[Format::Hyb(HybSplit::SmallestStorage)]);
const SELL_P: Series = Series::of("sell-p", &[Format::SELL_P]);

/// Profiles leave out smaller matrices (Anzt et al. 2020, §5.2).
const PROFILE: Plot = Plot::Profile { least_nonzeros: 100_000 };

const SPEED_BY_NONZEROS: Plot = Plot::Against {
    x: X::Nonzeros,
    x_scale: Scale::Logarithmic,
    y: Quantity::Gflops,
    y_scale: Scale::Logarithmic,
    joined: false,
    curves: &[],
};

const fn speed_up_of(format: Format, curves: &'static [Curve]) -> Plot {
    Plot::Against {
        x: X::MeanRowLength,
        x_scale: Scale::Logarithmic,
        y: Quantity::SpeedUpOf(format),
        y_scale: Scale::Logarithmic,
        joined: false,
        curves,
    }
}

/// How many times as fast CMRS is as a warp for each row, where the device moves `segment` bytes at a time: the exact
/// form of Koza et al. 2014, eq. 5.2, for strips of 8 rows with values of 8 bytes.
fn cmrs_model(mean: f64, segment: f64) -> f64 {
    let moved = |height: f64| 1.0 + (segment - 8.0) / (height * mean * 8.0);
    moved(1.0) / moved(8.0)
}

/// Every experiment.
pub const FIGURES: &[Experiment] = &[
    Experiment {
        name: "bg-8",
        source: "Bell & Garland 2009, Fig. 8",
        title: "4 M nonzeros in dense matrices of different shape",
        matrices: matrices::dense_sweep,
        precisions: SINGLE,
        series: &[COO, SCALAR, VECTOR, WARP, ELL],
        plot: Plot::Against {
            x: X::Rows,
            x_scale: Scale::Logarithmic,
            y: Quantity::Gflops,
            y_scale: Scale::Linear,
            joined: true,
            curves: &[],
        },
    },
    Experiment {
        name: "bg-9",
        source: "Bell & Garland 2009, Fig. 9",
        title: "30 K rows of 32 + δ nonzeros",
        matrices: matrices::pareto_sweep,
        precisions: SINGLE,
        series: &[COO, SCALAR, VECTOR, WARP, BALANCED],
        plot: Plot::Against {
            x: X::Option { key: "k", label: "shape k of the Pareto distribution of δ" },
            x_scale: Scale::Linear,
            y: Quantity::Gflops,
            y_scale: Scale::Linear,
            joined: true,
            curves: &[],
        },
    },
    Experiment {
        name: "bg-10",
        source: "Bell & Garland 2009, Fig. 10",
        title: "256 K rows with few or many diagonals",
        matrices: matrices::band_sweep,
        precisions: SINGLE,
        series: &[SCALAR, VECTOR, WARP],
        plot: Plot::Against {
            x: X::Option { key: "bands", label: "diagonals" },
            x_scale: Scale::Linear,
            y: Quantity::Microseconds,
            y_scale: Scale::Linear,
            joined: true,
            curves: &[],
        },
    },
    Experiment {
        name: "bg-11",
        source: "Bell & Garland 2009, Fig. 11",
        title: "structured matrices",
        matrices: matrices::stencils,
        precisions: BOTH,
        series: &[COO, SCALAR, VECTOR, WARP, DIA, ELL],
        plot: Plot::ByMatrix(Quantity::Gflops, Scale::Linear),
    },
    Experiment {
        name: "bg-12",
        source: "Bell & Garland 2009, Fig. 12",
        title: "bandwidth on structured matrices",
        matrices: matrices::stencils,
        precisions: SINGLE,
        series: &[COO, SCALAR, VECTOR, WARP, DIA, ELL],
        plot: Plot::ByMatrix(Quantity::UncachedGbps, Scale::Linear),
    },
    Experiment {
        name: "bg-13",
        source: "Bell & Garland 2009, Fig. 13",
        title: "unstructured matrices",
        matrices: matrices::table_3,
        precisions: BOTH,
        series: &[COO, SCALAR, VECTOR, WARP, HYB],
        plot: Plot::ByMatrix(Quantity::Gflops, Scale::Linear),
    },
    Experiment {
        name: "bg-15",
        source: "Bell & Garland 2009, Fig. 15",
        title: "double against single precision",
        matrices: matrices::table_3,
        precisions: BOTH,
        series: &[COO, SCALAR, VECTOR, WARP, HYB],
        plot: Plot::ByMatrix(Quantity::OfFloat32, Scale::Linear),
    },
    Experiment {
        name: "cmrs-4",
        source: "Koza et al. 2014, Fig. 4",
        title: "CMRS against three kernels",
        matrices: matrices::collection,
        precisions: DOUBLE,
        series: &[WARP, SCALAR, GINKGO_HYB],
        plot: speed_up_of(
            Format::Cmrs(StripHeight::H8),
            &[
                Curve { label: "eq. 5.2, 32 bytes", at: |mean| cmrs_model(mean, 32.0) },
                Curve { label: "eq. 5.2, 128 bytes", at: |mean| cmrs_model(mean, 128.0) },
            ],
        ),
    },
    Experiment {
        name: "cmrs-7",
        source: "Koza et al. 2014, Fig. 7",
        title: "CMRS against the best of the others",
        matrices: matrices::collection,
        precisions: BOTH,
        series: &[BESIDE_CMRS],
        plot: speed_up_of(CMRS, &[]),
    },
    Experiment {
        name: "cmrs-9",
        source: "Koza et al. 2014, Fig. 9",
        title: "padded CMRS",
        matrices: matrices::collection,
        precisions: DOUBLE,
        series: &[BESIDE_CMRS, WARP],
        plot: speed_up_of(Format::CmrsPadded, &[]),
    },
    Experiment {
        name: "ginkgo-5",
        source: "Anzt et al. 2020, Fig. 5",
        title: "COO",
        matrices: matrices::collection,
        precisions: DOUBLE,
        series: &[GINKGO_COO, COO, CUSPARSE_COO],
        plot: SPEED_BY_NONZEROS,
    },
    Experiment {
        name: "ginkgo-7",
        source: "Anzt et al. 2020, Fig. 7",
        title: "CSR",
        matrices: matrices::collection,
        precisions: DOUBLE,
        series: &[GINKGO_CSR, VECTOR, CUSPARSE_CSR_1, CUSPARSE_CSR_2],
        plot: SPEED_BY_NONZEROS,
    },
    Experiment {
        name: "ginkgo-10",
        source: "Anzt et al. 2020, Fig. 10",
        title: "ELL",
        matrices: matrices::collection,
        precisions: DOUBLE,
        series: &[GINKGO_ELL, ELL, CUSPARSE_SELL],
        plot: SPEED_BY_NONZEROS,
    },
    Experiment {
        name: "ginkgo-12",
        source: "Anzt et al. 2020, Fig. 12",
        title: "where HYB splits",
        matrices: matrices::collection,
        precisions: DOUBLE,
        series: &[
            GINKGO_HYB,
            HYB,
            Series::of("hyb-column-limit", &[Format::Hyb(HybSplit::COLUMN_LIMIT)]),
            Series::of("hyb-imbalance-limit", &[Format::Hyb(HybSplit::IMBALANCE_LIMIT)]),
            Series::of("hyb-imbalance-bounded", &[Format::Hyb(HybSplit::IMBALANCE_BOUNDED)]),
            Series::of("hyb-automatic", &[Format::Hyb(HybSplit::GinkgoAutomatic)]),
        ],
        plot: PROFILE,
    },
    Experiment {
        name: "ginkgo-13",
        source: "Anzt et al. 2020, Fig. 13",
        title: "HYB",
        matrices: matrices::collection,
        precisions: DOUBLE,
        series: &[GINKGO_HYB, HYB, CUSPARSE_CSR_1],
        plot: SPEED_BY_NONZEROS,
    },
    Experiment {
        name: "ginkgo-14",
        source: "Anzt et al. 2020, Fig. 14",
        title: "COO against HYB",
        matrices: matrices::collection,
        precisions: DOUBLE,
        series: &[GINKGO_COO, GINKGO_HYB],
        plot: PROFILE,
    },
    Experiment {
        name: "ginkgo-15",
        source: "Anzt et al. 2020, Fig. 15",
        title: "all formats",
        matrices: matrices::collection,
        precisions: DOUBLE,
        series: &[
            GINKGO_COO,
            GINKGO_CSR,
            GINKGO_ELL,
            GINKGO_HYB,
            SELL_P,
            CUSPARSE_COO,
            CUSPARSE_CSR_1,
            CUSPARSE_CSR_2,
            CUSPARSE_SELL,
        ],
        plot: PROFILE,
    },
    Experiment {
        name: "ginkgo-16",
        source: "Anzt et al. 2020, Fig. 16",
        title: "conversion from CSR",
        matrices: matrices::conversions,
        precisions: DOUBLE,
        series: &[COO, ELL, SELL_P, GINKGO_HYB, Series::of("cmrs", &[CMRS])],
        plot: Plot::ByMatrix(Quantity::ConversionCalls, Scale::Logarithmic),
    },
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_of_cmrs() {
        // Eq. 5.2's own approximation, 1 + (h - 1) / (1 + h μ b / λ), holds where a value is far shorter than λ.
        for (mean, approximate) in [(1.0, 1.0 + 7.0 / 1.5), (16.0, 1.0 + 7.0 / 9.0), (1000.0, 1.0 + 7.0 / 501.0)] {
            let exact = cmrs_model(mean, 128.0);
            assert!((exact / approximate - 1.0).abs() < 0.07, "{mean}: {exact} {approximate}");
        }
    }
}
