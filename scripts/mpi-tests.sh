#!/usr/bin/env bash
# Runs the tests of the crate `distributed`, and the command, as MPI processes: scripts/mpi-tests.sh [CARGO_OPTION ...]
# Runs every scenario on 2 and on 4 processes; then each planted fault, which must end all processes without a hang,
# with an error that names the faulty rank; then products, solutions and refusals of the command on several processes.
# Needs Open MPI, its headers and libclang. Several processes may share a core. Options are passed to cargo: they must
# select the packages warp-spmv and warp-spmv-distributed, and the feature mpi.
set -euo pipefail

cd "$(dirname "$0")/.."
[[ $# -gt 0 ]] || set -- --locked -p warp-spmv -p warp-spmv-distributed --features mpi
cargo test --quiet "$@" --lib mpi
# With a test beside it, the command is built from the same libraries.
built=$(cargo build --quiet "$@" --bin warp-spmv --test mpi --message-format=json-render-diagnostics |
    python3 -c 'import json, sys
programs = {}
for line in sys.stdin:
    message = json.loads(line)
    if message.get("executable"):
        programs[message["target"]["name"]] = message["executable"]
print(programs["mpi"], programs["warp-spmv"], sep="\n")')
{ read -r program && read -r command; } <<<"$built"
start=(mpirun --oversubscribe --allow-run-as-root)
# Each process has a pool of threads.
export RAYON_NUM_THREADS=1

for ranks in 2 4; do
    timeout 300 "${start[@]}" -n "$ranks" "$program"
done

# A fault of rank 3, and the message expected from some process.
faults=(
    'error=rank 3: row 17: planted'
    'panic=rank 3: panicked: planted'
    'else=disagrees with rank .* about what to do: '
    'end=disagrees with rank .* about what to do: '
    'silent=rank 3: sent nothing for 1 s while rank '
    # The rank is gone, so only mpirun can report.
    'abort=rank 3 .*signal 6'
)
for fault in "${faults[@]}"; do
    name=${fault%%=*} expected=${fault#*=}
    status=0 started=$SECONDS
    output=$(timeout 120 "${start[@]}" -n 4 "$program" "$name" 2>&1) || status=$?
    if [[ $status -eq 0 || $status -eq 124 ]] || ! grep -q "$expected" <<<"$output"; then
        printf '%s\n' "$output"
        echo "$0: fault '$name' ended with code $status, without '$expected'" >&2
        exit 1
    fi
    # The first process to notice tells the others: one message, unless several notice at once.
    if [[ $name == error || $name == panic ]] && [[ $(grep -c '^rank ' <<<"$output") -ne 1 ]]; then
        printf '%s\n' "$output"
        echo "$0: fault '$name' was reported by several processes" >&2
        exit 1
    fi
    echo "fault '$name': code $status after $((SECONDS - started)) s"
done

folder=$(mktemp --directory)
trap 'rm -rf "$folder"' EXIT

# Runs the command, whose only record must satisfy a Python expression.
record() {
    local ranks=$1 expression=$2
    shift 2
    timeout 300 "${start[@]}" -n "$ranks" "$command" "$@" --json >"$folder/record"
    python3 -c 'import json, sys
(line,) = open(sys.argv[1])
record = json.loads(line)
assert eval(sys.argv[2]), record' "$folder/record" "$expression"
    echo "on $ranks processes: $*"
}
record 4 'record["verification"]["passed"] and record["processes"] and len(record["parts"]) == 4' \
    run stencil:7:20 --executor cpu
record 3 'record["verification"]["passed"] and sum(part["rows"] for part in record["parts"]) == 50' \
    run rectangle:rows=50,columns=90,per-row=4 --beta 2 --executor cpu --output "$folder/y.mtx"
record 2 'record["converged"] and record["error"] < 1e-8' \
    solve stencil:5:40 --preconditioner ic0 --tolerance 1e-11 --executor cpu --out "$folder/x.mtx"
record 4 'record["converged"] and record["processes"] and len(record["top"]) == 3' \
    pagerank rmat:scale=8 --unweighted --top 3 --executor cpu
# In the order that the processes find, or in parts that the first process finds for all.
for partition in rcm metis; do
    if "$command" run --help | grep --quiet -- "- $partition:"; then
        record 4 "record['verification']['passed'] and record['partition']['name'] == '$partition'" \
            run stencil:5:30 --beta 2 --executor cpu --partition "$partition"
    fi
done
# The same bytes as one process writes, and no other file.
mkdir "$folder/written"
for name in m.wspmv m.mtx; do
    "$command" convert stencil:7:12 "$folder/$name" >"$folder/said"
    timeout 300 "${start[@]}" -n 3 "$command" convert stencil:7:12 "$folder/written/$name" >"$folder/said"
    cmp "$folder/$name" "$folder/written/$name"
    timeout 300 "${start[@]}" -n 2 "$command" convert "$folder/$name" "$folder/written/again.wspmv" >"$folder/said"
    cmp "$folder/m.wspmv" "$folder/written/again.wspmv"
done
[[ $(ls "$folder/written") == $'again.wspmv\nm.mtx\nm.wspmv' ]]
[[ $(grep -c . "$folder/y.mtx") -gt 50 && $(grep -c . "$folder/x.mtx") -gt 1600 ]]

# Refusals of the command: one message, and a code other than 0.
refused() {
    local ranks=$1 expected=$2 status=0 output
    shift 2
    output=$(timeout 120 "${start[@]}" -n "$ranks" "$command" "$@" 2>&1) || status=$?
    if [[ $status -ne 2 || $(grep -c '^warp-spmv: ' <<<"$output") -ne 1 ]] || ! grep -q "$expected" <<<"$output"; then
        printf '%s\n' "$output"
        echo "$0: '$*' ended with code $status, without '$expected' once" >&2
        exit 1
    fi
    echo "refused on $ranks processes: $*"
}
printf '%%%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 4\n9 2 3\n' >"$folder/bad.mtx"
refused 3 'rank [0-2]: .*missing.mtx: ' run missing.mtx --executor cpu
refused 3 'rank [0-2]: .*bad.mtx:4: ' run "$folder/bad.mtx" --executor cpu
refused 2 'ranks is 3, but mpirun has started 2 processes' run stencil:5:9 --ranks 3
refused 2 'but this subcommand does not support several' tune
refused 2 'rank [01]: .*bad.mtx:4: ' convert "$folder/bad.mtx" "$folder/never.mtx"
refused 2 "unexpected argument" run stencil:5:9 --rank 3
[[ ! -e $folder/never.mtx ]]
# Processes with different command lines.
status=0
output=$(timeout 120 "${start[@]}" -n 1 "$command" run stencil:5:9 --executor cpu : \
    -n 1 "$command" run stencil:5:10 --executor cpu 2>&1) || status=$?
if [[ $status -ne 2 ]] || ! grep -q 'rank 1: disagrees with rank 0 about the command line' <<<"$output"; then
    printf '%s\n' "$output"
    echo "$0: different command lines ended with code $status" >&2
    exit 1
fi
