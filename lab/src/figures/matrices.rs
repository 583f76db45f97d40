//! The matrices of the experiments.

use synthetic::Dense;

use crate::suite::Suite;

fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|&text| text.to_owned()).collect()
}

/// Dense matrices of about 4 M nonzeros with 1, 2, 4 … rows (Bell & Garland 2009, Fig. 8).
pub fn dense_sweep() -> Vec<String> {
    Dense::sweep(4_000_000).map(|dense| dense.to_string()).collect()
}

/// 30 K rows with lengths from increasingly narrow distributions (Bell & Garland 2009, Fig. 9).
pub fn pareto_sweep() -> Vec<String> {
    (4..=16).map(|quarters| format!("pareto:rows=30000,k={}", f64::from(quarters) / 4.0)).collect()
}

/// 256 K rows with increasing numbers of diagonals (Bell & Garland 2009, Fig. 10).
pub fn band_sweep() -> Vec<String> {
    let bands = (1..=17).step_by(2).chain((21..=65).step_by(4));
    bands.map(|bands| format!("banded:rows=262144,bands={bands}")).collect()
}

/// Bell & Garland 2009, Table 2.
pub fn stencils() -> Vec<String> {
    owned(&["stencil:3:1000000", "stencil:5:1000", "stencil:7:100", "stencil:9:1000", "stencil:27:100"])
}

/// Returns the stand-ins for Bell & Garland 2009, Table 3.
pub fn table_3() -> Vec<String> {
    let members = Suite::Paper.members().into_iter().map(|member| member.text);
    members.filter(|text| text.ends_with("-like:")).collect()
}

/// Returns the stand-in for rma10, which is Bell & Garland's Harbor (Koza et al. 2014, §6.3).
pub fn rma10() -> Vec<String> {
    owned(&["harbor-like:"])
}

/// Returns a permutation and the stand-ins for the square matrices of [`table_3`], by their mean row length (Koza et al.
/// 2014, Fig. 3).
pub fn by_mean_row_length() -> Vec<String> {
    owned(&[
        "permutation:rows=10000000",
        "webbase-like:",
        "epidemiology-like:",
        "circuit-like:",
        "economics-like:",
        "accelerator-like:",
        "qcd-like:",
        "harbor-like:",
        "wind-tunnel-like:",
        "ship-like:",
        "cantilever-like:",
        "spheres-like:",
        "protein-like:",
        "dense-like:",
    ])
}

/// Those of [`table_3`] whose originals have dense blocks (Choi et al. 2010, §4.5, §5.2 and §6.6).
pub fn blocked() -> Vec<String> {
    owned(&[
        "protein-like:",
        "spheres-like:",
        "cantilever-like:",
        "wind-tunnel-like:",
        "harbor-like:",
        "qcd-like:",
        "ship-like:",
        "accelerator-like:",
    ])
}

/// Stand-ins for Anzt et al. 2020, Table 3, with its numbers of rows and approximately of nonzeros: three halves of meshes,
/// with few nonzeros or none per row, and two graphs of links, where some rows are long.
pub fn conversions() -> Vec<String> {
    owned(&[
        "uniform:rows=6815744,per-row=2,lengths=poisson",
        "uniform:rows=4194304,per-row=3,lengths=poisson",
        "uniform:rows=21198119,per-row=1.5,lengths=poisson",
        "rectangle:rows=685230,columns=685230,per-row=11,row-skew=0.15,column-skew=0.5",
        "rectangle:rows=916428,columns=916428,per-row=5.6,row-skew=0.15,column-skew=0.5",
    ])
}

/// Returns a replacement for the SuiteSparse collection: matrices of all families, each in four sizes, from about 10^4 to
/// about 10^7 nonzeros.
pub fn collection() -> Vec<String> {
    let grids = |points: u32, widths: [u32; 4]| widths.map(|width| format!("stencil:{points}:{width}")).to_vec();
    let scaled = |text: fn(u64) -> String, counts: [u64; 4]| counts.map(text).to_vec();
    let tens = |first: u64| [first, 10 * first, 100 * first, 1_000 * first];
    let families = [
        grids(5, [45, 141, 447, 1414]),
        grids(7, [11, 24, 52, 113]),
        grids(27, [7, 15, 33, 72]),
        scaled(|rows| format!("banded:rows={rows},bands=9"), tens(556)),
        scaled(|rows| format!("dense:rows={rows}"), [100, 316, 1_000, 3_162]),
        scaled(|rows| format!("pareto:rows={rows},k=1.5"), tens(570)),
        scaled(|rows| format!("permutation:rows={rows}"), tens(7_000)),
        scaled(|rows| format!("uniform:rows={rows},per-row=3,lengths=poisson"), tens(2_400)),
        scaled(|rows| format!("uniform:rows={rows},per-row=30"), tens(450)),
        scaled(|scale| format!("rmat:scale={scale}"), [9, 13, 16, 19]),
        scaled(|vertices| format!("barabasi-albert:vertices={vertices},edges-per-vertex=8"), tens(400)),
        scaled(|vertices| format!("small-world:vertices={vertices},neighbours=10,rewired=0.1"), tens(1_200)),
        scaled(
            |rows| format!("rectangle:rows={rows},columns={},per-row={rows},column-skew=0.5", 100 * rows),
            [100, 316, 1_000, 3_162],
        ),
        scaled(|blocks| format!("block-diagonal:blocks={blocks},size=8"), tens(280)),
        scaled(|width| format!("elasticity:width={width}"), [4, 9, 19, 41]),
    ];
    families.concat()
}
