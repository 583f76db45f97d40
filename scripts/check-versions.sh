#!/usr/bin/env bash
# Checks that the public interfaces fit the version numbers, against the last release:
#   scripts/check-versions.sh [REVISION]
# The release is the newest tag v*, if there is one. With a revision, the comparison is with that.
# CARGO_SEMVER_CHECKS names the program cargo-semver-checks; without it, the one of cargo is taken.
set -euo pipefail

cd "$(dirname "$0")/.."
baseline=${1:-$(git describe --tags --match 'v*' --abbrev=0 2>/dev/null || true)}
if [[ -z $baseline ]]; then
    echo "no release so far: there is nothing to be compatible with"
    exit 0
fi
# The crates whose interface the facade passes on. The others are tools, or procedural macros.
crates=(warp-spmv warp-spmv-host warp-spmv-files warp-spmv-solvers warp-spmv-distributed warp-spmv-synthetic)
command=(cargo)
[[ -z ${CARGO_SEMVER_CHECKS:-} ]] || command=("$CARGO_SEMVER_CHECKS")
# Without features: some need the driver's library, an MPI or METIS to be built.
"${command[@]}" semver-checks --baseline-rev "$baseline" --only-explicit-features \
    "${crates[@]/#/--package=}"
