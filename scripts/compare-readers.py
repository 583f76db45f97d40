#!/usr/bin/env python3
"""Compares the Matrix Market reader with fast-matrix-market from PyPI, side by side on the same file and threads.

    python3 -m venv target/readers && target/readers/bin/pip install fast-matrix-market scipy
    target/readers/bin/python scripts/compare-readers.py

Builds the example read_times, generates a file of about 100 MB unless FILE is given, and reads it in turns: with
fast_matrix_market.mmread, which gives COO, followed by the conversion to CSR; with this library, as COO and as CSR. Each
turn is a separate process that reads the file twice and counts the second time, so that startup does not count. Prints
the medians and their ratios.
"""

import argparse
import os
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

PEER = """
import sys, time
import fast_matrix_market
for _ in range(2):
    start = time.perf_counter()
    matrix = fast_matrix_market.mmread(sys.argv[1], parallelism=int(sys.argv[2]))
    read = time.perf_counter()
    matrix.tocsr()
    converted = time.perf_counter()
print(read - start, converted - start)
"""


def cargo(*arguments):
    subprocess.run(["cargo", *arguments], cwd=ROOT, check=True)


def by_column(source, target):
    """Writes the same entries sorted by column, like most files of public collections."""
    with open(source) as text:
        lines = text.readlines()
    entries = sorted(lines[2:], key=lambda line: int(line.split()[1]))
    with open(target, "w") as text:
        text.writelines(lines[:2] + entries)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", nargs="*", type=pathlib.Path, help="Matrix Market files instead of generated ones")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--turns", type=int, default=11)
    arguments = parser.parse_args()

    folder = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    cargo("build", "--release", "--quiet", "--example", "read_times")
    reader = folder / "release/examples/read_times"
    if not arguments.file:
        by_rows = folder / "readers-by-row.mtx"
        if not by_rows.exists():
            cargo("run", "--release", "--quiet", "--", "convert", "uniform:rows=400000,per-row=8", str(by_rows))
        arguments.file = [by_rows, folder / "readers-by-column.mtx"]
        if not arguments.file[1].exists():
            by_column(*arguments.file)

    environment = {**os.environ, "RAYON_NUM_THREADS": str(arguments.threads)}
    for file in arguments.file:
        times = {(reader, result): [] for result in ["COO", "CSR"] for reader in ["fast-matrix-market", "warp-spmv"]}
        for _ in range(arguments.turns):
            command = [sys.executable, "-c", PEER, str(file), str(arguments.threads)]
            output = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
            times["fast-matrix-market", "COO"].append(float(output[0]))
            times["fast-matrix-market", "CSR"].append(float(output[1]))
            for result, name in [("COO", "coordinates"), ("CSR", "csr")]:
                command = [str(reader), str(file), "2", name]
                output = subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout
                times["warp-spmv", result].append(float(output.split()[1]))
        print(f"{file.name}, {file.stat().st_size / 1e6:.0f} MB, {arguments.threads} threads, {arguments.turns} turns")
        for (name, result), taken in times.items():
            median = statistics.median(taken)
            ratio = median / statistics.median(times["warp-spmv", result])
            print(f"  {name:18} {result} {median * 1e3:7.1f} ms ({min(taken) * 1e3:.1f} to {max(taken) * 1e3:.1f}),", end=" ")
            print(f"{ratio:.2f} times warp-spmv's")


if __name__ == "__main__":
    main()
