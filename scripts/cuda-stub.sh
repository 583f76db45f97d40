#!/usr/bin/env bash
# Makes DIR/lib64/libcuda.so, a stand-in for the CUDA driver's library, so that the feature `cuda` links on a machine
# without CUDA:
#   scripts/cuda-stub.sh target/cuda-stub
#   CUDA_LIBRARY_PATH=$PWD/target/cuda-stub cargo build --features cuda
# Programs linked with it start on any machine: it looks for the driver at startup, and without one each function
# returns CUDA_ERROR_NO_DEVICE. (Programs linked with CUDA's own stub do not start without a driver.)
# For Linux on x86-64 and 64-bit Arm.
set -euo pipefail

if [[ $# -ne 1 ]]; then
    echo "usage: $0 DIR" >&2
    exit 2
fi
folder=$1/lib64
root=$(cd "$(dirname "$0")/.." && pwd)
compiler=${CC:-cc}
command -v "$compiler" >/dev/null || { echo "$0: no C compiler ($compiler): install gcc" >&2; exit 1; }

# Cargo knows the path of the source of cust_raw; the filter keeps it from fetching crates that only other systems need.
host=$(rustc --version --verbose | sed -n 's/^host: //p')
manifest=$(cargo metadata --locked --format-version 1 --features cuda --filter-platform "$host" \
    --manifest-path "$root/Cargo.toml" | grep -o '"manifest_path":"[^"]*/cust_raw-[^"]*/Cargo.toml"' | cut -d'"' -f4 || true)
[[ -n $manifest ]] || { echo "$0: cargo metadata does not name cust_raw" >&2; exit 1; }
declarations=$(dirname "$manifest")/src/cuda.rs

names=$(sed -n 's/^ *pub fn \(cu[A-Za-z0-9_]*\)(.*/\1/p' "$declarations" | sort -u)
count=$(wc -w <<<"$names")
if [[ $count -lt 300 ]]; then
    echo "$0: only $count functions found in $declarations" >&2
    exit 1
fi

mkdir -p "$folder"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
{
    cat <<'END'
#include <dlfcn.h>

static void *driver;

static int absent(void) {
    return driver ? 500 /* CUDA_ERROR_NOT_FOUND */ : 100 /* CUDA_ERROR_NO_DEVICE */;
}

/* Callers read the text of an error, so it must exist. */
static int text(int error, const char **message) {
    (void)error;
    *message = "no CUDA driver on this machine";
    return 0;
}

END
    echo 'static const char *const names[] = {'
    sed 's/.*/    "&",/' <<<"$names"
    echo '};'
    echo '__attribute__((used, visibility("hidden"))) void *warp_spmv_cuda_driver[] = {'
    sed 's/^cuGetError\(Name\|String\)$/    (void *)text,/; s/^cu.*/    (void *)absent,/' <<<"$names"
    echo '};'
    cat <<'END'

__attribute__((constructor)) static void load(void) {
    driver = dlopen("libcuda.so.1", RTLD_NOW);
    for (unsigned i = 0; driver && i < sizeof names / sizeof *names; i++) {
        void *function = dlsym(driver, names[i]);
        if (function) warp_spmv_cuda_driver[i] = function;
    }
}

/* Each function jumps to its address in the table, and leaves the arguments unchanged. */
#if defined __x86_64__
#define JUMP "jmp *warp_spmv_cuda_driver+8*\\index(%rip)\n"
#elif defined __aarch64__
#define JUMP \
    "adrp x16, warp_spmv_cuda_driver+8*\\index\n" \
    "ldr x16, [x16, :lo12:warp_spmv_cuda_driver+8*\\index]\n" \
    "br x16\n"
#else
#error "x86-64 or 64-bit Arm is needed"
#endif
__asm__(".macro driver_function name, index\n"
        ".globl \\name\n.type \\name, %function\n\\name:\n" JUMP ".size \\name, .-\\name\n.endm\n"
        ".text\n"
END
    awk '{ printf "        \"driver_function %s, %d\\n\"\n", $1, NR - 1 }' <<<"$names"
    echo ');'
} >"$work/driver.c"
"$compiler" -c -fPIC -O1 -o "$work/driver.o" "$work/driver.c"
rm -f "$folder/libcuda.so" "$folder/libcuda_driver.a"
ar rcs "$folder/libcuda_driver.a" "$work/driver.o"
echo 'INPUT(-l:libcuda_driver.a)' >"$folder/libcuda.so"
echo "$folder/libcuda.so: $count functions"
