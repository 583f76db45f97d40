//! A matrix without its arrays.

use crate::binary::ElementType;

/// A container's description of a matrix without its arrays.
#[derive(Clone, Copy)]
pub(super) struct Summary {
    pub rows: usize,
    pub columns: usize,
    pub stored: usize,
    /// Type of the values.
    pub values: ElementType,
    /// Bytes per offset; 0 in a format without offsets.
    pub offset_width: usize,
}
