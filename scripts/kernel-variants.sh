#!/usr/bin/env bash
# Makes PTX of the kernels unchanged and with each given patch, checks it, and times all side by side on a GPU:
#   scripts/kernel-variants.sh FOLDER PATCH... -- [OPTIONS of examples/kernel_variants.rs]
#   scripts/kernel-variants.sh FOLDER PATCH...             (makes the PTX only, for another machine)
# NAME.patch gives FOLDER/NAME.ptx, the unchanged kernels FOLDER/as-is.ptx. A patch changes gpu-kernels or
# cuda/cuda_std, with paths from the root of the repository; the launches of the host stay the same. A patch with a kernel
# that spills registers is left out. Example:
#   scripts/kernel-variants.sh target/variants four-places.patch -- --format sell-16 --matrix stencil:27:195
set -euo pipefail

architecture=${ARCHITECTURE:-sm_90}
if [[ $# -eq 0 ]]; then
    sed -n '2,9s/^# \{0,1\}//p' "$0" >&2
    exit 2
fi
folder=$1
shift
patches=()
while [[ $# -gt 0 && $1 != -- ]]; do
    if [[ ! -f $1 ]]; then
        echo "$0: there is no file $1" >&2
        exit 1
    fi
    patches+=("$(realpath "$1")")
    shift
done

mkdir -p "$folder"
folder=$(realpath "$folder")
cd "$(dirname "$0")/.."

# A copy, so that a patch never touches the working tree; the same one for all, so that each build is small.
copy=$folder/source
rm -rf "$copy"
mkdir -p "$copy"
git ls-files -z --cached --others --exclude-standard | tar -c --null --files-from=- | tar -x -C "$copy"

compile() {
    local name=$1 log=$folder/$1.log made
    if ! (cd "$copy" && CARGO_TARGET_DIR=$folder/build cargo run --quiet -p warp-spmv-cuda-builder \
        --example compile_kernels -- gpu-kernels "$folder/build/ptx" "$architecture") >"$log" 2>&1; then
        cat "$log" >&2
        echo "$0: $name does not compile" >&2
        return 1
    fi
    made=$(sed -n 's/ by .*//p' "$log" | tail -n 1)
    cp "$made" "$folder/$name.ptx"
    if ! scripts/check-ptx.sh "$folder/$name.ptx" >"$folder/$name.registers"; then
        grep FAULT "$folder/$name.registers" >&2 || true
        echo "$0: $name is left out" >&2
        return 1
    fi
}

compile as-is
variants=("as-is=$folder/as-is.ptx")
for patch in "${patches[@]}"; do
    name=$(basename "$patch" .patch)
    if ! patch --quiet --strip=1 --directory="$copy" <"$patch"; then
        echo "$0: $patch does not apply" >&2
        exit 1
    fi
    if compile "$name"; then
        variants+=("$name=$folder/$name.ptx")
        # Some of the kernels whose registers changed.
        diff <(sed 1d "$folder/as-is.registers") <(sed 1d "$folder/$name.registers") | sed -n "s/^> /$name: /p" | head -n 20 || true
    fi
    patch --quiet --strip=1 --reverse --directory="$copy" <"$patch"
done

if [[ ${1:-} == -- ]]; then
    shift
    cargo run --release --features cuda,peers --example kernel_variants -- "$@" "${variants[@]}"
fi
