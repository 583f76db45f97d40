//! The experiments of Koza et al. 2014. Curves are the exact form of eq. 5.2, for transfers of a given number of bytes.

use super::*;
use crate::cmrs_model::speedup;

const CMRS: Format = Format::Cmrs(StripHeight::ByTraffic);
const AUTOMATIC_CMRS: Series = Series::of("cmrs", &[CMRS]);

/// The five kernels besides CMRS, or the closest available: vector, scalar, hybrid, and two CSR of libraries.
const BESIDE_CMRS: Series = Series::with_peers(
    "best of the others",
    &[
        VECTOR_OF_A_WARP,
        Format::CSR_SCALAR,
        Format::hyb(HybSplit::SmallestStorage),
        Format::CSR_VECTOR,
        Format::CSR_LOAD_BALANCED,
    ],
    &["cusparse-csr-1", "cusparse-csr-2"],
);

/// The formats of `cmrs-8`, for the best of them.
const ALL_OF_CMRS: &[Format] =
    &[Format::CSR_SCALAR, VECTOR_OF_A_WARP, Format::CSR_VECTOR, Format::hyb(HybSplit::SmallestStorage), CMRS];

/// η₊ and η₋ (§6.4, eq. 6.2), with the speed of a copy as that of the memory.
const UTILIZATION: Plot = Plot::Means {
    axis: "fraction of a copy's bandwidth, mean over the matrices",
    marks: &[("x counted once", Quantity::Utilization), ("x at each use", Quantity::UncachedUtilization)],
};

const fn speed_up_of(format: Format, curves: &'static [Curve]) -> Plot {
    scattered(X::MeanRowLength, Quantity::SpeedUpOf(format), curves)
}

/// The paper's experiments.
pub const EXPERIMENTS: &[Experiment] = &[
    Experiment {
        name: "cmrs-2",
        source: "Koza et al. 2014, Fig. 2",
        title: "rows per strip",
        matrices: matrices::rma10,
        precisions: BOTH,
        series: &[
            Series::of("cmrs-4", &[Format::Cmrs(StripHeight::H4)]),
            Series::of("cmrs-6", &[Format::Cmrs(StripHeight::H6)]),
            Series::of("cmrs-8", &[Format::Cmrs(StripHeight::H8)]),
            Series::of("cmrs-12", &[Format::Cmrs(StripHeight::H12)]),
            Series::of("cmrs-16", &[Format::Cmrs(StripHeight::H16)]),
        ],
        plot: UTILIZATION,
    },
    Experiment {
        name: "cmrs-3",
        source: "Koza et al. 2014, Fig. 3",
        title: "bandwidth of five kernels",
        matrices: matrices::by_mean_row_length,
        precisions: DOUBLE,
        series: &[AUTOMATIC_CMRS, WARP, SCALAR, GINKGO_HYB, CUSPARSE_CSR_1],
        plot: Plot::ByMatrix(Quantity::UncachedGbps, Scale::Linear),
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
                Curve { label: "eq. 5.2, 32 bytes", at: |mean| speedup(8, mean, 32, 8) },
                Curve { label: "eq. 5.2, 128 bytes", at: |mean| speedup(8, mean, 128, 8) },
            ],
        ),
    },
    Experiment {
        name: "cmrs-5",
        source: "Koza et al. 2014, Fig. 5",
        title: "the model of CMRS in single precision",
        matrices: matrices::collection,
        precisions: SINGLE,
        series: &[
            Series::of("cmrs-4", &[Format::Cmrs(StripHeight::H4)]),
            Series::of("cmrs-8", &[Format::Cmrs(StripHeight::H8)]),
            Series::of("cmrs-16", &[Format::Cmrs(StripHeight::H16)]),
        ],
        plot: scattered(
            X::MeanRowLength,
            Quantity::SpeedUpOver(VECTOR_OF_A_WARP),
            &[
                Curve { label: "eq. 5.2, 4 rows", at: |mean| speedup(4, mean, 128, 4) },
                Curve { label: "eq. 5.2, 8 rows", at: |mean| speedup(8, mean, 128, 4) },
                Curve { label: "eq. 5.2, 16 rows", at: |mean| speedup(16, mean, 128, 4) },
            ],
        ),
    },
    Experiment {
        name: "cmrs-6",
        source: "Koza et al. 2014, Fig. 6",
        title: "CMRS against other CSR",
        matrices: matrices::collection,
        precisions: BOTH,
        series: &[CUSPARSE_CSR_1, CUSPARSE_CSR_2, VECTOR],
        plot: speed_up_of(CMRS, &[]),
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
        name: "cmrs-8",
        source: "Koza et al. 2014, Fig. 8",
        title: "bandwidth utilization",
        matrices: matrices::collection,
        precisions: BOTH,
        series: &[
            SCALAR,
            WARP,
            VECTOR,
            GINKGO_HYB,
            CUSPARSE_CSR_1,
            CUSPARSE_CSR_2,
            AUTOMATIC_CMRS,
            Series::with_peers("best of all", ALL_OF_CMRS, &["cusparse-csr-1", "cusparse-csr-2"]),
        ],
        plot: UTILIZATION,
    },
    Experiment {
        name: "cmrs-9",
        source: "Koza et al. 2014, Fig. 9",
        title: "padded CMRS",
        matrices: matrices::collection,
        precisions: DOUBLE,
        series: &[BESIDE_CMRS, WARP],
        plot: speed_up_of(
            Format::CmrsPadded,
            &[
                Curve { label: "eq. 5.2, 32 bytes", at: |mean| speedup(16, mean, 32, 8) },
                Curve { label: "eq. 5.2, 128 bytes", at: |mean| speedup(16, mean, 128, 8) },
            ],
        ),
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_of_cmrs() {
        // Eq. 5.2's own approximation, 1 + (h - 1) / (1 + h μ b / λ), holds if a value is far shorter than λ.
        for (mean, approximate) in [(1.0, 1.0 + 7.0 / 1.5), (16.0, 1.0 + 7.0 / 9.0), (1000.0, 1.0 + 7.0 / 501.0)] {
            let exact = speedup(8, mean, 128, 8);
            assert!((exact / approximate - 1.0).abs() < 0.07, "{mean}: {exact} {approximate}");
        }
    }
}
