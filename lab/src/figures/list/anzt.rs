//! The experiments of Anzt et al. 2020.

use super::*;

const CUSPARSE_COO: Series = Series::with_peers("cusparse-coo", &[], &["cusparse-coo-1", "cusparse-coo-2"]);
const CUSPARSE_SELL: Series = Series::with_peers("cusparse-sell", &[], &["cusparse-sell"]);
/// The format closest to Ginkgo's.
const GINKGO_COO: Series = Series::of("coo-atomic", &[Format::COO_ATOMIC]);
const GINKGO_CSR: Series = Series::of("csr-automatic", &[Format::CSR_AUTOMATIC]);
const GINKGO_ELL: Series = Series::of("ell-subwarp", &[Format::ELL_SUBWARP]);
/// The same split as [`GINKGO_HYB`], with the COO part added atomically, as in the paper.
const ATOMIC_HYB: Series = Series::of("hyb-atomic", &[Format::HYB_ATOMIC]);
const SELL_P: Series = Series::of("sell-p", &[Format::SELL_P]);
const CONVERTED: &[Series] =
    &[COO, ELL, SELL_P, GINKGO_HYB, Series::of("cmrs", &[Format::Cmrs(StripHeight::ByTraffic)])];

/// Profiles exclude smaller matrices (§5.2).
const PROFILE: Plot = Plot::Profile { least_nonzeros: 100_000 };

const SPEED_BY_NONZEROS: Plot = scattered(X::Nonzeros, Quantity::Gflops, &[]);

/// The paper's experiments.
pub const EXPERIMENTS: &[Experiment] = &[
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
        name: "ginkgo-6",
        source: "Anzt et al. 2020, Fig. 6",
        title: "CSR of cuSPARSE",
        matrices: matrices::collection,
        precisions: DOUBLE,
        series: &[CUSPARSE_CSR_1, CUSPARSE_CSR_2, VECTOR],
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
        name: "ginkgo-8",
        source: "Anzt et al. 2020, Fig. 8",
        title: "CSR and uneven rows",
        matrices: matrices::collection,
        precisions: DOUBLE,
        series: &[CUSPARSE_CSR_1, VECTOR],
        plot: scattered(X::RowLengthVariance, Quantity::SpeedUpOf(Format::CSR_AUTOMATIC), &[]),
    },
    Experiment {
        name: "ginkgo-9",
        source: "Anzt et al. 2020, Fig. 9",
        title: "CSR and uneven rows, against the merge path",
        matrices: matrices::collection,
        precisions: DOUBLE,
        series: &[CUSPARSE_CSR_2, Series::of("csr-merge-path", &[Format::CSR_MERGE_PATH])],
        plot: scattered(X::RowLengthVariance, Quantity::SpeedUpOf(Format::CSR_AUTOMATIC), &[]),
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
        name: "ginkgo-11",
        source: "Anzt et al. 2020, Fig. 11",
        title: "ELL and few, long rows",
        matrices: matrices::collection,
        precisions: DOUBLE,
        series: &[ELL, CUSPARSE_SELL],
        plot: scattered(X::LongestRowOfRows, Quantity::SpeedUpOf(Format::ELL_SUBWARP), &[]),
    },
    Experiment {
        name: "ginkgo-12",
        source: "Anzt et al. 2020, Fig. 12",
        title: "where HYB splits",
        matrices: matrices::collection,
        precisions: DOUBLE,
        series: &[
            Series::of("hyb-q0", &[Format::hyb(HybSplit::Q_0)]),
            GINKGO_HYB,
            Series::of("hyb-q1-3", &[Format::hyb(HybSplit::Q_1_3)]),
            HYB,
            Series::of("hyb-imbalance-limit", &[Format::hyb(HybSplit::IMBALANCE_LIMIT)]),
            Series::of("hyb-imbalance-bounded", &[Format::hyb(HybSplit::IMBALANCE_BOUNDED)]),
            Series::of("hyb-automatic", &[Format::hyb(HybSplit::GinkgoAutomatic)]),
        ],
        plot: PROFILE,
    },
    Experiment {
        name: "ginkgo-13",
        source: "Anzt et al. 2020, Fig. 13",
        title: "HYB",
        matrices: matrices::collection,
        precisions: DOUBLE,
        series: &[ATOMIC_HYB, GINKGO_HYB, HYB, CUSPARSE_CSR_1],
        plot: SPEED_BY_NONZEROS,
    },
    Experiment {
        name: "ginkgo-14",
        source: "Anzt et al. 2020, Fig. 14",
        title: "COO against HYB",
        matrices: matrices::collection,
        precisions: DOUBLE,
        series: &[GINKGO_COO, ATOMIC_HYB, GINKGO_HYB],
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
            ATOMIC_HYB,
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
        series: CONVERTED,
        plot: Plot::ByMatrix(Quantity::ConversionCalls, Scale::Logarithmic),
    },
    Experiment {
        name: "ginkgo-16-back",
        source: "Anzt et al. 2020, Fig. 16",
        title: "conversion to CSR",
        matrices: matrices::conversions,
        precisions: DOUBLE,
        series: CONVERTED,
        plot: Plot::ByMatrix(Quantity::ConversionBackCalls, Scale::Logarithmic),
    },
];
