//! The number types of matrices and vectors in files.

use crate::matrix_market::value::Value;
use crate::text::Text;

/// A real number type that files hold.
pub trait Number: Text + Value {}

impl<T: Text + Value> Number for T {}
