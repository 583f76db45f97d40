//! Extensions of file names.

use std::path::Path;

/// Whether a path ends with this extension, in upper or lower case.
pub(crate) fn has_extension(path: &Path, extension: &str) -> bool {
    let name = path.as_os_str().as_encoded_bytes();
    name.len()
        .checked_sub(extension.len())
        .is_some_and(|begin| name[begin..].eq_ignore_ascii_case(extension.as_bytes()))
}
