#!/usr/bin/env bash
# Fuzzes the readers and the parsing of generators: scripts/fuzz.sh SECONDS [TARGET...], by default all targets, each
# for SECONDS.
# Needs cargo-fuzz (the program CARGO_FUZZ, by default the subcommand) and a C++ compiler; any Rust toolchain works,
# stable or nightly. The corpus grows in FUZZ_FOLDER/corpus (FUZZ_FOLDER is target/fuzz by default) from the seeds in
# fuzz/seeds.
set -euo pipefail

cd "$(dirname "$0")/../fuzz"
seconds=${1:?usage: scripts/fuzz.sh SECONDS [TARGET...]}
shift
[[ $seconds =~ ^[1-9][0-9]*$ ]] || { echo "expected a number of seconds, found '$seconds'" >&2; exit 2; }
# An input that takes longer than this many seconds is a failure: with the sanitizer, a reader takes twenty times as
# long, and without it, no input may take more than a second per kilobyte.
longest=20
folder=${FUZZ_FOLDER:-$PWD/../target/fuzz}
# The sanitizers of the targets are nightly options, which a stable compiler accepts this way.
export RUSTC_BOOTSTRAP=1
fuzz() {
    if [[ -n ${CARGO_FUZZ:-} ]]; then "$CARGO_FUZZ" fuzz "$@"; else cargo fuzz "$@"; fi
}

targets=("$@")
if [[ ${#targets[@]} -eq 0 ]]; then
    mapfile -t targets < <(fuzz list --fuzz-dir .)
fi
for target in "${targets[@]}"; do
    [[ -f fuzz_targets/$target.rs ]] || { echo "no fuzz target '$target'" >&2; exit 2; }
done
fuzz build --fuzz-dir . --target-dir "$folder/build"
programs=$folder/build/$(rustc --version --verbose | sed -n 's/^host: //p')/release
# Fuzzes one target. Runs the program itself, because `cargo fuzz run` would link it once more. One thread, so that an
# execution depends only on its input.
run_target() {
    local target=$1 log=$folder/$1.log
    mkdir -p "$folder/corpus/$target" "$folder/artifacts/$target"
    if RAYON_NUM_THREADS=1 ASAN_OPTIONS=detect_odr_violation=0 "$programs/$target" \
        "$folder/corpus/$target" "seeds/$target" "-artifact_prefix=$folder/artifacts/$target/" \
        -max_total_time="$seconds" -timeout="$longest" -rss_limit_mb=6000 \
        -print_final_stats=1 >"$log" 2>&1; then
        printf '%-20s %s, the slowest input %s s, at most %s MB\n' "$target" "$(grep '^Done ' "$log")" \
            "$(sed -n 's/^stat::slowest_unit_time_sec: *//p' "$log")" "$(sed -n 's/^stat::peak_rss_mb: *//p' "$log")"
    else
        tail -n 40 "$log" >&2
        echo "$target failed; the input is in $folder/artifacts/$target" >&2
        return 1
    fi
}

# Two targets at a time on two or more cores; if one fails, the other still ends. Background processes ignore Ctrl-C, so
# it is passed on as another signal.
trap 'trap - INT; kill -TERM 0' INT
failed=0
running=0
most=$(($(nproc) > 1 ? 2 : 1))
for target in "${targets[@]}"; do
    if ((running == most)); then
        wait -n || failed=1
        running=$((running - 1))
    fi
    ((failed == 0)) || break
    run_target "$target" &
    running=$((running + 1))
done
while ((running > 0)); do
    wait -n || failed=1
    running=$((running - 1))
done
exit "$failed"
