//! What can go wrong, and where.

/// An error of this crate. Each message is one line that says what was wrong, where, and what is expected.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The text does not name a generator.
    #[error("unknown generator {name:?}: expected one of {expected}")]
    Unknown {
        /// The name as given.
        name: String,
        /// The names of all generators.
        expected: String,
    },
    /// A generator's text does not have the generator's form.
    #[error("{generator}: {reason}; expected {form}")]
    Text {
        /// The named generator.
        generator: &'static str,
        /// What is wrong, and at which key.
        reason: String,
        /// The expected form of the text.
        form: &'static str,
    },
    /// A parameter has an unusable value.
    #[error("{generator}: {parameter} is {value:?}, expected {expected}")]
    Parameter {
        /// The generator.
        generator: &'static str,
        /// The parameter's key.
        parameter: &'static str,
        /// Its value, as given.
        value: String,
        /// The accepted values.
        expected: String,
    },
    /// Real numbers were requested, but the generator produces complex ones.
    #[error("{generator}: the values are complex, expected real ones")]
    Complex {
        /// The generator.
        generator: &'static str,
    },
    /// The matrix would not fit into the machine's available memory.
    #[error("the matrix takes about {bytes} bytes to generate, but only {available} bytes of memory are available")]
    Memory {
        /// Number of bytes required.
        bytes: u128,
        /// Number of bytes available.
        available: u128,
    },
    /// The matrix could not be created: too large, or out of memory.
    #[error(transparent)]
    Matrix(#[from] host::Error),
}
