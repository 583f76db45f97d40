//! A matrix apart from its arrays.

use crate::binary::ElementType;

/// What a container says of a matrix apart from its arrays.
#[derive(Clone, Copy)]
pub(super) struct Summary {
    pub rows: usize,
    pub columns: usize,
    pub stored: usize,
    /// Type of the values.
    pub values: ElementType,
    /// Bytes of an offset, 0 in a format that has none.
    pub offset_width: usize,
}
