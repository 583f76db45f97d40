//! One hash over everything that determines the PTX, except the compiler.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use cargo_metadata::Dependency;
use sha2::{Digest, Sha256};

use crate::Error;
use crate::sources::{KernelCrate, Member};

/// Changes if this file's way of hashing changes, or the way of compiling beyond the settings.
const SCHEME: &str = "cuda_builder 1";

/// Returns the hash, in hexadecimal, of the crate's sources and of its build settings.
pub fn source_hash(kernel_crate: &KernelCrate, settings: &[String]) -> Result<String, Error> {
    let mut hasher = Hasher(Sha256::new());
    hasher.add(SCHEME.as_bytes());
    hasher.add_list(settings);
    let mut members: Vec<&Member> = kernel_crate.members().iter().collect();
    members.sort_by(|a, b| (&a.package.name, a.side).cmp(&(&b.package.name, b.side)));
    for member in members {
        hasher.add_list(&manifest(member));
        let mut files = Vec::new();
        for root in member.source_roots() {
            collect(&root, &mut files)?;
        }
        let named: BTreeMap<String, PathBuf> =
            files.into_iter().map(|file| (relative_name(member.folder(), &file), file)).collect();
        for (name, file) in named {
            hasher.add(name.as_bytes());
            hasher.add(&normalised(std::fs::read(&file).map_err(Error::file(&file))?));
        }
    }
    Ok(hasher.0.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

/// A hash of a list of parts, each preceded by its length so that no two lists hash alike.
struct Hasher(Sha256);

impl Hasher {
    fn add(&mut self, part: &[u8]) {
        self.0.update((part.len() as u64).to_le_bytes());
        self.0.update(part);
    }

    fn add_list(&mut self, parts: &[String]) {
        self.add(&(parts.len() as u64).to_le_bytes());
        for part in parts {
            self.add(part.as_bytes());
        }
    }
}

/// The parts of a manifest, including those inherited from its workspace, that affect compilation.
fn manifest(member: &Member) -> Vec<String> {
    let mut lines = vec![format!("package {} for {:?}", member.package.name, member.side)];
    lines.extend(member.targets().map(|target| format!("target {} {}", target.name, target.edition)));
    lines.extend(member.package.features.iter().map(|(name, enabled)| format!("feature {name} {enabled:?}")));
    lines.extend(member.dependencies().map(dependency).collect::<BTreeSet<_>>());
    lines
}

fn dependency(dependency: &Dependency) -> String {
    let Dependency { name, rename, req, kind, optional, uses_default_features, features, .. } = dependency;
    let version = if dependency.path.is_some() { "path".to_owned() } else { req.to_string() };
    format!("{kind:?} {name} {rename:?} {version} {optional} {uses_default_features} {features:?}")
}

/// The files below `path`, or `path` itself. Hidden files belong to editors.
fn collect(path: &Path, files: &mut Vec<PathBuf>) -> Result<(), Error> {
    if !path.is_dir() {
        files.push(path.to_owned());
        return Ok(());
    }
    for entry in std::fs::read_dir(path).map_err(Error::file(path))? {
        let entry = entry.map_err(Error::file(path))?;
        // A library whose root is next to its Cargo.toml has the build folder there too.
        let skipped = entry.file_name().to_string_lossy().starts_with('.') || entry.file_name() == "target";
        if !skipped {
            collect(&entry.path(), files)?;
        }
    }
    Ok(())
}

/// The file's path relative to `folder`, the same on every system.
fn relative_name(folder: &Path, file: &Path) -> String {
    let relative = file.strip_prefix(folder).unwrap_or(file);
    let parts: Vec<_> = relative.components().map(|part| part.as_os_str().to_string_lossy()).collect();
    parts.join("/")
}

/// Text with line feeds only; anything else unchanged.
fn normalised(bytes: Vec<u8>) -> Vec<u8> {
    match String::from_utf8(bytes) {
        Ok(text) => text.replace("\r\n", "\n").into_bytes(),
        Err(error) => error.into_bytes(),
    }
}
