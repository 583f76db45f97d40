//! Parts of a file as errors show them.

/// Bytes that an error shows.
const SHOWN: usize = 40;

/// Bytes of a file as an error shows them: in quotes, printable, and not too long.
pub(super) fn quote(bytes: &[u8]) -> String {
    if bytes.len() <= SHOWN {
        format!("'{}'", bytes.escape_ascii())
    } else {
        format!("'{}...'", bytes[..SHOWN].escape_ascii())
    }
}
