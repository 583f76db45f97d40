#!/usr/bin/env bash
# What a release needs, one step after another; stops at the first that fails, and publishes nothing:
#   scripts/release.sh VERSION
# The steps that remain for a person are printed at the end.
set -euo pipefail

cd "$(dirname "$0")/.."
version=${1:?usage: scripts/release.sh VERSION}
step() { printf '\n== %s\n' "$1"; }
fail() {
    printf '%s: %s\n' "$0" "$1" >&2
    exit 1
}

step "the tree"
[[ -z $(git status --porcelain) ]] || fail "there are changes that are not committed"
git rev-parse --quiet --verify "refs/tags/v$version" >/dev/null && fail "the tag v$version exists"

step "versions"
stated=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"$/\1/p' Cargo.toml)
[[ $stated == "$version" ]] || fail "Cargo.toml: the version is $stated, expected $version"
others=$(grep -E '^[a-zA-Z_-]+ = \{ package = "warp-spmv' Cargo.toml | grep -v "version = \"$version\"" || true)
[[ -z $others ]] || fail "Cargo.toml: dependencies of another version: $others"
grep -q "^version = \"$version\"$" python/pyproject.toml || grep -q '^dynamic = .*version' python/pyproject.toml ||
    fail "python/pyproject.toml: the version is not $version"
grep -q "^## $version" CHANGELOG.md || fail "CHANGELOG.md has no section '## $version'"

step "compatibility with the last release"
scripts/check-versions.sh

step "words and numbers"
scripts/check-prose.py

step "packages"
scripts/check-packages.sh
cargo publish --workspace --dry-run --no-verify --locked

step "everything else"
.ci/run

cat <<END

Every check that needs no GPU passed. What remains:
- on a machine with a GPU: cargo test --release --features cuda --test gpu
- on a machine with two: the same with --features cuda,nccl,mpi and --only=ranks
- figures of this version: warp-spmv bench --suite real, and warp-spmv report --document for the pages with tables
- git tag --annotate v$version --message "warp-spmv $version", and push the tag
- cargo publish --workspace
- python/build_backend.py by way of maturin: the wheel and the source distribution to PyPI
END
