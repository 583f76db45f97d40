//! A type's name in the name of a kernel's entry point.

/// A type that a kernel's entry points are named after.
///
/// # Safety
/// The name has at least one letter, and letters and digits only. No two types have the same name: a kernel with this type as a generic parameter is launched by the entry point of
/// this name, which was compiled for this very type.
pub unsafe trait EntryName {
    /// Letters and digits.
    const ENTRY_NAME: &'static str;
}

macro_rules! entry_names {
    ($($type:ident)*) => {
        $(
            // SAFETY: each of these types is named after itself.
            unsafe impl EntryName for $type {
                const ENTRY_NAME: &'static str = stringify!($type);
            }
        )*
    };
}

entry_names!(u32 u64 f32 f64);
