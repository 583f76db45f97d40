//! The matrices for measurements: all generated, each of a family.

use std::fmt;
use std::str::FromStr;

/// A matrix of a suite.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// The family of the matrix.
    pub family: &'static str,
    /// The generator's text.
    pub text: String,
}

/// A list of matrices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suite {
    /// One or two small ones per family: about a minute on a CPU.
    Quick,
    /// The sizes of the papers.
    Paper,
    /// Sizes that exceed any cache.
    Large,
    /// Matrices for calibrating kernels, for the choice of a format: dense matrices, stencils, blocks, and irregular ones,
    /// from sizes that do not fill a GPU to sizes that exceed any cache.
    Tuning,
}

/// The stand-ins for Table 3 of Bell & Garland 2009, with the families of their structures.
const LIKE: &[(&str, &str)] = &[
    ("dense", "dense-like"),
    ("blocks", "protein-like"),
    ("blocks", "spheres-like"),
    ("blocks", "cantilever-like"),
    ("blocks", "wind-tunnel-like"),
    ("blocks", "harbor-like"),
    ("blocks", "qcd-like"),
    ("blocks", "ship-like"),
    ("irregular", "economics-like"),
    ("stencil", "epidemiology-like"),
    ("irregular", "accelerator-like"),
    ("irregular", "circuit-like"),
    ("irregular", "webbase-like"),
    ("irregular", "lp-like"),
];

const QUICK: &[(&str, &str)] = &[
    ("stencil", "stencil:5:300"),
    ("stencil", "stencil:27:30"),
    ("banded", "banded:rows=50000,bands=9"),
    ("dense", "dense:rows=1000"),
    ("pareto", "pareto:rows=10000,k=1.5"),
    ("blocks", "elasticity:width=12"),
    ("blocks", "block-diagonal:blocks=5000,size=6"),
    ("irregular", "circuit-like:"),
    ("graph", "rmat:scale=14"),
    ("rectangle", "rectangle:rows=500,columns=50000,per-row=800,column-skew=0.5"),
];

/// Sizes of Table 2 and figures 8 to 10 of Bell & Garland 2009, and p7 and dense4 of Koza et al. 2014, §6.2.
const PAPER: &[(&str, &str)] = &[
    ("stencil", "stencil:3:1000000"),
    ("stencil", "stencil:5:1000"),
    ("stencil", "stencil:7:100"),
    ("stencil", "stencil:9:1000"),
    ("stencil", "stencil:27:100"),
    ("dense", "dense:rows=16,columns=250000"),
    ("dense", "dense:rows=2000"),
    ("dense", "dense:rows=10000"),
    ("dense", "dense:rows=250000,columns=16"),
    ("pareto", "pareto:rows=30000,k=1"),
    ("pareto", "pareto:rows=30000,k=1.5"),
    ("pareto", "pareto:rows=30000,k=2"),
    ("pareto", "pareto:rows=30000,k=4"),
    ("banded", "banded:rows=262144,bands=1"),
    ("banded", "banded:rows=262144,bands=9"),
    ("banded", "banded:rows=262144,bands=64"),
    ("irregular", "permutation:rows=10000000"),
];

const LARGE: &[(&str, &str)] = &[
    ("stencil", "stencil:3:67000000"),
    ("stencil", "stencil:5:6300"),
    ("stencil", "stencil:7:306"),
    ("stencil", "stencil:9:4700"),
    ("stencil", "stencil:27:195"),
    ("dense", "dense:rows=16000"),
    ("dense", "dense:rows=250,columns=1000000"),
    ("pareto", "pareto:rows=1000000,k=1.5"),
    ("pareto", "pareto:rows=1000000,k=3"),
    ("pareto", "pareto:rows=4000000,k=2"),
    ("pareto", "pareto:rows=4000000,k=1.5,base=3"),
    ("banded", "banded:rows=4000000,bands=9"),
    ("banded", "banded:rows=4000000,bands=64"),
    ("irregular", "permutation:rows=100000000"),
    ("irregular", "uniform:rows=10000000,per-row=10"),
    ("graph", "rmat:scale=22"),
    ("graph", "barabasi-albert:vertices=4000000,edges-per-vertex=8"),
    ("graph", "small-world:vertices=8000000,neighbours=10,rewired=0.1"),
    ("rectangle", "rectangle:rows=40000,columns=10000000,per-row=2500,column-skew=0.5"),
    ("rectangle", "rectangle:rows=20000000,columns=100000,per-row=5,row-skew=0.5"),
    ("blocks", "elasticity:width=110"),
];

const TUNING: &[(&str, &str)] = &[
    ("dense", "dense:rows=500"),
    ("dense", "dense:rows=3000"),
    ("dense", "dense:rows=40,columns=200000"),
    ("dense", "dense:rows=600000,columns=24"),
    ("stencil", "stencil:3:3000000"),
    ("stencil", "stencil:5:300"),
    ("stencil", "stencil:5:2500"),
    ("stencil", "stencil:7:150"),
    ("stencil", "stencil:9:1500"),
    ("stencil", "stencil:27:40"),
    ("stencil", "stencil:27:110"),
    ("banded", "banded:rows=1000000,bands=25"),
    ("pareto", "pareto:rows=20000,k=1.2"),
    ("pareto", "pareto:rows=300000,k=2.5"),
    ("pareto", "pareto:rows=2000000,k=1.5,base=3"),
    ("irregular", "permutation:rows=20000000"),
    ("irregular", "uniform:rows=100000,per-row=20"),
    ("irregular", "uniform:rows=3000000,per-row=12"),
    ("irregular", "uniform:rows=4000000,per-row=3,lengths=poisson"),
    ("graph", "rmat:scale=17"),
    ("graph", "rmat:scale=20"),
    ("graph", "barabasi-albert:vertices=1000000,edges-per-vertex=6"),
    ("graph", "small-world:vertices=2000000,neighbours=8,rewired=0.2"),
    ("rectangle", "rectangle:rows=5000,columns=2000000,per-row=2000,column-skew=0.5"),
    ("rectangle", "rectangle:rows=4000000,columns=50000,per-row=5,row-skew=0.5"),
    ("blocks", "elasticity:width=25"),
    ("blocks", "elasticity:width=60"),
    ("blocks", "block-diagonal:blocks=100000,size=6"),
    ("blocks", "block-diagonal:blocks=300000,size=4"),
];

/// Factor of the stand-ins' rows in the large suite over those of Table 3.
const LARGE_TIMES: usize = 16;

impl Suite {
    /// Every suite.
    pub const ALL: &[Self] = &[Self::Quick, Self::Paper, Self::Large, Self::Tuning];

    /// Returns the name that [`FromStr`] parses.
    pub fn name(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::Paper => "paper",
            Self::Large => "large",
            Self::Tuning => "tuning",
        }
    }

    /// Returns the matrices of the suite.
    pub fn members(self) -> Vec<Member> {
        let member = |(family, text): (&'static str, String)| Member { family, text };
        let of = |list: &[(&'static str, &str)]| -> Vec<Member> {
            list.iter().map(|&(family, text)| member((family, text.to_owned()))).collect()
        };
        let like =
            |options: String| LIKE.iter().map(move |&(family, name)| member((family, format!("{name}:{options}"))));
        match self {
            Self::Quick => of(QUICK),
            Self::Tuning => of(TUNING),
            Self::Paper => of(PAPER).into_iter().chain(like(String::new())).collect(),
            Self::Large => of(LARGE).into_iter().chain(like(format!("times={LARGE_TIMES}"))).collect(),
        }
    }
}

/// Returns the family of a matrix that is in no suite: for a generator, that of its kind of matrix.
pub fn family_of(text: &str) -> Option<&'static str> {
    let name = text.split_once(':')?.0;
    let listed = [QUICK, PAPER, LARGE, TUNING].into_iter().flatten().map(|&(family, text)| (family, text));
    let known = listed.filter_map(|(family, text)| Some((family, text.split_once(':')?.0)));
    known.chain(LIKE.iter().copied()).find(|&(_, known)| known == name).map(|(family, _)| family)
}

impl fmt::Display for Suite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Suite {
    type Err = host::Error;

    fn from_str(name: &str) -> Result<Self, host::Error> {
        Self::ALL.iter().copied().find(|suite| suite.name() == name).ok_or_else(|| host::Error::Name {
            what: "suite",
            name: name.into(),
            expected: Self::ALL.iter().map(|suite| suite.name()).collect::<Vec<_>>().join(", "),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use synthetic::Generator;

    use super::*;

    #[test]
    fn every_member_can_be_generated() {
        for &suite in Suite::ALL {
            let members = suite.members();
            let texts: HashSet<_> = members.iter().map(|member| &member.text).collect();
            assert_eq!(texts.len(), members.len(), "{suite}: a matrix is there twice");
            for Member { family, text } in &members {
                let generator: Generator = text.parse().unwrap_or_else(|error| panic!("{suite}: {text}: {error}"));
                let most = match suite {
                    Suite::Quick => 2_000_000,
                    Suite::Paper => 101_000_000,
                    Suite::Tuning => 40_000_000,
                    Suite::Large => 300_000_000,
                };
                let nonzeros = generator.expected_nnz();
                assert!((1..=most).contains(&nonzeros), "{suite}: {text} has {nonzeros} nonzeros");
                assert_eq!(family_of(text), Some(*family), "{suite}: {text}");
            }
        }
    }

    #[test]
    fn names_are_read_back() {
        for &suite in Suite::ALL {
            assert_eq!(suite.name().parse::<Suite>().unwrap(), suite);
        }
        assert_eq!(
            "huge".parse::<Suite>().unwrap_err().to_string(),
            "unknown suite 'huge': expected quick, paper, large, tuning"
        );
    }
}
