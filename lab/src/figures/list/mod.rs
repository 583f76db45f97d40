//! All experiments, paper by paper, and the series shared by several of them.

mod anzt;
mod bell_garland;
mod choi;
mod koza;

use host::Format;
use host::format::{CsrStrategy, HybSplit, Lanes, StripHeight};

use super::{Choice, Curve, Experiment, Plot, Quantity, Scale, Series, X, matrices};

const BOTH: &[&str] = &["float32", "float64"];
const SINGLE: &[&str] = &["float32"];
const DOUBLE: &[&str] = &["float64"];

const COO: Series = Series::of("coo", &[Format::COO]);
const SCALAR: Series = Series::of("csr-scalar", &[Format::CSR_SCALAR]);
/// The current kernel, with fewer lanes for short rows.
const VECTOR: Series = Series::of("csr-vector", &[Format::CSR_VECTOR]);
/// The papers' kernel, with a whole warp per row.
const VECTOR_OF_A_WARP: Format = Format::Csr(CsrStrategy::Vector(Lanes::L32));
const WARP: Series = Series::of("csr-vector-32", &[VECTOR_OF_A_WARP]);
const BALANCED: Series = Series::of("csr-load-balanced", &[Format::CSR_LOAD_BALANCED]);
const DIA: Series = Series::of("dia", &[Format::Dia]);
const ELL: Series = Series::of("ell", &[Format::ELL]);
/// With Bell & Garland's rule for the split.
const HYB: Series = Series::of("hyb-bell-garland", &[Format::hyb(HybSplit::BellGarland)]);
/// With Ginkgo's rule, Q(1/4) in double precision.
const GINKGO_HYB: Series = Series::of("hyb", &[Format::hyb(HybSplit::SmallestStorage)]);
const CUSPARSE_CSR_1: Series = Series::with_peers("cusparse-csr-1", &[], &["cusparse-csr-1"]);
const CUSPARSE_CSR_2: Series = Series::with_peers("cusparse-csr-2", &[], &["cusparse-csr-2"]);

/// A mark per matrix and series, with both axes logarithmic.
const fn scattered(x: X, y: Quantity, curves: &'static [Curve]) -> Plot {
    let (x_scale, y_scale) = (Scale::Logarithmic, Scale::Logarithmic);
    Plot::Against { x, x_scale, y, y_scale, joined: false, curves }
}

const OF_EACH_PAPER: [&[Experiment]; 4] =
    [bell_garland::EXPERIMENTS, koza::EXPERIMENTS, anzt::EXPERIMENTS, choi::EXPERIMENTS];

/// Every experiment.
pub const FIGURES: &[Experiment] = &{
    const COUNT: usize = {
        let (mut count, mut paper) = (0, 0);
        while paper < OF_EACH_PAPER.len() {
            count += OF_EACH_PAPER[paper].len();
            paper += 1;
        }
        count
    };
    let mut all = [OF_EACH_PAPER[0][0]; COUNT];
    let (mut filled, mut paper) = (0, 0);
    while paper < OF_EACH_PAPER.len() {
        let mut place = 0;
        while place < OF_EACH_PAPER[paper].len() {
            all[filled] = OF_EACH_PAPER[paper][place];
            filled += 1;
            place += 1;
        }
        paper += 1;
    }
    all
};
