//! What can go wrong, and where.

/// An error of this crate. Each message is one line and says what was wrong, where, and what is expected.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A text that names none of the generators.
    #[error("unknown generator {name:?}: expected one of {expected}")]
    Unknown {
        /// The name as given.
        name: String,
        /// The names of all generators.
        expected: String,
    },
    /// A generator's text is not of the generator's form.
    #[error("{generator}: {reason}; expected {form}")]
    Text {
        /// The generator that was named.
        generator: &'static str,
        /// What is wrong, at which key.
        reason: String,
        /// The form that the text should have.
        form: &'static str,
    },
    /// A parameter has a value that no matrix can be made of.
    #[error("{generator}: {parameter} is {value:?}, expected {expected}")]
    Parameter {
        /// The generator whose parameter it is.
        generator: &'static str,
        /// The parameter, by the name of its key.
        parameter: &'static str,
        /// Its value, as given.
        value: String,
        /// Which values work.
        expected: String,
    },
    /// Real numbers are asked for, and the generator makes complex ones.
    #[error("{generator}: the values are complex, expected real ones")]
    Complex {
        /// The generator.
        generator: &'static str,
    },
    /// The matrix would not fit into the memory that the machine has left.
    #[error("the matrix takes about {bytes} bytes to generate, and {available} bytes of memory are available")]
    Memory {
        /// Bytes that it would take.
        bytes: u128,
        /// Bytes that there are.
        available: u128,
    },
    /// The matrix could not be made: too large, or out of memory.
    #[error(transparent)]
    Matrix(#[from] host::Error),
}
