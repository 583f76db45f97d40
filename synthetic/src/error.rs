//! What can go wrong, and where.

/// An error of this crate. Each message is one line and says what was wrong, where, and what is expected.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A text that names none of the generators.
    #[error("unknown generator {name:?}: expected {expected}")]
    Unknown {
        /// The name as given.
        name: String,
        /// The forms of all generators.
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
    /// The matrix could not be made: too large, or out of memory.
    #[error(transparent)]
    Matrix(#[from] host::Error),
}
