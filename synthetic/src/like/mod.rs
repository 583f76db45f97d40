//! Stand-ins for the 14 matrices of Bell & Garland 2009, Table 3.

mod epidemic;
mod lattice;
mod profile;
mod table;

use std::fmt;
use std::ops::Range;

use host::format::{Csr, LARGEST_DIMENSION};
use host::real::Scalar;

use self::epidemic::Epidemic;
use self::lattice::Lattice;
use self::profile::Profile;
use self::table::{Stand, Structure, TABLE};
use crate::assemble::assemble;
use crate::options::{Options, check_range, unfit, write_pairs};
use crate::{Dense, Error, Generate, Help};

pub use self::table::Table3;

/// A generated matrix with the rows, columns and nonzeros of one of the matrices of Bell & Garland 2009, Table 3, and a
/// similar structure: blocks, spread of row lengths, locality. `docs/matrices.md` lists what was matched and what was
/// not. Values are uniform with magnitudes from 1/2 to 1 and either sign.
///
/// As text, the name of the matrix with `-like`, a colon, and optionally `times=N` or `seed=N`.
///
/// ```
/// use synthetic::{Generate, Generator, Like, Table3};
///
/// let like = Like { seed: 1, ..Like::new(Table3::Qcd) };
/// assert_eq!(like.expected_nnz(), 1_916_928);
///
/// let generator: Generator = "webbase-like:times=16".parse()?;
/// assert_eq!(generator.rows(), 16 * 1_000_005);
/// # Ok::<(), synthetic::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Like {
    /// Which matrix.
    pub matrix: Table3,
    /// Multiple of the original's rows and nonzeros, at least 1.
    pub times: usize,
    /// The seed of the random numbers.
    pub seed: u64,
}

impl Like {
    /// A stand-in with the original's size, seed 0.
    pub fn new(matrix: Table3) -> Self {
        Self { matrix, times: 1, seed: 0 }
    }

    fn stand(&self) -> &'static Stand {
        &TABLE[self.matrix as usize]
    }

    fn dense(&self) -> Dense {
        let Stand { rows, columns, .. } = *self.stand();
        Dense { rows: rows.saturating_mul(self.times), columns, seed: self.seed }
    }

    fn lattice(&self) -> Lattice {
        Lattice::new(self.times, self.seed)
    }

    fn epidemic(&self) -> Epidemic {
        Epidemic::new(self.times, self.seed)
    }
}

impl fmt::Display for Like {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_pairs(f, self.stand().help, &[("times", &self.times), ("seed", &self.seed)])
    }
}

/// The help of each stand-in.
const fn helps() -> [Help; TABLE.len()] {
    let mut helps = [TABLE[0].help; TABLE.len()];
    let mut place = 0;
    while place < TABLE.len() {
        helps[place] = TABLE[place].help;
        place += 1;
    }
    helps
}

impl Generate for Like {
    const HELP: &'static [Help] = &helps();

    fn from_options(name: &str, text: &str) -> Result<Self, Error> {
        let like = Table3::ALL.iter().map(|&matrix| Self::new(matrix)).find(|like| like.stand().help.name == name);
        let Some(like) = like else {
            let names: Vec<_> = Self::HELP.iter().map(|help| help.name).collect();
            return Err(Error::Unknown { name: name.to_owned(), expected: names.join(", ") });
        };
        Ok(Self { seed: Options::parse(like.stand().help, text, &["seed"])?.optional("seed", 0)?, ..like })
    }

    fn times(&self, factor: usize) -> Result<Self, Error> {
        Ok(Self { times: self.times.saturating_mul(factor), ..*self })
    }

    fn check(&self) -> Result<(), Error> {
        check_range(self.stand().help, "times", self.times, 1..=LARGEST_DIMENSION)?;
        if self.rows().max(self.columns()) > LARGEST_DIMENSION {
            let expected = format!("at most {LARGEST_DIMENSION} rows and columns");
            return Err(unfit(self.stand().help, "times", self.times, expected));
        }
        Ok(())
    }

    fn rows(&self) -> usize {
        self.stand().rows.saturating_mul(self.times)
    }

    fn columns(&self) -> usize {
        match self.stand().structure {
            Structure::Dense => self.stand().columns,
            _ => self.stand().columns.saturating_mul(self.times),
        }
    }

    fn expected_nnz(&self) -> u128 {
        match &self.stand().structure {
            Structure::Dense => self.dense().expected_nnz(),
            Structure::Lattice => self.lattice().nnz(),
            Structure::Epidemic => self.epidemic().nnz(),
            Structure::Profile(_) => self.stand().nnz as u128 * self.times as u128,
        }
    }

    fn generate_rows<T: Scalar>(&self, wanted: Range<usize>) -> Result<Csr<T>, Error> {
        self.check()?;
        match &self.stand().structure {
            Structure::Dense => assemble(self, &self.dense(), wanted),
            Structure::Lattice => assemble(self, &self.lattice(), wanted),
            Structure::Epidemic => assemble(self, &self.epidemic(), wanted),
            Structure::Profile(shape) => assemble(self, &Profile::new(self, self.stand().nnz, shape), wanted),
        }
    }
}
