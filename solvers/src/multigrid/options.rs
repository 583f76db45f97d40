//! The options of multigrid, and their text form.

use std::fmt;
use std::str::FromStr;

use host::error::Error;
use host::format::ValueStorage;

/// Largest number of steps of a smoother.
const MOST_STEPS: u32 = 100;
/// Largest number of unknowns per node.
const LARGEST_NODE: u32 = 32;
/// Largest number of rows of the coarsest level, whose inverse is dense.
const LARGEST_DENSE: u32 = 1000;
/// Largest number of levels.
const MOST_LEVELS: u32 = 50;

/// Algebraic multigrid by smoothed aggregation, with its options. Its text form is "amg", or "amg:" followed by options in
/// any order, such as "amg:cycle=w,smoother=jacobi-2,strength=0.25".
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Multigrid {
    /// The order in which levels are visited: `cycle=`.
    pub cycle: Cycle,
    /// Reduces the error that the next coarser level cannot represent, before and after it: `smoother=`.
    pub smoother: Smoother,
    /// The interpolation between levels: `aggregation=`.
    pub aggregation: Aggregation,
    /// Two nodes are strongly connected if the norm of their block, divided by the geometric mean of the largest such norm
    /// of either node, is at least this threshold from 0 to 1: `strength=`. With 0, any nonzero block connects them. A
    /// larger threshold makes aggregates follow the strong direction of an anisotropic problem.
    pub strength: f64,
    /// Unknowns per node, numbered consecutively, such as the 3 displacements of elasticity: `node=`.
    pub node: u32,
    /// A level of at most `coarsest` rows is the coarsest one and is solved directly: `coarsest=`.
    pub coarsest: u32,
    /// Largest number of levels: `levels=`.
    pub levels: u32,
    /// How the matrices of the levels and the transfers between them store their values: `values=`, such as
    /// `values=float32` for half the bytes. The preconditioner is an approximation that rounding hardly makes worse. Unless
    /// it is full, this overrides [`PreconditionerOptions::values`](crate::preconditioner::PreconditionerOptions::values).
    pub values: ValueStorage,
}

/// The order in which levels are visited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cycle {
    /// Each level once on the way down and once on the way up: `v`.
    V,
    /// Each level solves with the next coarser one twice: `w`.
    W,
    /// Each level except the finest is solved by two steps of conjugate gradients, preconditioned by the next cycle (Notay
    /// & Vassilevski 2008): `k`. For real symmetric matrices.
    K,
}

/// The method that reduces the error of a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Smoother {
    /// Chebyshev's polynomial of the fourth kind, of the given degree, of the matrix scaled by its diagonal (Lottes 2022,
    /// §3): `chebyshev-2`.
    Chebyshev(u32),
    /// The given number of steps of Jacobi's method with the weight 4/3 over the largest eigenvalue: `jacobi-2`.
    Jacobi(u32),
    /// The given number of steps with each row's sum of magnitudes instead of its diagonal (Baker, Falgout, Kolev & Yang
    /// 2011). It needs no eigenvalue and converges for every symmetric positive definite matrix: `l1-jacobi-2`.
    L1Jacobi(u32),
}

/// The interpolation between levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aggregation {
    /// Constant on each aggregate, then smoothed by a step of Jacobi's method: `smoothed`.
    Smoothed,
    /// Constant on each aggregate: cheaper levels and more iterations, best with K-cycles: `plain`.
    Plain,
}

impl Default for Multigrid {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl Smoother {
    fn parts(self) -> (&'static str, u32) {
        match self {
            Self::Chebyshev(steps) => ("chebyshev", steps),
            Self::Jacobi(steps) => ("jacobi", steps),
            Self::L1Jacobi(steps) => ("l1-jacobi", steps),
        }
    }

    /// Returns the number of steps before a coarser level, and as many after it.
    pub(super) fn steps(self) -> u32 {
        self.parts().1
    }
}

impl fmt::Display for Smoother {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, steps) = self.parts();
        write!(f, "{name}-{steps}")
    }
}

impl FromStr for Smoother {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let unknown = || Error::Name {
            what: "smoother",
            name: text.into(),
            expected: "chebyshev-2, jacobi-2 or l1-jacobi-2, with any number from 1 to 100".into(),
        };
        let (name, steps) = text.rsplit_once('-').ok_or_else(unknown)?;
        let steps = steps.parse().map_err(|_| unknown())?;
        match name {
            "chebyshev" => Ok(Self::Chebyshev(steps)),
            "jacobi" => Ok(Self::Jacobi(steps)),
            "l1-jacobi" => Ok(Self::L1Jacobi(steps)),
            _ => Err(unknown()),
        }
    }
}

/// Parses and formats an option whose value is one of a few words.
macro_rules! words {
    ($type:ident, $what:literal, $expected:literal, $($variant:ident = $word:literal),*) => {
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self { $(Self::$variant => $word,)* })
            }
        }

        impl FromStr for $type {
            type Err = Error;

            fn from_str(text: &str) -> Result<Self, Error> {
                match text {
                    $($word => Ok(Self::$variant),)*
                    _ => Err(Error::Name { what: $what, name: text.into(), expected: $expected.into() }),
                }
            }
        }
    };
}

words!(Cycle, "cycle", "v, w or k", V = "v", W = "w", K = "k");
words!(Aggregation, "aggregation", "smoothed or plain", Smoothed = "smoothed", Plain = "plain");

impl Multigrid {
    /// V-cycles with smoothed aggregates. The threshold is far below the off-diagonal entries of a stencil, which are all
    /// equal, and above most of the small entries of Galerkin products.
    pub(crate) const DEFAULT: Self = Self {
        cycle: Cycle::V,
        smoother: Smoother::Chebyshev(1),
        aggregation: Aggregation::Smoothed,
        strength: 0.1,
        node: 1,
        coarsest: 200,
        levels: 20,
        values: ValueStorage::Full,
    };

    /// Checks the numbers.
    pub(crate) fn check(self) -> Result<(), Error> {
        let numbers = [
            ("the number of steps of the smoother", self.smoother.steps(), MOST_STEPS, "1 to 100"),
            ("the number of unknowns of a node", self.node, LARGEST_NODE, "1 to 32"),
            ("the number of rows of the coarsest level", self.coarsest, LARGEST_DENSE, "1 to 1000"),
            ("the number of levels", self.levels, MOST_LEVELS, "1 to 50"),
        ];
        for (what, number, most, expected) in numbers {
            if !(1..=most).contains(&number) {
                return Err(Error::Setting { what, value: number.to_string(), expected });
            }
        }
        if !(0.0..=1.0).contains(&self.strength) {
            let value = self.strength.to_string();
            return Err(Error::Setting { what: "the threshold of strong connections", value, expected: "0 to 1" });
        }
        Ok(())
    }

    /// Parses the options after "amg:".
    pub(crate) fn parse(text: &str) -> Result<Self, Error> {
        let mut options = Self::default();
        for option in text.split(',') {
            let (key, value) = option.split_once('=').unwrap_or((option, ""));
            let number = |what| {
                value.parse::<u32>().map_err(|_| Error::Setting {
                    what,
                    value: format!("'{value}'"),
                    expected: "a whole number",
                })
            };
            match key {
                "cycle" => options.cycle = value.parse()?,
                "smoother" => options.smoother = value.parse()?,
                "aggregation" => options.aggregation = value.parse()?,
                "node" => options.node = number("the number of unknowns of a node")?,
                "coarsest" => options.coarsest = number("the number of rows of the coarsest level")?,
                "values" => options.values = value.parse()?,
                "levels" => options.levels = number("the number of levels")?,
                "strength" => {
                    options.strength = value.parse().map_err(|_| Error::Setting {
                        what: "the threshold of strong connections",
                        value: format!("'{value}'"),
                        expected: "0 to 1",
                    })?;
                }
                _ => {
                    let expected =
                        "cycle=, smoother=, aggregation=, strength=, node=, coarsest=, levels= or values=".into();
                    return Err(Error::Name { what: "option of multigrid", name: option.into(), expected });
                }
            }
        }
        options.check()?;
        Ok(options)
    }
}

impl fmt::Display for Multigrid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.named("amg"))
    }
}

impl Multigrid {
    /// Returns the name, followed by a colon and the options that differ from the defaults.
    pub(crate) fn named(&self, name: &str) -> String {
        let default = Self::default();
        let options = [
            (self.cycle != default.cycle).then(|| format!("cycle={}", self.cycle)),
            (self.smoother != default.smoother).then(|| format!("smoother={}", self.smoother)),
            (self.aggregation != default.aggregation).then(|| format!("aggregation={}", self.aggregation)),
            (self.strength != default.strength).then(|| format!("strength={}", self.strength)),
            (self.node != default.node).then(|| format!("node={}", self.node)),
            (self.coarsest != default.coarsest).then(|| format!("coarsest={}", self.coarsest)),
            (self.levels != default.levels).then(|| format!("levels={}", self.levels)),
            (self.values != default.values).then(|| format!("values={}", self.values.name())),
        ];
        let options: Vec<_> = options.into_iter().flatten().collect();
        match options.is_empty() {
            true => name.to_owned(),
            false => format!("{name}:{}", options.join(",")),
        }
    }
}

#[cfg(test)]
mod tests {
    use host::format::NarrowType;

    use super::*;

    #[test]
    fn options_are_read_back() {
        let text =
            "cycle=k,smoother=l1-jacobi-3,aggregation=plain,strength=0.25,node=3,coarsest=50,levels=4,values=float32";
        let options = Multigrid::parse(text).unwrap();
        let expected = Multigrid {
            cycle: Cycle::K,
            smoother: Smoother::L1Jacobi(3),
            aggregation: Aggregation::Plain,
            strength: 0.25,
            node: 3,
            coarsest: 50,
            levels: 4,
            values: ValueStorage::Rounded(NarrowType::Float32),
        };
        assert_eq!(options, expected);
        assert_eq!(options.to_string(), format!("amg:{text}"));
        assert_eq!(Multigrid::default().to_string(), "amg");
        assert_eq!(Multigrid::parse("levels=3,cycle=w").unwrap().to_string(), "amg:cycle=w,levels=3");
    }

    #[test]
    fn options_without_a_meaning_are_refused() {
        let error = |text: &str| Multigrid::parse(text).unwrap_err().to_string();
        let known = "cycle=, smoother=, aggregation=, strength=, node=, coarsest=, levels= or values=";
        for text in ["", "v", "cycles=v"] {
            assert_eq!(error(text), format!("unknown option of multigrid '{text}': expected {known}"));
        }
        assert_eq!(error("cycle=x"), "unknown cycle 'x': expected v, w or k");
        assert_eq!(error("aggregation="), "unknown aggregation '': expected smoothed or plain");
        let smoothers = "chebyshev-2, jacobi-2 or l1-jacobi-2, with any number from 1 to 100";
        for text in ["jacobi", "sor-2", "chebyshev-", "l1-jacobi--1"] {
            assert_eq!(error(&format!("smoother={text}")), format!("unknown smoother '{text}': expected {smoothers}"));
        }
        assert_eq!(error("smoother=jacobi-0"), "the number of steps of the smoother is 0, expected 1 to 100");
        assert_eq!(error("strength=x"), "the threshold of strong connections is 'x', expected 0 to 1");
        assert_eq!(error("strength=NaN"), "the threshold of strong connections is NaN, expected 0 to 1");
        assert_eq!(error("node=33"), "the number of unknowns of a node is 33, expected 1 to 32");
        assert_eq!(error("node=-1"), "the number of unknowns of a node is '-1', expected a whole number");
        assert_eq!(error("coarsest=0"), "the number of rows of the coarsest level is 0, expected 1 to 1000");
        assert_eq!(error("levels=99"), "the number of levels is 99, expected 1 to 50");
    }
}
