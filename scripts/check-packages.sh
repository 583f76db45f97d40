#!/usr/bin/env bash
# Checks that the packages work without this repository, as if from a registry:
#   scripts/check-packages.sh [--allow-dirty]
# Makes every package, unpacks all of them in target/ci/packages, and builds a program there that depends only on them:
# the example of README.md under "As a library". It runs with the library alone, which must not depend on anything of
# the command, and is also checked with the feature `command`, and with the feature `cuda`, for which CUDA_LIBRARY_PATH
# names the folder of the driver's library (by default, a stub is made). Arguments are passed to `cargo package`.
set -euo pipefail

cd "$(dirname "$0")/.."
folder=$PWD/target/ci/packages
program=$folder/program
export CARGO_TARGET_DIR=$folder/target

rm -rf "$CARGO_TARGET_DIR/package" "$folder/unpacked" "$program"
mkdir -p "$folder/unpacked" "$program/src"
log=$folder/package.log
# Cargo warns about each file that a package leaves out on purpose.
if ! cargo package --workspace --no-verify --locked "$@" >"$log" 2>&1; then
    sed -n '/^error/,$p' "$log" >&2
    exit 1
fi

patches=() version=""
for archive in "$CARGO_TARGET_DIR"/package/*.crate; do
    # All files of a package have the same old time stamp, so cargo would take them for those of the last run.
    tar -x -z --touch -f "$archive" -C "$folder/unpacked"
    stem=$(basename "$archive" .crate)
    name=${stem%-*}
    patches+=("$name = { path = \"../unpacked/$stem\" }")
    [[ $name != warp-spmv ]] || version=${stem##*-}
done
[[ -n $version ]] || { echo "$0: cargo did not make a package warp-spmv" >&2; exit 1; }

cat >"$program/Cargo.toml" <<END
[package]
name = "library-user"
edition = "2024"
publish = false

[features]
command = ["warp-spmv/command"]
cuda = ["warp-spmv/cuda"]

[dependencies]
warp-spmv = { version = "=$version", default-features = false }

[workspace]

[profile.dev]
debug = false

[patch.crates-io]
$(printf '%s\n' "${patches[@]}")
END
# The fenced block after the line "<!-- library example -->".
awk '/^<!-- library example -->/ { marked = 1; next }
    marked && /^```/ { if (inside) exit; inside = 1; next }
    inside { print }' README.md >"$program/src/main.rs"
[[ -s $program/src/main.rs ]] || { echo "$0: README.md has no library example" >&2; exit 1; }
# External crates must have the versions that the rest is tested with.
cp Cargo.lock "$program/Cargo.lock"

at=(--manifest-path "$program/Cargo.toml")
tree=$(cargo tree --quiet "${at[@]}" --edges normal --prefix none --no-dedupe --format '{p}' | sort -u)
if grep -E '^(clap|indicatif|plotters|signal-hook|terminal_size|warp-spmv-lab) ' <<<"$tree"; then
    echo "$0: the library alone depends on these" >&2
    exit 1
fi
cargo run --quiet --locked "${at[@]}"
cargo check --quiet --locked "${at[@]}" --features command
if [[ -z ${CUDA_LIBRARY_PATH:-} ]]; then
    export CUDA_LIBRARY_PATH=$folder/cuda-stub
    scripts/cuda-stub.sh "$CUDA_LIBRARY_PATH"
fi
cargo check --quiet --locked "${at[@]}" --features cuda
echo "${#patches[@]} packages; the library alone is $(grep -vc '^library-user ' <<<"$tree") crates"
