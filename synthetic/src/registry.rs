//! The list of generators and their common interface.

use std::fmt::{self, Display};
use std::ops::Range;

use host::format::Csr;
use host::real::Scalar;

use crate::Error;

/// How to specify a generator as text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Help {
    /// The name, which the text begins with.
    pub name: &'static str,
    /// The form of the text, with optional parts and their defaults in brackets.
    pub form: &'static str,
    /// What the matrix is, in a few words.
    pub about: &'static str,
}

impl Display for Help {
    /// One line: the form and what the matrix is.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}  {}", self.form, self.about)
    }
}

/// A description of a matrix that can be generated. Its `Display` is the canonical text, which
/// [`Generator`](crate::Generator) parses back to the same description.
pub trait Generate: Display + Sized {
    /// How to specify it as text, for each of its names.
    const HELP: &'static [Help];

    /// Whether its values are complex, so that no such matrix of real numbers exists.
    const COMPLEX: bool = false;

    /// Whether it is a graph generated edge by edge: [`generate_rows`](Self::generate_rows) then generates all edges,
    /// whichever rows are requested.
    const MAKES_ALL_EDGES: bool = false;

    /// Parses a description from one of the names and the text after its colon. Its numbers are not
    /// [checked](Self::check).
    ///
    /// # Errors
    /// When the text does not have the form.
    fn from_options(name: &str, text: &str) -> Result<Self, Error>;

    /// The same kind of matrix with `factor` times the rows and, approximately, the nonzeros. The result is not
    /// [checked](Self::check).
    ///
    /// # Errors
    /// When no such matrix exists.
    fn times(&self, factor: usize) -> Result<Self, Error>;

    /// Checks that the parameters describe a matrix.
    ///
    /// # Errors
    /// Names the first invalid parameter, and what is expected.
    fn check(&self) -> Result<(), Error>;

    /// Number of rows.
    fn rows(&self) -> usize;

    /// Number of columns.
    fn columns(&self) -> usize;

    /// Number of stored entries: exact where the structure is not random, otherwise an estimate.
    fn expected_nnz(&self) -> u128;

    /// Generates the matrix, with the columns of each row distinct and ascending. In parallel, O(rows + nnz).
    ///
    /// # Errors
    /// As for [`generate_rows`](Self::generate_rows).
    fn generate<T: Scalar>(&self) -> Result<Csr<T>, Error> {
        self.generate_rows(0..self.rows())
    }

    /// Generates some rows of the matrix, with all its columns: the same entries, without the others in memory. Graphs
    /// generated edge by edge generate all edges for it.
    ///
    /// # Errors
    /// When the rows do not exist, [`check`](Self::check) fails, the numbers are real and the matrix is
    /// [not](Self::COMPLEX), the arrays would be larger than [`LARGEST_BYTES`](crate::LARGEST_BYTES) or than the memory that
    /// the machine [has left](crate::available_memory), or an allocation fails.
    fn generate_rows<T: Scalar>(&self, rows: Range<usize>) -> Result<Csr<T>, Error>;

    /// How to specify it as text, by the first of its names.
    fn help(&self) -> Help {
        Self::HELP[0]
    }

    /// Bytes of the arrays that [`generate`](Self::generate) returns, as far as [`expected_nnz`](Self::expected_nnz) is
    /// right.
    fn expected_bytes<T: Scalar>(&self) -> u128 {
        csr_bytes::<T>(self.rows(), self.expected_nnz())
    }
}

/// Bytes of the arrays of a CSR matrix.
pub(crate) fn csr_bytes<T>(rows: usize, nnz: u128) -> u128 {
    let offset = if nnz <= u32::MAX.into() { 4 } else { 8 };
    nnz.saturating_mul(4 + size_of::<T>() as u128).saturating_add((rows as u128 + 1) * offset)
}

/// Checks that a type of numbers is complex.
pub(crate) fn complex_only<T: Scalar>(help: Help) -> Result<(), Error> {
    if T::COMPLEX { Ok(()) } else { Err(Error::Complex { generator: help.name }) }
}

/// Concatenates several lists.
pub(crate) const fn concat<const LENGTH: usize>(lists: &[&[Help]]) -> [Help; LENGTH] {
    let mut all = [Help { name: "", form: "", about: "" }; LENGTH];
    let (mut filled, mut list) = (0, 0);
    while list < lists.len() {
        let mut place = 0;
        while place < lists[list].len() {
            all[filled] = lists[list][place];
            filled += 1;
            place += 1;
        }
        list += 1;
    }
    all
}

/// Declares `Generator` from the list of generators, each as `file::Type`.
macro_rules! generators {
    ($($file:ident::$kind:ident),* $(,)?) => {
        $(pub use $file::$kind;)*

        /// Any of the generators. As text: the generator's name, a colon, and its parameters. With `times=N` among them
        /// the matrix has N times the rows and, approximately, the nonzeros; with `values=complex` it has complex
        /// values.
        ///
        /// ```
        /// use synthetic::{Error, Generator};
        ///
        /// let generator: Generator = "stencil:27:100".parse()?;
        /// assert_eq!(generator.to_string(), "stencil:27:100x100x100");
        /// assert_eq!(generator.expected_nnz(), 26_463_592);
        ///
        /// let generator: Generator = "banded:rows=1000,bands=3,times=16".parse()?;
        /// assert_eq!(generator.to_string(), "banded:rows=16000,bands=3,seed=0");
        ///
        /// let error = "banded:rows=100".parse::<Generator>().unwrap_err();
        /// assert_eq!(error.to_string(), "banded: no key \"bands\"; expected banded:rows=N,bands=N[,seed=0]");
        /// # Ok::<(), Error>(())
        /// ```
        #[derive(Clone, Debug, PartialEq)]
        #[non_exhaustive]
        pub enum Generator {
            $(#[doc = concat!("See [`", stringify!($kind), "`](type@", stringify!($kind), ").")] $kind($kind),)*
            /// The matrix of another generator with complex values: the entries off the diagonal are multiplied by
            /// numbers of magnitude 1 that depend only on the row and column. If that matrix is symmetric, this one is
            /// Hermitian.
            WithPhases(Box<Generator>),
        }

        impl Generator {
            /// How to specify each generator as text.
            pub const HELP: &'static [Help] = &$crate::registry::concat::<{ 0 $(+ <$kind as Generate>::HELP.len())* }>(
                &[$(<$kind as Generate>::HELP),*],
            );

            /// Whether a text begins with the name of a generator and a colon, and so is not a file name. (A file of
            /// such a name can still be given as `./NAME`.)
            pub fn is_generator_text(text: &str) -> bool {
                text.split_once(':').is_some_and(|(name, _)| Self::HELP.iter().any(|help| help.name == name))
            }

            /// Generates the matrix; see [`Generate::generate`].
            ///
            /// # Errors
            /// See [`Generate::generate`].
            pub fn generate<T: host::Scalar>(&self) -> Result<host::Csr<T>, Error> {
                self.generate_rows(0..self.rows())
            }

            /// Generates some rows of the matrix; see [`Generate::generate_rows`].
            ///
            /// ```
            /// use synthetic::{Error, Generator};
            ///
            /// let generator: Generator = "pareto:rows=3000,k=1.2".parse()?;
            /// let (whole, rows) = (generator.generate::<f64>()?, generator.generate_rows::<f64>(1500..1700)?);
            /// assert_eq!((rows.rows(), rows.columns()), (200, 3000));
            /// assert!(rows.row(7).eq(whole.row(1507)));
            /// # Ok::<(), Error>(())
            /// ```
            ///
            /// # Errors
            /// See [`Generate::generate_rows`].
            pub fn generate_rows<T: host::Scalar>(&self, rows: std::ops::Range<usize>) -> Result<host::Csr<T>, Error> {
                match self {
                    $(Self::$kind(generator) => generator.generate_rows(rows),)*
                    Self::WithPhases(generator) => {
                        $crate::registry::complex_only::<T>(generator.help())?;
                        let first = rows.start;
                        let mut matrix = generator.generate_rows(rows)?;
                        $crate::phases::turn(&mut matrix, first);
                        Ok(matrix)
                    }
                }
            }

            /// Whether its values are complex; see [`Generate::COMPLEX`].
            pub fn is_complex(&self) -> bool {
                fn of<G: Generate>(_: &G) -> bool {
                    G::COMPLEX
                }
                match self {
                    $(Self::$kind(generator) => of(generator),)*
                    Self::WithPhases(_) => true,
                }
            }

            /// Whether each range of rows takes as long as the whole; see [`Generate::MAKES_ALL_EDGES`].
            pub fn makes_all_edges(&self) -> bool {
                fn of<G: Generate>(_: &G) -> bool {
                    G::MAKES_ALL_EDGES
                }
                match self {
                    $(Self::$kind(generator) => of(generator),)*
                    Self::WithPhases(generator) => generator.makes_all_edges(),
                }
            }

            /// Number of rows.
            pub fn rows(&self) -> usize {
                match self {
                    $(Self::$kind(generator) => generator.rows(),)*
                    Self::WithPhases(generator) => generator.rows(),
                }
            }

            /// Number of columns.
            pub fn columns(&self) -> usize {
                match self {
                    $(Self::$kind(generator) => generator.columns(),)*
                    Self::WithPhases(generator) => generator.columns(),
                }
            }

            /// A larger matrix of the same kind; see [`Generate::times`].
            ///
            /// # Errors
            /// When no such matrix exists.
            pub fn times(&self, factor: usize) -> Result<Self, Error> {
                let larger = match self {
                    $(Self::$kind(generator) => Self::$kind(generator.times(factor)?),)*
                    Self::WithPhases(generator) => Self::WithPhases(Box::new(generator.times(factor)?)),
                };
                larger.check()?;
                Ok(larger)
            }

            fn from_name(name: &str, options: &str) -> Result<Self, Error> {
                $(
                    if <$kind as Generate>::HELP.iter().any(|help| help.name == name) {
                        return <$kind as Generate>::from_options(name, options).map(Self::$kind);
                    }
                )*
                let names: Vec<_> = Self::HELP.iter().map(|help| help.name).collect();
                Err(Error::Unknown { name: name.to_owned(), expected: names.join(", ") })
            }

            /// The help for the first of its generator's names.
            fn help(&self) -> Help {
                match self {
                    $(Self::$kind(generator) => generator.help(),)*
                    Self::WithPhases(generator) => generator.help(),
                }
            }

            fn check(&self) -> Result<(), Error> {
                match self {
                    $(Self::$kind(generator) => generator.check(),)*
                    Self::WithPhases(generator) => generator.check(),
                }
            }

            /// Number of stored entries; see [`Generate::expected_nnz`].
            pub fn expected_nnz(&self) -> u128 {
                match self {
                    $(Self::$kind(generator) => generator.expected_nnz(),)*
                    Self::WithPhases(generator) => generator.expected_nnz(),
                }
            }

            /// Bytes of the matrix; see [`Generate::expected_bytes`].
            pub fn expected_bytes<T: host::Scalar>(&self) -> u128 {
                match self {
                    $(Self::$kind(generator) => generator.expected_bytes::<T>(),)*
                    Self::WithPhases(generator) => generator.expected_bytes::<T>(),
                }
            }
        }

        impl std::str::FromStr for Generator {
            type Err = Error;

            fn from_str(text: &str) -> Result<Self, Error> {
                let (name, options) = text.split_once(':').unwrap_or((text, ""));
                if let Some(&help) = Self::HELP.iter().find(|help| help.name == name) {
                    let (times, options) = $crate::options::take_number(help, options, "times")?;
                    if times == Some(0) {
                        return Err($crate::options::unfit(help, "times", 0, "a whole number above 0"));
                    }
                    let (phases, options) = $crate::options::take_values(help, &options)?;
                    let mut generator = Self::from_name(name, &options)?;
                    generator.check()?;
                    if phases {
                        if generator.is_complex() {
                            let expected = "no such key, since these values are always complex";
                            return Err($crate::options::unfit(help, "values", "complex", expected));
                        }
                        generator = Self::WithPhases(Box::new(generator));
                    }
                    return times.map_or(Ok(generator.clone()), |factor| generator.times(factor));
                }
                Self::from_name(name, options)
            }
        }

        impl std::fmt::Display for Generator {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                match self {
                    $(Self::$kind(generator) => generator.fmt(f),)*
                    Self::WithPhases(generator) => {
                        let text = generator.to_string();
                        write!(f, "{text}{}values=complex", if text.ends_with(':') { "" } else { "," })
                    }
                }
            }
        }
    };
}
