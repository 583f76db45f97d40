//! The number types of matrices and vectors in files.

use crate::matrix_market::value::Value;
use crate::text::Text;
use host::Scalar;

/// A number type of values in files: `f32`, `f64`, or complex numbers of either.
pub trait Number: Scalar<Real: Text> + Value {}

impl<T: Scalar<Real: Text> + Value> Number for T {}

/// The error where real numbers are expected.
pub const COMPLEX_VALUES: &str = "the values are complex, expected real ones";
