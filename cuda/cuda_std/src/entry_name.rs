//! A type's name in the name of a kernel's entry point.

/// A type that a kernel's entry points are named after.
pub trait EntryName {
    /// Letters and digits.
    const ENTRY_NAME: &'static str;
}

macro_rules! entry_names {
    ($($type:ident)*) => {
        $(
            impl EntryName for $type {
                const ENTRY_NAME: &'static str = stringify!($type);
            }
        )*
    };
}

entry_names!(u32 u64 f32 f64);
