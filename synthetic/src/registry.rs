//! The list of generators, and what each of them offers.

use std::fmt::{self, Display};

use host::format::Csr;
use host::real::Real;

use crate::Error;

/// How to ask for a generator in text.
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
    /// How to ask for it in text.
    const HELP: Help;

    /// A description from the text behind the name and its colon.
    ///
    /// # Errors
    /// When the text does not have the form, or [`check`](Self::check) fails.
    fn from_options(text: &str) -> Result<Self, Error>;

    /// Checks that the parameters describe a matrix.
    ///
    /// # Errors
    /// Names the first parameter that does not fit, and what is expected.
    fn check(&self) -> Result<(), Error>;

    /// Number of rows.
    fn rows(&self) -> usize;

    /// Number of columns.
    fn columns(&self) -> usize;

    /// Number of stored entries: exact where the structure is not random, otherwise about what to expect.
    fn expected_nnz(&self) -> u128;

    /// The matrix, with the columns of each row distinct and ascending. In parallel, O(rows + nnz).
    ///
    /// # Errors
    /// When [`check`](Self::check) fails, the arrays would be larger than
    /// [`LARGEST_BYTES`](crate::LARGEST_BYTES), or an allocation fails.
    fn generate<T: Real>(&self) -> Result<Csr<T>, Error>;

    /// Bytes of the arrays that [`generate`](Self::generate) makes, as far as
    /// [`expected_nnz`](Self::expected_nnz) is right.
    fn expected_bytes<T: Real>(&self) -> u128 {
        csr_bytes::<T>(self.rows(), self.expected_nnz())
    }
}

/// Bytes of the arrays of a CSR matrix.
pub(crate) fn csr_bytes<T>(rows: usize, nnz: u128) -> u128 {
    let offset = if nnz <= u32::MAX.into() { 4 } else { 8 };
    nnz.saturating_mul(4 + size_of::<T>() as u128).saturating_add((rows as u128 + 1) * offset)
}

/// Declares `Generator` from the list of generators, each as `file::Type`.
macro_rules! generators {
    ($($file:ident::$kind:ident),* $(,)?) => {
        $(pub use $file::$kind;)*

        /// Any of the generators. As text: the generator's name, a colon, and its parameters.
        ///
        /// ```
        /// use synthetic::{Error, Generator};
        ///
        /// let generator: Generator = "stencil:27:100".parse()?;
        /// assert_eq!(generator.to_string(), "stencil:27:100x100x100");
        /// assert_eq!(generator.expected_nnz(), 26_463_592);
        ///
        /// let error = "banded:rows=100".parse::<Generator>().unwrap_err();
        /// assert_eq!(error.to_string(), "banded: no key \"bands\"; expected banded:rows=N,bands=N[,seed=0]");
        /// # Ok::<(), Error>(())
        /// ```
        #[derive(Clone, Debug, PartialEq)]
        #[non_exhaustive]
        pub enum Generator {
            $(#[doc = concat!("See [`", stringify!($kind), "`](type@", stringify!($kind), ").")] $kind($kind),)*
        }

        impl Generator {
            /// How to ask for each generator in text.
            pub const HELP: &'static [Help] = &[$(<$kind as Generate>::HELP),*];

            /// Whether a text begins with the name of a generator and a colon, and so is not meant as the name
            /// of a file. (A file of such a name can still be given as `./NAME`.)
            pub fn is_generator_text(text: &str) -> bool {
                text.split_once(':').is_some_and(|(name, _)| Self::HELP.iter().any(|help| help.name == name))
            }

            /// The matrix; see [`Generate::generate`].
            ///
            /// # Errors
            /// See [`Generate::generate`].
            pub fn generate<T: host::Real>(&self) -> Result<host::Csr<T>, Error> {
                match self {
                    $(Self::$kind(generator) => generator.generate(),)*
                }
            }

            /// Number of stored entries; see [`Generate::expected_nnz`].
            pub fn expected_nnz(&self) -> u128 {
                match self {
                    $(Self::$kind(generator) => generator.expected_nnz(),)*
                }
            }

            /// Bytes of the matrix; see [`Generate::expected_bytes`].
            pub fn expected_bytes<T: host::Real>(&self) -> u128 {
                match self {
                    $(Self::$kind(generator) => generator.expected_bytes::<T>(),)*
                }
            }
        }

        impl std::str::FromStr for Generator {
            type Err = Error;

            fn from_str(text: &str) -> Result<Self, Error> {
                let (name, options) = text.split_once(':').unwrap_or((text, ""));
                $(
                    if name == <$kind as Generate>::HELP.name {
                        return <$kind as Generate>::from_options(options).map(Self::$kind);
                    }
                )*
                let forms: Vec<_> = Self::HELP.iter().map(|help| help.form).collect();
                Err(Error::Unknown { name: name.to_owned(), expected: forms.join(" or ") })
            }
        }

        impl std::fmt::Display for Generator {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                match self {
                    $(Self::$kind(generator) => generator.fmt(f),)*
                }
            }
        }
    };
}
