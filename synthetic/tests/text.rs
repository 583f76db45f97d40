//! Generators as text.

use proptest::prelude::*;
use synthetic::{Banded, Generator, Pareto, Stencil};

#[test]
fn good_texts() {
    for (text, expected, canonical) in [
        ("stencil:3:1000000", Stencil::Points3([1_000_000]).into_generator(), "stencil:3:1000000"),
        ("stencil:5:1000", Stencil::Points5([1000; 2]).into_generator(), "stencil:5:1000x1000"),
        ("stencil:7:100x200x50", Stencil::Points7([100, 200, 50]).into_generator(), "stencil:7:100x200x50"),
        ("stencil:9:3x4", Stencil::Points9([3, 4]).into_generator(), "stencil:9:3x4"),
        ("stencil:grid=2x3x4,points=27", Stencil::Points27([2, 3, 4]).into_generator(), "stencil:27:2x3x4"),
        ("stencil:points=27,grid=6", Stencil::Points27([6; 3]).into_generator(), "stencil:27:6x6x6"),
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
    ] {
        let parsed: Generator = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(parsed, expected, "{text}");
        assert_eq!(parsed.to_string(), canonical, "{text}");
        assert_eq!(canonical.parse::<Generator>().unwrap(), expected, "{canonical}");
        assert!(Generator::is_generator_text(text), "{text}");
    }
}

/// Each text, and what its error must say.
#[test]
fn bad_texts() {
    const FORMS: &str = "expected stencil:POINTS:GRID or pareto:rows=N,k=SHAPE[,";
    for (text, says) in [
        ("", FORMS),
        (":", FORMS),
        ("poisson:5:10", "unknown generator \"poisson\": expected stencil:"),
        ("Stencil:5:10", FORMS),
        (" stencil:5:10", FORMS),
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
    let names: Vec<_> = Generator::HELP.iter().map(|help| help.name).collect();
    assert_eq!(names, ["stencil", "pareto", "banded"]);
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
            .prop_map(|(points, edge)| Stencil::new(points, &[edge]).unwrap().into_generator()),
        [edge(), edge(), edge()].prop_map(|grid| Stencil::Points7(grid).into_generator()),
        (edge(), edge(), 0usize..99, 1e-300..1e300, f64::MIN_POSITIVE..1e9, any::<u64>()).prop_map(
            |(rows, columns, base, k, scale, seed)| Pareto { rows, columns, base, k, scale, seed }.into_generator()
        ),
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

/// So that tables stay short.
trait IntoGenerator {
    fn into_generator(self) -> Generator;
}

impl IntoGenerator for Stencil {
    fn into_generator(self) -> Generator {
        Generator::Stencil(self)
    }
}

impl IntoGenerator for Pareto {
    fn into_generator(self) -> Generator {
        Generator::Pareto(self)
    }
}

impl IntoGenerator for Banded {
    fn into_generator(self) -> Generator {
        Generator::Banded(self)
    }
}
