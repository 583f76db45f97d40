//! A type's name in the name of a kernel's entry point.

/// A type after which a kernel's entry points are named.
///
/// # Safety
/// The name is not empty, and has only letters and digits, at least one of them a letter. No two types have the same
/// name: a kernel with this type as a generic parameter is launched by the entry point of this name, which was compiled
/// for this very type.
pub unsafe trait EntryName {
    /// The name: letters and digits.
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
