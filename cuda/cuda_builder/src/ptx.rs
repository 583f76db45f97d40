//! PTX files and the comment lines at the top of them, or of an archive's index.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::{Architecture, Error, archive};

/// A file of PTX that is up to date with the kernel sources.
#[derive(Clone, Debug)]
pub struct PtxFile {
    /// Absolute path of the file.
    pub path: PathBuf,
    /// Whether it was already there or compiled by this call.
    pub origin: Origin,
    /// Whether this call wrote it. A file with identical contents is not rewritten.
    pub written: bool,
    /// The header in its first lines.
    pub header: Header,
}

/// The origin of a PTX file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// It was committed next to the kernels.
    Committed,
    /// It was compiled by this call.
    Compiled,
}

/// The comment lines at the top of a PTX file, or of an archive's index. `Display` writes those lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The kernel crate.
    pub crate_name: String,
    /// The architecture of the PTX; later ones can run it too.
    pub architecture: Architecture,
    /// SHA-256 of the kernel sources and the build settings, in hexadecimal.
    pub source_hash: String,
    /// The compiler that produced it.
    pub compiler: String,
    /// The command that regenerates the file.
    pub regenerate: String,
}

impl Header {
    /// Reads the header of a PTX file; `None` if it is missing or incomplete.
    pub fn parse(ptx: &str) -> Option<Self> {
        let field = |key: &str| {
            let mut lines = ptx.lines().map_while(|line| line.strip_prefix("// "));
            lines.find_map(|line| line.strip_prefix(key)?.strip_prefix(": ")).map(str::to_owned)
        };
        Some(Self {
            crate_name: field("crate")?,
            architecture: field("architecture")?.parse().ok()?,
            source_hash: field("source hash")?,
            compiler: field("compiler")?,
            regenerate: field("regenerate")?,
        })
    }
}

impl fmt::Display for Header {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { crate_name, architecture, source_hash, compiler, regenerate } = self;
        writeln!(formatter, "// Generated from Rust by cuda_builder. Do not edit.")?;
        writeln!(formatter, "// crate: {crate_name}")?;
        writeln!(formatter, "// architecture: {architecture}")?;
        writeln!(formatter, "// source hash: {source_hash}")?;
        writeln!(formatter, "// compiler: {compiler}")?;
        writeln!(formatter, "// regenerate: {regenerate}")
    }
}

/// The reason why a committed PTX file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Staleness {
    #[error("is not committed anywhere")]
    NotCommitted,
    #[error("does not exist")]
    Missing,
    #[error("cannot be read ({0})")]
    Unreadable(std::io::Error),
    #[error("lacks the header that identifies its sources")]
    NoHeader,
    #[error("holds no kernel")]
    NoKernel,
    #[error("is stale (from sources {found:.12}, now they are {expected:.12})")]
    OtherSources { found: String, expected: String },
}

/// The form of a PTX file: text, or an archive by families.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Text,
    Archive,
}

impl Form {
    /// The extension of such a file.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Text => "ptx",
            Self::Archive => "zip",
        }
    }
}

/// Reads the committed file and compares it with the current hash of the sources.
pub fn read_committed(path: &Path, form: Form, source_hash: &str) -> Result<PtxFile, Staleness> {
    let bytes = std::fs::read(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => Staleness::Missing,
        _ => Staleness::Unreadable(error),
    })?;
    let unreadable =
        |error: Box<dyn std::error::Error + Send + Sync>| Staleness::Unreadable(std::io::Error::other(error));
    let text = match form {
        Form::Text => String::from_utf8(bytes).map_err(|error| unreadable(error.into()))?,
        Form::Archive => archive::index(&bytes).map_err(|error| unreadable(error.into()))?,
    };
    let header = Header::parse(&text).ok_or(Staleness::NoHeader)?;
    if header.source_hash != source_hash {
        return Err(Staleness::OtherSources { found: header.source_hash, expected: source_hash.to_owned() });
    }
    let has_kernel = match form {
        Form::Text => has_kernel(&text),
        Form::Archive => text.lines().any(|line| !line.starts_with("//")),
    };
    if !has_kernel {
        return Err(Staleness::NoKernel);
    }
    Ok(PtxFile { path: path.to_owned(), origin: Origin::Committed, written: false, header })
}

/// Whether the PTX contains a kernel that a host can launch.
pub fn has_kernel(ptx: &str) -> bool {
    ptx.lines().any(|line| line.starts_with(".visible .entry"))
}

/// Writes the file atomically, unless it already has those contents. Returns whether it wrote.
pub fn write(path: &Path, contents: &[u8]) -> Result<bool, Error> {
    if std::fs::read(path).is_ok_and(|old| old == contents) {
        return Ok(false);
    }
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(Error::file(folder))?;
    }
    let temporary = path.with_extension(format!("ptx.{}", std::process::id()));
    let written = std::fs::write(&temporary, contents).and_then(|()| std::fs::rename(&temporary, path));
    if written.is_err() {
        // Best effort: the first error is the one that matters.
        let _ = std::fs::remove_file(&temporary);
    }
    written.map(|()| true).map_err(Error::file(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> Header {
        Header {
            crate_name: "kernels".into(),
            architecture: "sm_90".parse().unwrap(),
            source_hash: "0123abcd".repeat(8),
            compiler: "rustc 1.96.0, LLVM 22.1.8".into(),
            regenerate: "X=1 cargo build: all of it".into(),
        }
    }

    #[test]
    fn a_header_survives_writing_and_reading() {
        let text = format!("{}//\n// architecture: sm_10\n.version 7.8\n", header());
        assert_eq!(Header::parse(&text), Some(header()));
        assert_eq!(Header::parse(&text.replace('\n', "\r\n")), Some(header()));
    }

    #[test]
    fn an_incomplete_header_is_none() {
        let text = header().to_string();
        for lost in ["crate", "architecture", "source hash", "compiler", "regenerate"] {
            assert_eq!(Header::parse(&text.replace(&format!("// {lost}: "), "// other: ")), None, "{lost}");
        }
        assert_eq!(Header::parse(&text.replace("sm_90", "sm_")), None);
        assert_eq!(Header::parse(&format!(".version 7.8\n{text}")), None);
        assert_eq!(Header::parse(""), None);
    }

    #[test]
    fn committed_files_are_judged() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/kernels.sm_90.ptx");
        let hash = header().source_hash;
        assert!(matches!(read_committed(&path, Form::Text, &hash), Err(Staleness::Missing)));

        let text = format!("{}.visible .entry k() {{ ret; }}\n", header());
        assert!(write(&path, text.as_bytes()).unwrap(), "a missing file was not written");
        assert!(!write(&path, text.as_bytes()).unwrap(), "identical text was written again");
        let file = read_committed(&path, Form::Text, &hash).unwrap();
        assert_eq!((file.origin, file.written, file.header), (Origin::Committed, false, header()));
        assert!(matches!(read_committed(&path, Form::Text, "other"), Err(Staleness::OtherSources { .. })));
        assert_eq!(std::fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "a temporary file is left");

        write(&path, header().to_string().as_bytes()).unwrap();
        assert!(matches!(read_committed(&path, Form::Text, &hash), Err(Staleness::NoKernel)));
        write(&path, b".visible .entry k() { ret; }\n").unwrap();
        assert!(matches!(read_committed(&path, Form::Text, &hash), Err(Staleness::NoHeader)));
        std::fs::write(&path, b"\xff").unwrap();
        assert!(matches!(read_committed(&path, Form::Text, &hash), Err(Staleness::Unreadable(_))));
        assert!(matches!(read_committed(&path, Form::Archive, &hash), Err(Staleness::Unreadable(_))));

        write(&path, &archive::pack(&header().to_string(), &text).unwrap()).unwrap();
        assert_eq!(read_committed(&path, Form::Archive, &hash).unwrap().header, header());
        assert!(matches!(read_committed(&path, Form::Archive, "other"), Err(Staleness::OtherSources { .. })));
        write(&path, &archive::pack(&header().to_string(), ".version 7.8\n").unwrap()).unwrap();
        assert!(matches!(read_committed(&path, Form::Archive, &hash), Err(Staleness::NoKernel)));
    }
}
