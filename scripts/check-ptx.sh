#!/usr/bin/env bash
# Assembles PTX for GPU generations and checks that each kernel stays in registers:
#   scripts/check-ptx.sh [FILE ...]        (without files: gpu-kernels/ptx/*.zip)
# FILE is PTX, or an archive of PTX per family of kernels. A file for sm_75 is assembled for it and for the later
# architectures below that no other FILE covers: a program uses the latest that a GPU can run. Prints the registers of
# each kernel, and fails if a file does not assemble, or a kernel has a stack frame, spills registers, or uses local
# memory.
# ARCHITECTURES="75 90" restricts the architectures.
# ptxas is $PTXAS, or the one on PATH, or that of the Python package nvidia-cuda-nvcc.
set -euo pipefail

read -ra architectures <<<"${ARCHITECTURES:-75 80 90 100}"

find_ptxas() {
    if [[ -n ${PTXAS:-} ]]; then
        echo "$PTXAS"
    elif ! command -v ptxas; then
        python3 -c 'import glob, nvidia
for folder in nvidia.__path__:
    for path in sorted(glob.glob(folder + "/*/bin/ptxas"))[-1:]:
        print(path)' 2>/dev/null | tail -n 1
    fi
}

ptxas=$(find_ptxas) || true
if [[ ! -x $ptxas ]]; then
    echo "$0: ptxas is missing: install a CUDA toolkit, or pip install nvidia-cuda-nvcc" >&2
    exit 1
fi
if [[ $# -eq 0 ]]; then
    shopt -s nullglob
    set -- "$(dirname "$0")"/../gpu-kernels/ptx/*.zip
    if [[ $# -eq 0 ]]; then
        echo "$0: there is no file gpu-kernels/ptx/*.zip" >&2
        exit 1
    fi
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
report=$work/report

# Reads lines "entry NAME" for a file's kernels, then, per architecture, a line "architecture NUMBER" and the output of
# ptxas. Prints a line per kernel with its registers on each architecture, then the faults.
table='
$1 == "entry" { order[++kernels] = $2 }
$1 == "architecture" { architecture = $2; column[++columns] = $2 }
/Function properties for/ { name = $NF }
/bytes stack frame/ {
    if ($1 + $5 + $9 > 0) {
        text = "%s on sm_%s: stack frame %d, spill stores %d, spill loads %d bytes"
        bad[++faults] = sprintf(text, name, architecture, $1, $5, $9)
    }
}
/Used [0-9]+ registers/ {
    match($0, /Used [0-9]+/)
    registers = substr($0, RSTART + 5, RLENGTH - 5)
    used[name, architecture] = registers
    count[architecture]++
    if (registers + 0 > most[architecture] + 0) most[architecture] = registers
}
END {
    width = 10
    for (k = 1; k <= kernels; k++) if (length(order[k]) > width) width = length(order[k])
    printf "%-" width "s", "registers"
    for (c = 1; c <= columns; c++) printf " %7s", "sm_" column[c]
    printf "\n"
    for (k = 1; k <= kernels; k++) {
        printf "%-" width "s", order[k]
        for (c = 1; c <= columns; c++) printf " %7s", used[order[k], column[c]]
        printf "\n"
    }
    printf "%-" width "s", "most"
    for (c = 1; c <= columns; c++) printf " %7s", most[column[c]]
    printf "\n"
    for (c = 1; c <= columns; c++) if (count[column[c]] != kernels || kernels == 0) {
        bad[++faults] = sprintf("sm_%s: ptxas reported %d kernels, the file has %d", column[c], count[column[c]], kernels)
    }
    for (f = 1; f <= faults; f++) print "FAULT " bad[f]
    exit faults > 0
}'

# Sets `modules` to the modules of a file: those of the archive, or the file itself.
unpack() {
    modules=("$1")
    if [[ $1 == *.zip ]]; then
        rm -rf "$work/modules"
        python3 -m zipfile -e "$1" "$work/modules"
        modules=("$work"/modules/*.ptx)
    fi
}

# Prints the number of the target architecture of PTX.
target_of() {
    sed -n 's/^\.target sm_\([0-9]*\).*/\1/p' "$1" | head -n 1
}

targets=()
for file in "$@"; do
    unpack "$file"
    targets+=("$(target_of "${modules[0]}")")
done

# Whether a file for a target is used on an architecture.
is_taken() {
    local target=$1 architecture=$2 other
    [[ $architecture -ge $target ]] || return 1
    for other in "${targets[@]}"; do
        [[ -z $other || $other -le $target || $other -gt $architecture ]] || return 1
    done
}

failed=0
for file in "$@"; do
    unpack "$file"
    target=$(target_of "${modules[0]}")
    if [[ -z $target ]]; then
        echo "FAULT $file: no line .target sm_.." >&2
        failed=1
        continue
    fi
    sed -n 's/^\.visible \.entry \([A-Za-z0-9_$]*\).*/entry \1/p' "${modules[@]}" >"$report"
    echo "$file: $(wc -l <"$report") kernels for sm_$target"
    for architecture in "${architectures[@]}"; do
        is_taken "$target" "$architecture" || continue
        echo "architecture $architecture" >>"$report"
        # In parallel; the output for each module goes to its own file, with a marker beside it on failure.
        rm -f "$work"/said.*
        printf '%s\n' "${!modules[@]}" | xargs --max-procs "$(nproc)" --replace=NUMBER bash -c '
            number=$1 work=$2 ptxas=$3 architecture=$4
            shift 4
            modules=("$@")
            "$ptxas" --verbose --gpu-name "sm_$architecture" --output-file /dev/null "${modules[number]}" \
                >"$work/said.$number" 2>&1 || touch "$work/said.$number.failed"
        ' assemble NUMBER "$work" "$ptxas" "$architecture" "${modules[@]}"
        for number in "${!modules[@]}"; do
            if [[ -e $work/said.$number.failed ]]; then
                echo "FAULT $file, ${modules[number]##*/} for sm_$architecture:" >&2
                grep -v 'ptxas info' "$work/said.$number" | head -n 20 >&2
                failed=1
            fi
            cat "$work/said.$number" >>"$report"
        done
    done
    awk "$table" "$report" || failed=1
    if grep -n '\.local\b' "${modules[@]}" | head -n 5 | grep .; then
        echo "FAULT $file uses local memory"
        failed=1
    fi
done
exit "$failed"
