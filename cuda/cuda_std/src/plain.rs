//! Arguments that a kernel takes by value.

/// A number, or several of them in one argument, with the same bytes on the host and on the GPU.
///
/// # Safety
/// The type is a number of at most 64 bits, or a struct of such numbers with `repr(C)`.
pub unsafe trait Plain: Copy + 'static {}
