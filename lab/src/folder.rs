//! A folder of matrices with a list of their families, as made by `scripts/real-matrices.py`.

use std::path::{Component, Path, PathBuf};

use host::small_file::read_text;
use serde::Deserialize;

use crate::error::{Error, Fault};

/// The list.
const LIST: &str = "matrices.json";

/// Largest size of a list in bytes.
const LARGEST_LIST: u64 = 1 << 24;

/// The required properties of a matrix in a list.
#[derive(Deserialize)]
struct Listed {
    /// The name of its file, without the extension.
    name: String,
    family: String,
}

/// A matrix of a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// The family of the matrix.
    pub family: String,
    /// The file.
    pub path: PathBuf,
}

/// Returns the matrices that a folder lists.
///
/// # Errors
/// When the list cannot be read, is invalid, or names something that is not in the folder.
pub fn matrices(folder: &Path) -> Result<Vec<Stored>, Error> {
    let list = folder.join(LIST);
    let text = read_text(&list, LARGEST_LIST).map_err(|source| Error::File { path: list.clone(), source })?;
    let listed: Vec<Listed> = serde_json::from_str(&text).map_err(|error| Fault::from(error).in_file(&list))?;
    let stored = |Listed { name, family }: Listed| {
        let mut parts = Path::new(&name).components();
        if !matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None)) {
            let reason = format!("'{name}' is not the name of a matrix in the folder");
            return Err(Fault::from(reason).in_file(&list));
        }
        Ok(Stored { family, path: folder.join(format!("{name}.npz")) })
    };
    listed.into_iter().map(stored).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_and_refused() {
        let folder = std::env::temp_dir().join(format!("warp-spmv-folder-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let read = |text: &str| {
            std::fs::write(folder.join(LIST), text).unwrap();
            matrices(&folder)
        };
        let two = r#"[{"name": "a-small", "family": "points", "rows": 3}, {"name": "b", "family": "multigrid"}]"#;
        let stored = |family: &str, name| Stored { family: family.into(), path: folder.join(name) };
        assert_eq!(read(two).unwrap(), [stored("points", "a-small.npz"), stored("multigrid", "b.npz")]);
        assert_eq!(read("[]").unwrap(), []);
        for (text, reason) in [
            (r#"[{"name": "../a", "family": "points"}]"#, ":1:1: '../a' is not the name of a matrix in the folder"),
            (r#"[{"name": "/a", "family": "points"}]"#, ":1:1: '/a' is not the name of a matrix in the folder"),
            (r#"[{"name": "", "family": "points"}]"#, ":1:1: '' is not the name of a matrix in the folder"),
            ("[\n{\"name\": \"a\"}]", ":2:13: missing field `family`"),
            ("{}", ":1:1: invalid type: map, expected a sequence"),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.ends_with(reason), "{error}");
        }
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(matches!(matrices(&folder), Err(Error::File { path, .. }) if path.ends_with(LIST)));
    }
}
