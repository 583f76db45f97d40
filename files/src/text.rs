//! Real numbers as text.

use host::Real;

/// A real number type with a text form.
pub trait Text: Real {
    /// The longest prefix of a text that is a decimal number, infinity or NaN, rounded to the nearest, and its length
    /// in bytes.
    fn parse_prefix(text: &[u8]) -> Option<(Self, usize)>;

    /// Appends the shortest text that reads back as the same number, including `-0.0`, `inf`, `-inf` and `NaN`.
    fn append_to(self, text: &mut Vec<u8>);
}

macro_rules! numbers {
    ($($type:ty)*) => {
        $(impl Text for $type {
            fn parse_prefix(text: &[u8]) -> Option<(Self, usize)> {
                fast_float2::parse_partial(text).ok()
            }

            fn append_to(self, text: &mut Vec<u8>) {
                text.extend_from_slice(zmij::Buffer::new().format(self).as_bytes());
            }
        })*
    };
}
numbers!(f32 f64);
