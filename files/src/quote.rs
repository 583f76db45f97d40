//! Excerpts of a file for errors.

/// Maximum number of bytes shown in an error.
const SHOWN: usize = 40;

/// Bytes of a file as shown in an error: in quotes, printable, and not too long.
pub(super) fn quote(bytes: &[u8]) -> String {
    if bytes.len() <= SHOWN {
        format!("'{}'", bytes.escape_ascii())
    } else {
        format!("'{}...'", bytes[..SHOWN].escape_ascii())
    }
}
