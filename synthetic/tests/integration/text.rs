//! Generators as text.

use proptest::prelude::*;
use synthetic::{
    Banded, BarabasiAlbert, BlockDiagonal, Boundary, Cells, Dense, Elasticity, Gauge, Generator, Grid, Helmholtz, Like,
    Numbering, Pareto, Permutation, Points, Rectangle, Rmat, RowLengths, SmallWorld, Stencil, Table3, Uniform,
};

#[test]
fn good_texts() {
    for (text, expected, canonical) in [
        ("stencil:3:1000000", Points::Points3([1_000_000]).into_generator(), "stencil:3:1000000"),
        ("stencil:5:1000", Points::Points5([1000; 2]).into_generator(), "stencil:5:1000x1000"),
        ("stencil:7:100x200x50", Points::Points7([100, 200, 50]).into_generator(), "stencil:7:100x200x50"),
        ("stencil:9:3x4", Points::Points9([3, 4]).into_generator(), "stencil:9:3x4"),
        ("stencil:grid=2x3x4,points=27", Points::Points27([2, 3, 4]).into_generator(), "stencil:27:2x3x4"),
        ("stencil:points=27,grid=6", Points::Points27([6; 3]).into_generator(), "stencil:27:6x6x6"),
        (
            "pareto:rows=30000,k=1.5",
            Pareto::new(30_000, 1.5).into_generator(),
            "pareto:rows=30000,columns=30000,base=32,k=1.5,scale=1,seed=0",
        ),
        (
            "pareto:k=1e0,seed=18446744073709551615,base=0,columns=7,rows=9,scale=0.25",
            Pareto { columns: 7, base: 0, scale: 0.25, seed: u64::MAX, ..Pareto::new(9, 1.0) }.into_generator(),
            "pareto:rows=9,columns=7,base=0,k=1,scale=0.25,seed=18446744073709551615",
        ),
        ("banded:rows=262144,bands=9", Banded::new(262_144, 9).into_generator(), "banded:rows=262144,bands=9,seed=0"),
        (
            "banded:seed=5,bands=1,rows=1",
            Banded { seed: 5, ..Banded::new(1, 1) }.into_generator(),
            "banded:rows=1,bands=1,seed=5",
        ),
        (
            "stencil:5:4,boundary=periodic",
            Stencil { boundary: Boundary::Periodic, ..Points::Points5([4; 2]).into() }.into_generator(),
            "stencil:5:4x4,boundary=periodic",
        ),
        (
            "stencil:points=7,boundary=neumann,grid=4x3x2",
            Stencil { boundary: Boundary::Neumann, ..Points::Points7([4, 3, 2]).into() }.into_generator(),
            "stencil:7:4x3x2,boundary=neumann",
        ),
        (
            "helmholtz:grid=9x8,damping=0",
            Helmholtz { grid: Grid(vec![9, 8]), wavenumber: 0.5, damping: 0.0 }.into_generator(),
            "helmholtz:grid=9x8,wavenumber=0.5,damping=0",
        ),
        (
            "gauge:grid=3x4x5x6,times=2,mass=-0.5",
            Gauge { grid: Grid(vec![3, 4, 5, 12]), disorder: 1.0, mass: -0.5, seed: 0 }.into_generator(),
            "gauge:grid=3x4x5x12,disorder=1,mass=-0.5,seed=0",
        ),
        ("dense:rows=9", Dense::new(9, 9).into_generator(), "dense:rows=9,columns=9,seed=0"),
        ("permutation:rows=9", Permutation::new(9).into_generator(), "permutation:rows=9,seed=0"),
        (
            "uniform:rows=9,per-row=2.5,lengths=poisson",
            Uniform { lengths: RowLengths::Poisson, ..Uniform::new(9, 9, 2.5) }.into_generator(),
            "uniform:rows=9,columns=9,per-row=2.5,lengths=poisson,seed=0",
        ),
        (
            "rmat:scale=5,numbering=shuffled",
            Rmat { numbering: Numbering::Shuffled, ..Rmat::new(5) }.into_generator(),
            "rmat:scale=5,edges-per-vertex=16,a=0.57,b=0.19,c=0.19,numbering=shuffled,seed=0",
        ),
        (
            "small-world:vertices=9,neighbours=4,rewired=0.5",
            SmallWorld::new(9, 4, 0.5).into_generator(),
            "small-world:vertices=9,neighbours=4,rewired=0.5,seed=0",
        ),
        (
            "barabasi-albert:vertices=9,edges-per-vertex=3",
            BarabasiAlbert::new(9, 3).into_generator(),
            "barabasi-albert:vertices=9,edges-per-vertex=3,seed=0",
        ),
        (
            "rectangle:rows=9,columns=90,per-row=3,row-skew=0.25",
            Rectangle { row_skew: 0.25, ..Rectangle::new(9, 90, 3.0) }.into_generator(),
            "rectangle:rows=9,columns=90,per-row=3,row-skew=0.25,column-skew=0,seed=0",
        ),
        (
            "block-diagonal:size=2,blocks=7",
            BlockDiagonal::new(7, 2).into_generator(),
            "block-diagonal:blocks=7,size=2,seed=0",
        ),
        (
            "elasticity:width=4,depth=3,cells=hexahedra",
            Elasticity { cells: Cells::Hexahedra, depth: 3, ..Elasticity::new(4) }.into_generator(),
            "elasticity:width=4,height=4,depth=3,cells=hexahedra,voids=0,numbering=shuffled,seed=0",
        ),
        ("lp-like:", Like::new(Table3::Lp).into_generator(), "lp-like:times=1,seed=0"),
        (
            "wind-tunnel-like:seed=7,times=16",
            Like { times: 16, seed: 7, ..Like::new(Table3::WindTunnel) }.into_generator(),
            "wind-tunnel-like:times=16,seed=7",
        ),
        ("banded:times=3,rows=9,bands=2", Banded::new(27, 2).into_generator(), "banded:rows=27,bands=2,seed=0"),
        ("stencil:5:4x6,times=3", Points::Points5([4, 18]).into_generator(), "stencil:5:4x18"),
    ] {
        let parsed: Generator = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(parsed, expected, "{text}");
        assert_eq!(parsed.to_string(), canonical, "{text}");
        assert_eq!(canonical.parse::<Generator>().unwrap(), expected, "{canonical}");
        assert!(Generator::is_generator_text(text), "{text}");
    }
}

/// Each text, and what its error must contain.
#[test]
fn bad_texts() {
    const NAMES: &str = "expected one of stencil, pareto, banded, dense, ";
    for (text, says) in [
        ("", NAMES),
        (":", NAMES),
        ("poisson:5:10", "unknown generator \"poisson\": expected one of stencil"),
        ("Stencil:5:10", NAMES),
        (" stencil:5:10", NAMES),
        ("stencil", "stencil: no key \"points\"; expected stencil:POINTS:GRID"),
        ("stencil:", "stencil: no key \"points\""),
        ("stencil:27", "stencil: \"27\" is not KEY=VALUE; expected stencil:POINTS:GRID"),
        ("stencil:27:", "stencil: grid is \"\", expected a whole number"),
        ("stencil:x:10", "stencil: points is \"x\", expected a whole number"),
        ("stencil:4:10", "stencil: points is \"4\", expected 3, 5, 7, 9 or 27"),
        ("stencil:7:10x10", "stencil: grid is \"10x10\", expected one edge or 3 joined by x"),
        ("stencil:3:10x10", "stencil: grid is \"10x10\", expected one edge or 1 joined by x"),
        ("stencil:7:10x10x10x10", "expected one edge or 3 joined by x"),
        ("stencil:7:10x", "stencil: grid is \"\", expected a whole number"),
        ("stencil:7:-1", "stencil: grid is \"-1\", expected a whole number"),
        ("stencil:7:10 x10x10", "stencil: grid is \"10 \", expected a whole number"),
        ("stencil:5:0", "stencil: grid is \"0\", expected a whole number from 1 to "),
        ("stencil:5:10x0", "stencil: grid is \"0\", expected a whole number from 1 to "),
        ("stencil:27:1000000000", "expected a grid of at most "),
        ("stencil:3:4294967295", "stencil: grid is \"4294967295\", expected a whole number from 1 to "),
        ("stencil:5:99999999999999999999", "stencil: grid is \"99999999999999999999\", expected a whole number"),
        ("stencil:points=27", "stencil: no key \"grid\"; expected"),
        ("stencil:points=27,edge=3", "stencil: unknown key \"edge\"; expected"),
        ("stencil:points=27,grid=3,grid=3", "stencil: key \"grid\" is given twice; expected"),
        ("pareto:rows=10", "pareto: no key \"k\"; expected pareto:rows=N,k=SHAPE[,"),
        ("pareto:k=1", "pareto: no key \"rows\"; expected"),
        ("pareto:rows=10,k=1,", "pareto: \"\" is not KEY=VALUE; expected"),
        ("pareto:rows=10,k", "pareto: \"k\" is not KEY=VALUE; expected"),
        ("pareto:rows=10,k=", "pareto: k is \"\", expected a number"),
        ("pareto:rows=10,k=one", "pareto: k is \"one\", expected a number"),
        ("pareto:rows=10,k=0", "pareto: k is \"0\", expected a finite number above 0"),
        ("pareto:rows=10,k=-2.5", "pareto: k is \"-2.5\", expected a finite number above 0"),
        ("pareto:rows=10,k=nan", "expected a finite number above 0"),
        ("pareto:rows=10,k=inf", "expected a finite number above 0"),
        ("pareto:rows=10,k=1,scale=0", "pareto: scale is \"0\", expected a finite number above 0"),
        ("pareto:rows=0,k=1", "pareto: rows is \"0\", expected a whole number from 1 to "),
        ("pareto:rows=1.5,k=1", "pareto: rows is \"1.5\", expected a whole number"),
        ("pareto:rows=9,k=1,columns=0", "pareto: columns is \"0\", expected a whole number from 1"),
        ("pareto:rows=9,k=1,seed=-1", "pareto: seed is \"-1\", expected a whole number below 2^64"),
        ("pareto:rows=9,k=1,row=9", "pareto: unknown key \"row\"; expected"),
        ("pareto:rows=9,k=1,K=1", "pareto: unknown key \"K\"; expected"),
        ("banded:rows=9", "banded: no key \"bands\"; expected banded:rows=N,bands=N[,seed=0]"),
        ("stencil:5:9,boundary=open", "stencil: boundary is \"open\", expected dirichlet, periodic or neumann"),
        ("stencil:5:9x2,boundary=periodic", "stencil: grid is \"2\", expected at least 3 points in each direction"),
        ("stencil:5:9,edge=3", "stencil: unknown key \"edge\""),
        ("banded:rows=9,bands=1,times=0", "banded: times is \"0\", expected a whole number above 0"),
        ("banded:rows=9,bands=1,times=2,times=2", "banded: unknown key \"times\""),
        ("banded:rows=9,bands=1,times=-2", "banded: times is \"-2\", expected a whole number"),
        ("banded:rows=9,bands=1,times=9999999999", "banded: rows is \"89999999991\", expected a whole number from 1"),
        ("dense:rows=9,columns=0", "dense: columns is \"0\", expected a whole number from 1"),
        ("permutation:rows=0", "permutation: rows is \"0\", expected a whole number from 1"),
        ("uniform:rows=9,per-row=9.5", "uniform: per-row is \"9.5\", expected a number from 0 to the 9 columns"),
        ("uniform:rows=9,per-row=nan", "uniform: per-row is \"NaN\", expected a number from 0 to the 9 columns"),
        ("uniform:rows=9,per-row=1,lengths=any", "uniform: lengths is \"any\", expected equal or poisson"),
        ("rmat:scale=0", "rmat: scale is \"0\", expected a whole number from 1 to 30"),
        ("rmat:scale=31", "rmat: scale is \"31\", expected a whole number from 1 to 30"),
        ("rmat:scale=9,a=0.7,b=0.3,c=0.1", "rmat: a + b + c is \"1.1\", expected at most 1"),
        ("rmat:scale=9,b=-1", "rmat: b is \"-1\", expected a number from 0 to 1"),
        ("rmat:scale=9,times=3", "rmat: times is \"3\", expected a power of two"),
        ("rmat:scale=29,times=4", "rmat: scale is \"31\", expected a whole number from 1 to 30"),
        ("small-world:vertices=9,neighbours=3,rewired=0", "neighbours is \"3\", expected an even number from 2"),
        ("small-world:vertices=9,neighbours=10,rewired=0", "neighbours is \"10\", expected an even number from 2"),
        ("small-world:vertices=9,neighbours=2,rewired=1.5", "rewired is \"1.5\", expected a number from 0 to 1"),
        (
            "rmat:scale=5,edges-per-vertex=466666666",
            "edges-per-vertex is \"466666666\", expected a whole number from 1 to 512",
        ),
        ("barabasi-albert:vertices=9,edges-per-vertex=0", "edges-per-vertex is \"0\", expected a whole number from 1"),
        ("rectangle:rows=9,columns=9,per-row=3,row-skew=1", "row-skew is \"1\", expected a number from 0 to 0.95"),
        ("rectangle:rows=99,columns=9,per-row=3,row-skew=0.9", "row-skew is \"0.9\", expected less: a row has "),
        ("rectangle:rows=9,columns=9,per-row=5,column-skew=0.1", "per-row is \"5\", expected a number from 0 to 4"),
        ("block-diagonal:blocks=65536,size=65536", "size is \"65536\", expected blocks · size of at most 2147483647"),
        ("elasticity:width=1", "elasticity: width is \"1\", expected a whole number from 2"),
        ("elasticity:width=1000", "elasticity: depth is \"1000\", expected a mesh of at most 715827882 nodes"),
        ("elasticity:width=9,cells=boxes", "elasticity: cells is \"boxes\", expected tetrahedra or hexahedra"),
        ("qcd-like:rows=3", "qcd-like: unknown key \"rows\"; expected qcd-like:[seed=0]"),
        ("lp-like:times=2000", "lp-like: times is \"2000\", expected at most 2147483647 rows and columns"),
        ("ship:", "unknown generator \"ship\": expected one of"),
        ("banded:rows=9,bands=0", "banded: bands is \"0\", expected a whole number from 1 to 17"),
        ("banded:rows=9,bands=18", "banded: bands is \"18\", expected a whole number from 1 to 17"),
        ("banded:rows=\n9,bands=1", "banded: rows is \"\\n9\", expected a whole number"),
    ] {
        let error = text.parse::<Generator>().expect_err(text).to_string();
        assert!(error.contains(says), "{text}: {error}");
        assert_eq!(error.lines().count(), 1, "{text}: {error}");
    }
}

#[test]
fn tells_generators_from_files() {
    for text in ["stencil:27:100", "pareto:", "banded:what"] {
        assert!(Generator::is_generator_text(text), "{text}");
    }
    for text in ["", "stencil", "pareto.mtx", "./stencil:27:100", "C:\\banded.mtx", "bands:3", ":stencil"] {
        assert!(!Generator::is_generator_text(text), "{text}");
    }
}

#[test]
fn help_has_one_line_for_each() {
    let mut names: Vec<_> = Generator::HELP.iter().map(|help| help.name).collect();
    assert_eq!(names[..3], ["stencil", "pareto", "banded"]);
    assert_eq!(names.iter().filter(|name| name.ends_with("-like")).count(), Table3::ALL.len());
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), Generator::HELP.len());
    for help in Generator::HELP {
        let line = help.to_string();
        assert!(line.starts_with(&format!("{}:", help.name)) && line.ends_with(help.about), "{line}");
        assert_eq!(line.lines().count(), 1, "{line}");
    }
}

fn any_generator() -> impl Strategy<Value = Generator> {
    let edge = || 1usize..1000;
    prop_oneof![
        (prop::sample::select(vec![3, 5, 7, 9, 27]), edge())
            .prop_map(|(points, edge)| Points::new(points, &[edge]).unwrap().into_generator()),
        [edge(), edge(), edge()].prop_map(|grid| Points::Points7(grid).into_generator()),
        (edge(), edge(), 0usize..99, 1e-300..1e300, f64::MIN_POSITIVE..1e9, any::<u64>()).prop_map(
            |(rows, columns, base, k, scale, seed)| Pareto { rows, columns, base, k, scale, seed }.into_generator()
        ),
        (edge(), edge(), 0.0..1.0, any::<u64>()).prop_map(|(rows, columns, share, seed)| {
            Uniform { seed, lengths: RowLengths::Poisson, ..Uniform::new(rows, columns, share) }.into_generator()
        }),
        (1usize..20, 0.0..0.3, any::<u64>()).prop_map(|(scale, share, seed)| Rmat {
            a: share,
            b: share,
            c: share,
            seed,
            ..Rmat::new(scale)
        }
        .into_generator()),
        (prop::sample::select(Table3::ALL), 1usize..16, any::<u64>()).prop_map(|(matrix, times, seed)| Like {
            matrix,
            times,
            seed
        }
        .into_generator()),
        (edge(), any::<u64>()).prop_map(|(rows, seed)| Banded { rows, bands: rows, seed }.into_generator()),
    ]
}

proptest! {
    #[test]
    fn canonical_texts_parse_to_the_same(generator in any_generator()) {
        prop_assert_eq!(generator.to_string().parse::<Generator>().unwrap(), generator);
    }

    #[test]
    fn any_text_parses_or_fails_in_one_line(
        name in "stencil|pareto|banded|.*", options in "([a-z]{1,7}=?[0-9x.:e,-]{0,9},?){0,4}|.*|rows=.*,bands=.*",
    ) {
        if let Err(error) = format!("{name}:{options}").parse::<Generator>() {
            prop_assert_eq!(error.to_string().lines().count(), 1);
        }
    }
}

/// Keeps the tables short.
trait IntoGenerator {
    fn into_generator(self) -> Generator;
}

impl IntoGenerator for Points {
    fn into_generator(self) -> Generator {
        Generator::Stencil(self.into())
    }
}

macro_rules! into_generator {
    ($($kind:ident),*) => {$(
        impl IntoGenerator for $kind {
            fn into_generator(self) -> Generator {
                Generator::$kind(self)
            }
        }
    )*};
}

into_generator!(
    Stencil,
    Pareto,
    Banded,
    Dense,
    Permutation,
    Uniform,
    Rmat,
    SmallWorld,
    BarabasiAlbert,
    Rectangle,
    BlockDiagonal,
    Elasticity,
    Helmholtz,
    Gauge,
    Like
);
