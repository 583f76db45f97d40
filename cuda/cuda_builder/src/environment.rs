//! The environment of the build script, and the parts of it that the device compiler must not see.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::Command;

use crate::Error;

/// Prefixes of the names that describe the outer build.
const REMOVED: [&str; 9] = [
    "CARGO",
    "CLIPPY_",
    "MAKEFLAGS",
    "MFLAGS",
    "RUSTC",
    "RUSTDOC",
    "RUSTFLAGS",
    "RUSTUP_TOOLCHAIN",
    "RUST_RECURSION_COUNT",
];
/// Prefixes of names that are kept nevertheless: they configure the locations of files and the network.
const KEPT: [&str; 6] =
    ["CARGO_HOME", "CARGO_HTTP_", "CARGO_NET_", "CARGO_REGISTRIES_", "CARGO_REGISTRY_", "CARGO_SOURCE_"];
/// An outer cargo adds its own toolchain's libraries to these.
const LIBRARY_PATHS: [&str; 3] = ["LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "DYLD_FALLBACK_LIBRARY_PATH"];

/// The value of a variable; empty counts as unset.
pub fn variable(name: &'static str) -> Result<Option<String>, Error> {
    match std::env::var(name) {
        Ok(value) if value.is_empty() => Ok(None),
        Ok(value) => Ok(Some(value)),
        Err(std::env::VarError::NotPresent) => Ok(None),
        Err(std::env::VarError::NotUnicode(value)) => {
            Err(Error::Setting { variable: name, value: value.to_string_lossy().into_owned(), expected: "Unicode" })
        }
    }
}

/// Removes from the command's environment what an outer cargo, rustup or clippy has set.
pub fn scrub(command: &mut Command) {
    for (name, value) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if belongs_to_outer_build(&text) {
            command.env_remove(&name);
        } else if LIBRARY_PATHS.contains(&&*text) {
            match without_toolchains(&value) {
                Some(paths) => command.env(&name, paths),
                None => command.env_remove(&name),
            };
        }
    }
}

fn belongs_to_outer_build(name: &str) -> bool {
    REMOVED.iter().any(|prefix| name.starts_with(prefix)) && !KEPT.iter().any(|prefix| name.starts_with(prefix))
}

/// The search path without the folders of Rust toolchains; `None` if nothing is left.
fn without_toolchains(paths: &OsStr) -> Option<OsString> {
    let of_a_toolchain =
        |path: &Path| path.join("rustlib").is_dir() || path.components().any(|part| part.as_os_str() == "rustlib");
    let kept: Vec<_> = std::env::split_paths(paths).filter(|path| !of_a_toolchain(path)).collect();
    if kept.is_empty() { None } else { std::env::join_paths(kept).ok() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_outer_build_is_told_from_the_users_settings() {
        for name in [
            "CARGO",
            "CARGO_ENCODED_RUSTFLAGS",
            "CARGO_TARGET_DIR",
            "CARGO_BUILD_TARGET",
            "CARGO_PROFILE_RELEASE_OPT_LEVEL",
            "CARGO_MAKEFLAGS",
            "RUSTFLAGS",
            "RUSTC",
            "RUSTC_WRAPPER",
            "RUSTC_WORKSPACE_WRAPPER",
            "RUSTDOCFLAGS",
            "RUSTUP_TOOLCHAIN",
            "CLIPPY_ARGS",
        ] {
            assert!(belongs_to_outer_build(name), "{name}");
        }
        for name in ["PATH", "HOME", "CARGO_HOME", "CARGO_HTTP_PROXY", "CARGO_NET_OFFLINE", "RUSTUP_HOME", "TMPDIR"] {
            assert!(!belongs_to_outer_build(name), "{name}");
        }
    }

    #[test]
    fn library_paths_lose_toolchains_only() {
        let toolchain = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(toolchain.path().join("lib/rustlib/x86_64-unknown-linux-gnu/lib")).unwrap();
        let own = toolchain.path().join("own");
        let paths = [
            toolchain.path().join("lib"),
            own.clone(),
            toolchain.path().join("lib/rustlib/x86_64-unknown-linux-gnu/lib"),
        ];
        let joined = std::env::join_paths(&paths).unwrap();
        assert_eq!(without_toolchains(&joined), Some(own.into_os_string()));
        assert_eq!(without_toolchains(paths[0].as_os_str()), None);
    }
}
