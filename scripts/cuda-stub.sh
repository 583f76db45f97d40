#!/usr/bin/env bash
# Makes DIR/lib64/libcuda.so, a stand-in for the CUDA driver's library, so that the feature `cuda` links on a machine
# without CUDA:
#   scripts/cuda-stub.sh target/cuda-stub
#   CUDA_LIBRARY_PATH=$PWD/target/cuda-stub cargo build --features cuda
# Each function of the driver that `cust_raw` declares is there and returns CUDA_ERROR_NO_DEVICE. What is linked with
# it runs with the real driver; with LD_LIBRARY_PATH=DIR/lib64 it runs and finds no device.
set -euo pipefail

if [[ $# -ne 1 ]]; then
    echo "usage: $0 DIR" >&2
    exit 2
fi
folder=$1/lib64
root=$(cd "$(dirname "$0")/.." && pwd)
compiler=${CC:-cc}
command -v "$compiler" >/dev/null || { echo "$0: no C compiler ($compiler): install gcc" >&2; exit 1; }

# Cargo knows where the source of cust_raw is; the filter keeps it from fetching what only other systems need.
host=$(rustc --version --verbose | sed -n 's/^host: //p')
manifest=$(cargo metadata --locked --format-version 1 --features cuda --filter-platform "$host" \
    --manifest-path "$root/Cargo.toml" | grep -o '"manifest_path":"[^"]*/cust_raw-[^"]*/Cargo.toml"' | cut -d'"' -f4 || true)
[[ -n $manifest ]] || { echo "$0: cargo metadata does not name cust_raw" >&2; exit 1; }
declarations=$(dirname "$manifest")/src/cuda.rs

mkdir -p "$folder"
source=$(mktemp --suffix=.c)
trap 'rm -f "$source"' EXIT
{
    echo 'static const char message[] = "no CUDA device: this is the link stub of the CUDA driver";'
    # An error's text is asked for and read, so these two must answer.
    for name in cuGetErrorName cuGetErrorString; do
        echo "int $name(int error, const char **text) { (void)error; *text = message; return 0; }"
    done
    sed -n 's/^ *pub fn \(cu[A-Za-z0-9_]*\)(.*/\1/p' "$declarations" | sort -u |
        grep -v '^cuGetError\(Name\|String\)$' | sed 's/.*/int &(void) { return 100; }/'
} >"$source"
functions=$(grep -c '^int ' "$source")
if [[ $functions -lt 300 ]]; then
    echo "$0: only $functions functions found in $declarations" >&2
    exit 1
fi
"$compiler" -shared -fPIC -O1 -Wl,-soname,libcuda.so.1 -o "$folder/libcuda.so" "$source"
ln -sf libcuda.so "$folder/libcuda.so.1"
echo "$folder/libcuda.so: $functions functions"
