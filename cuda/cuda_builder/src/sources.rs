//! The crates that a device build compiles from this disk: the kernel crate and its path dependencies.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};

use cargo_metadata::semver::Version;
use cargo_metadata::{Dependency, DependencyKind, MetadataCommand, Package, Target, TargetKind, cargo_platform};

use crate::Error;

/// The target for which kernels are compiled.
pub const TARGET: &str = "nvptx64-nvidia-cuda";

/// The output of `rustc --print cfg --target nvptx64-nvidia-cuda`. It is written down here because the hash must be
/// available without a compiler.
const TARGET_CFG: [&str; 13] = [
    "panic=\"abort\"",
    "target_abi=\"\"",
    "target_arch=\"nvptx64\"",
    "target_endian=\"little\"",
    "target_env=\"\"",
    "target_has_atomic=\"8\"",
    "target_has_atomic=\"16\"",
    "target_has_atomic=\"32\"",
    "target_has_atomic=\"64\"",
    "target_has_atomic=\"ptr\"",
    "target_os=\"cuda\"",
    "target_pointer_width=\"64\"",
    "target_vendor=\"nvidia\"",
];

/// The kernel crate and its crates on this disk.
pub struct KernelCrate {
    workspace_root: PathBuf,
    members: Vec<Member>,
}

impl KernelCrate {
    /// Reads the manifests, starting with the one in the folder `path`. Needs no network and no compiler.
    pub fn load(path: &Path) -> Result<Self, Error> {
        let mut manifests = Manifests::default();
        let (root, workspace_root) = manifests.package(&resolve(path)?)?;
        if !root.targets.iter().any(|target| target.is_kind(TargetKind::Lib)) {
            return Err(Error::KernelCrate { path: path.to_owned(), reason: "it has no library of kind 'lib'" });
        }
        let mut members: Vec<Member> = Vec::new();
        let mut queue = VecDeque::from([Member { package: root, side: Side::Device }]);
        while let Some(member) = queue.pop_front() {
            if members.contains(&member) {
                continue;
            }
            for dependency in member.dependencies() {
                let Some(folder) = &dependency.path else { continue };
                let (package, _) = manifests.package(folder.as_std_path())?;
                let proc_macro = package.targets.iter().any(|target| target.is_kind(TargetKind::ProcMacro));
                let for_host = member.side == Side::Host || proc_macro || dependency.kind == DependencyKind::Build;
                queue.push_back(Member { package, side: if for_host { Side::Host } else { Side::Device } });
            }
            members.push(member);
        }
        Ok(Self { workspace_root, members })
    }

    /// The name of the kernel crate's package.
    pub fn name(&self) -> &str {
        &self.members[0].package.name
    }

    /// The folder of the kernel crate.
    pub fn folder(&self) -> &Path {
        self.members[0].folder()
    }

    /// The folder of its workspace.
    pub fn workspace_root(&self) -> &Path {
        &self.workspace_root
    }

    /// The kernel crate, followed by its dependencies.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// The oldest Rust with which all of them compile, if their manifests specify one.
    pub fn oldest_rust(&self) -> Option<&Version> {
        self.members.iter().filter_map(|member| member.package.rust_version.as_ref()).max()
    }

    /// The paths that cargo must watch: the folders and files that the hash covers.
    pub fn watched(&self) -> BTreeSet<PathBuf> {
        // The workspace's manifest is included for what the others inherit from it.
        let mut paths = BTreeSet::from([self.workspace_root.join("Cargo.toml")]);
        for member in &self.members {
            paths.insert(member.package.manifest_path.clone().into());
            paths.extend(member.source_roots());
        }
        paths
    }

    /// `path` as shown to the user: relative to the workspace's folder.
    pub fn shown(&self, path: &Path) -> String {
        path.strip_prefix(&self.workspace_root).unwrap_or(path).display().to_string()
    }
}

/// The platform for which a crate is compiled: the GPU or, for a procedural macro or a build script, the compiling
/// machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    Device,
    Host,
}

/// A crate of a device build.
#[derive(PartialEq)]
pub struct Member {
    pub package: Package,
    pub side: Side,
}

impl Member {
    /// The folder of its manifest.
    pub fn folder(&self) -> &Path {
        folder(&self.package)
    }

    /// Its library and its build script, if they exist.
    pub fn targets(&self) -> impl Iterator<Item = &Target> {
        let kinds = [TargetKind::Lib, TargetKind::RLib, TargetKind::ProcMacro, TargetKind::CustomBuild];
        self.package.targets.iter().filter(move |target| target.kind.iter().any(|kind| kinds.contains(kind)))
    }

    /// The folder that holds the library's sources, and the build script.
    pub fn source_roots(&self) -> impl Iterator<Item = PathBuf> {
        self.targets().map(|target| match target.src_path.parent() {
            Some(folder) if !target.is_kind(TargetKind::CustomBuild) => folder.into(),
            _ => target.src_path.clone().into(),
        })
    }

    /// The dependencies in the device build, including optional ones.
    pub fn dependencies(&self) -> impl Iterator<Item = &Dependency> {
        self.package.dependencies.iter().filter(|dependency| {
            let applies = match (&dependency.target, self.side) {
                // Host dependencies are all taken, so that the hash is the same on every host.
                (None, _) | (_, Side::Host) => true,
                (Some(platform), Side::Device) => platform.matches(TARGET, &target_cfg()),
            };
            applies && matches!(dependency.kind, DependencyKind::Normal | DependencyKind::Build)
        })
    }
}

fn target_cfg() -> Vec<cargo_platform::Cfg> {
    TARGET_CFG.iter().map(|cfg| cfg.parse().expect("the constant is in rustc's own format")).collect()
}

fn folder(package: &Package) -> &Path {
    package.manifest_path.parent().unwrap_or(&package.manifest_path).as_std_path()
}

/// `path` without links and `..`. Its last parts need not exist.
pub fn resolve(path: &Path) -> Result<PathBuf, Error> {
    let absolute = std::path::absolute(path).map_err(Error::file(path))?;
    for existing in absolute.ancestors() {
        if let (Ok(real), Ok(rest)) = (existing.canonicalize(), absolute.strip_prefix(existing)) {
            return Ok(if rest.as_os_str().is_empty() { real } else { real.join(rest) });
        }
    }
    Ok(absolute)
}

/// Manifests by folder. One call of cargo reads a whole workspace.
#[derive(Default)]
struct Manifests(BTreeMap<PathBuf, (Package, PathBuf)>);

impl Manifests {
    /// The package whose manifest is in `folder`, and the folder of its workspace.
    fn package(&mut self, at: &Path) -> Result<(Package, PathBuf), Error> {
        if let Some(found) = self.0.get(at) {
            return Ok(found.clone());
        }
        let metadata = MetadataCommand::new()
            .manifest_path(at.join("Cargo.toml"))
            .no_deps()
            .exec()
            .map_err(|source| Error::Manifest { path: at.to_owned(), source })?;
        for package in metadata.packages {
            self.0.insert(folder(&package).to_owned(), (package, metadata.workspace_root.clone().into()));
        }
        let missing = || Error::KernelCrate { path: at.to_owned(), reason: "its Cargo.toml is not that of a package" };
        self.0.get(at).cloned().ok_or_else(missing)
    }
}
