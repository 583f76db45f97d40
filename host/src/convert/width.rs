//! The same launch for offsets of either width.

/// Evaluates an expression with the array of offsets of either width.
macro_rules! each_width {
    ($offsets:expr, $array:ident => $result:expr) => {
        match $offsets {
            crate::format::Offsets::Narrow($array) => $result,
            crate::format::Offsets::Wide($array) => $result,
        }
    };
}
pub(crate) use each_width;

/// Makes offsets of the same width: the expression returns the new array.
macro_rules! same_width {
    ($offsets:expr, $array:ident => $result:expr) => {
        match $offsets {
            crate::format::Offsets::Narrow($array) => crate::format::Offsets::Narrow($result),
            crate::format::Offsets::Wide($array) => crate::format::Offsets::Wide($result),
        }
    };
}
pub(crate) use same_width;
