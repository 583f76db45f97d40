#!/usr/bin/env python3
"""Makes a suite of benchmark matrices that no generator of this repository makes, as SciPy `.npz` files.

    python3 -m venv target/real && target/real/bin/pip install numpy scipy scikit-fem pyamg scikit-learn
    target/real/bin/python scripts/real-matrices.py FOLDER --jobs 4

They are discretisations of partial differential equations (scikit-fem), multigrid levels and shipped examples (PyAMG),
neighbours of points (SciPy, scikit-learn), and graphs and texts of the installed software, which differ from machine to
machine. Every package except NumPy and SciPy is optional: without it, its matrices are left out.

A name with `-random` denotes the matrix under a random symmetric permutation; with `-small` or `-middle`, the matrix in
the size of that scale. Values are float64, and matrices listed as symmetric are so to the last bit.

`--unseen` makes 46 other matrices instead, from other methods and other fields, in another folder. No constant of a
kernel or of the choice of a format is fitted to them, so they show what to expect for your own matrices. They take 8
minutes in one process, and 6 GB of disk.

`FOLDER/matrices.json` lists the matrices made; listed ones are kept unless `--again` is given.

One process takes 5 minutes, up to 4 GB of memory and 7 GB of disk for the full scale, up to 6 10^7 entries per matrix;
a minute and 0.7 GB for the middle one, up to 4 10^6; and 10 seconds for the small one, up to 3 10^5.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import importlib.metadata
import itertools
import json
import multiprocessing
import pathlib
import platform
import signal
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, NoReturn

try:
    import numpy
    import scipy.sparse

    from real_recipes import DPKG, RECIPES, SEED, Recipe
    from unseen_recipes import UNSEEN
except ModuleNotFoundError as missing:
    sys.exit(f"real-matrices.py: {missing.name} is not installed; the top of this file explains how to install it")

SCALES = ["small", "middle", "full"]
# Only the first process handles interrupts, and ends the others.
INTERRUPTS_IGNORED = (signal.SIGINT, signal.SIG_IGN)


class Target(NamedTuple):
    """A matrix to make."""

    name: str
    recipe: Recipe
    scale: str
    # The key in `recipe.about`.
    part: str
    shuffled: bool

    def about(self) -> str:
        return self.recipe.about[self.part] + (", under a random permutation" if self.shuffled else "")


def targets(recipes: list[Recipe], scale: str) -> Iterator[Target]:
    for recipe in recipes:
        smaller = [other for other in recipe.also if SCALES.index(other) < SCALES.index(scale)]
        for size, part in itertools.product([scale, *smaller], recipe.about):
            name = "-".join(filter(None, [recipe.name, part, size if size != scale else ""]))
            yield Target(name, recipe, size, part, False)
            if recipe.shuffled and size == scale:
                yield Target(f"{name}-random", recipe, size, part, True)


def version(package: str) -> str | None:
    """Returns the version of a package, if installed."""
    if package == "Python":
        return platform.python_version()
    if package == "Debian":
        release = pathlib.Path("/etc/debian_version")
        return release.read_text().strip() if release.exists() and (DPKG / "status").exists() else None
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def canonical(matrix: Any) -> tuple[scipy.sparse.csr_array, bool]:
    """Returns the matrix with sorted, unique, nonzero entries, and whether it is symmetric; asymmetry due to rounding is
    removed."""
    matrix = scipy.sparse.csr_array(matrix, dtype=numpy.float64)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    if matrix.nnz == 0 or not numpy.isfinite(matrix.data).all():
        raise ValueError("the matrix is empty or has values that are not finite")
    symmetric = False
    if matrix.shape[0] == matrix.shape[1]:
        transpose = matrix.T.tocsr()
        difference = abs(matrix - transpose).max()
        symmetric = bool(difference <= 1e-12 * abs(matrix).max())
        if symmetric and difference > 0:
            matrix = (matrix + transpose) / 2
            matrix.eliminate_zeros()
    width = numpy.int32 if max(matrix.nnz, *matrix.shape) < 2**31 else numpy.int64
    arrays = (matrix.data, matrix.indices.astype(width, copy=False), matrix.indptr.astype(width, copy=False))
    return scipy.sparse.csr_array(arrays, shape=matrix.shape), symmetric


def shuffled(matrix: scipy.sparse.csr_array) -> scipy.sparse.csr_array:
    order = numpy.random.default_rng(SEED).permutation(matrix.shape[0])
    places = numpy.argsort(order)
    rows = matrix[order]
    columns = places[rows.indices].astype(rows.indices.dtype)
    moved = scipy.sparse.csr_array((rows.data, columns, rows.indptr), shape=matrix.shape)
    moved.sort_indices()
    return moved


def partial(path: pathlib.Path) -> pathlib.Path:
    """Returns the name of a file until it is complete."""
    return path.with_name(f".{path.name}.part")


def write(path: pathlib.Path, save: Callable[[Any], None]) -> None:
    with open(partial(path), "wb") as file:
        save(file)
    partial(path).replace(path)


def make(folder: pathlib.Path, group: list[Target]) -> list[tuple[dict[str, Any], float]]:
    """Makes the matrices of one computation, and returns their records and the seconds that each took."""
    recipe, scale = group[0].recipe, group[0].scale
    start = time.perf_counter()
    made = recipe.make(recipe.sizes[SCALES.index(scale)])
    if not isinstance(made, dict):
        made = {"": made}
    records = []
    for part, same in itertools.groupby(group, lambda target: target.part):
        matrix, symmetric = canonical(made.pop(part))
        for target in same:
            final = shuffled(matrix) if target.shuffled else matrix
            write(folder / f"{target.name}.npz", lambda file: scipy.sparse.save_npz(file, final, compressed=False))
            record = {"name": target.name, "rows": final.shape[0], "columns": final.shape[1], "entries": int(final.nnz)}
            record |= {"family": recipe.family, "description": target.about()}
            record |= {"package": recipe.package, "version": version(recipe.package)}
            record |= {"numbering": "random" if target.shuffled else "natural", "symmetric": symmetric, "scale": scale}
            records.append((record, time.perf_counter() - start))
            start = time.perf_counter()
    return records


def fail(reason: str, status: int) -> NoReturn:
    print(f"real-matrices.py: {reason}", file=sys.stderr)
    sys.exit(status)


def selected(recipes: list[Recipe], only: list[str], scale: str) -> list[Target]:
    """Returns the targets with these names, or all."""
    known = list(targets(recipes, scale))
    for name in only:
        if name not in {target.name for target in known}:
            fail(f"no matrix of scale {scale} is called '{name}'; --list prints the names", 2)
    return [target for target in known if not only or target.name in only]


def installed_only(chosen: list[Target]) -> list[Target]:
    """Returns the targets whose packages are installed; prints the missing ones."""
    missing = {target.recipe.package for target in chosen if version(target.recipe.package) is None}
    for package in sorted(missing):
        count = sum(target.recipe.package == package for target in chosen)
        print(f"real-matrices.py: {package} is not installed; matrices left out: {count}", file=sys.stderr)
    return [target for target in chosen if target.recipe.package not in missing]


def remaining(chosen: list[Target], folder: pathlib.Path, records: dict[str, Any]) -> list[Target]:
    """Returns the targets that the folder does not hold."""
    found = []
    for target in chosen:
        if target.name not in records or not (folder / f"{target.name}.npz").exists():
            found.append(target)
        elif (scale := records[target.name]["scale"]) != target.scale:
            fail(f"{folder} holds {target.name} of scale {scale}: take another folder, or --again", 2)
        else:
            print(f"{target.name}: kept")
    return found


def report(record: dict[str, Any], seconds: float) -> None:
    size = f"{record['rows']} x {record['columns']}, {record['entries']} entries"
    print(f"{record['name']}: {size}, {'' if record['symmetric'] else 'not '}symmetric, {seconds:.2f} s", flush=True)


def make_all(chosen: list[Target], folder: pathlib.Path, records: dict[str, Any], jobs: int) -> bool:
    """Makes the targets, adds their records, and returns whether all could be made."""
    groups = [list(group) for _, group in itertools.groupby(chosen, lambda target: (target.recipe.name, target.scale))]
    complete = True
    pool = concurrent.futures.ProcessPoolExecutor(jobs, initializer=signal.signal, initargs=INTERRUPTS_IGNORED)
    futures = {pool.submit(make, folder, group): group[0].recipe.name for group in groups}
    try:
        for future in concurrent.futures.as_completed(futures):
            try:
                made = future.result()
            except Exception as error:
                reason = " ".join(str(error).split()) or type(error).__name__
                print(f"real-matrices.py: {futures[future]}: {reason}", file=sys.stderr)
                complete = False
                continue
            for record, seconds in made:
                records[record["name"]] = record
                report(record, seconds)
            text = json.dumps([records[name] for name in sorted(records)], indent=1) + "\n"
            write(folder / "matrices.json", lambda file: file.write(text.encode()))
    except KeyboardInterrupt:
        signal.signal(*INTERRUPTS_IGNORED)
        for process in multiprocessing.active_children():
            process.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)
        for name in ["matrices.json", *(f"{target.name}.npz" for target in chosen)]:
            partial(folder / name).unlink(missing_ok=True)
    return complete


def count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=pathlib.Path, metavar="FOLDER", help="where the matrices go")
    parser.add_argument("--scale", choices=SCALES, default="full", help="default: full")
    parser.add_argument("--unseen", action="store_true", help="other matrices, to which nothing is fitted")
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="may be repeated")
    parser.add_argument(
        "--jobs", type=count, default=1, metavar="N", help="number of processes, each with its own memory"
    )
    parser.add_argument("--again", action="store_true", help="also make matrices that already exist")
    parser.add_argument("--list", action="store_true", help="print the names, packages and descriptions, make nothing")
    options = parser.parse_args()
    chosen = selected(UNSEEN if options.unseen else RECIPES, options.only, options.scale)
    if options.list:
        # A reader that closes the pipe ends the list; not on Windows.
        if hasattr(signal, "SIGPIPE"):
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        for target in chosen:
            print(f"{target.name:38} {target.recipe.package:13} {target.about()}")
        return
    if options.folder is None:
        parser.error("FOLDER is missing")
    chosen = installed_only(chosen)
    if not chosen:
        fail("nothing can be made", 1)
    try:
        options.folder.mkdir(parents=True, exist_ok=True)
        listed = options.folder / "matrices.json"
        records = {record["name"]: record for record in json.loads(listed.read_bytes())} if listed.exists() else {}
        if not options.again:
            chosen = remaining(chosen, options.folder, records)
        complete = make_all(chosen, options.folder, records, options.jobs)
    except (OSError, ValueError) as error:
        fail(f"{options.folder}: {' '.join(str(error).split())}", 1)
    except KeyboardInterrupt:
        fail("interrupted", 130)
    if not complete:
        sys.exit(1)


if __name__ == "__main__":
    main()
