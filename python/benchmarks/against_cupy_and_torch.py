"""Times A @ x and conjugate gradients here, in CuPy and in PyTorch, on one GPU in one process, as a caller sees them:

    python against_cupy_and_torch.py --json results.json FOLDER

FOLDER holds matrices in files that `warp_spmv.read` reads, such as those of scripts/real-matrices.py; without it, a few are
generated. With --device cpu, the contender is SciPy.

Every product is checked before any is timed, row by row against SciPy in float64. A time is the median over repetitions of a
batch: consecutive calls, including launches, for at least 2 ms, then one wait. Batches of all contenders alternate. "warm"
multiplies by the same matrix and vector repeatedly, which the cache keeps if they are small enough; "cold" alternates
between enough copies of them to exceed the cache.
"""

# %% What to measure, and where
import argparse
import gc
import inspect
import json
import math
import platform
import statistics
import time
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse

import warp_spmv

KINDS = (".npz", ".mtx", ".mtx.gz", ".wspmv", ".rb")
GENERATED = ["stencil:5:40", "stencil:7:14", "banded:rows=3000,bands=9", "rmat:scale=10"]
PRECONDITIONERS = ["jacobi", "chebyshev-6", "ic0-coloured", "amg"]

arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
arguments.add_argument("folder", nargs="?", type=Path, help="of matrices (default: generated ones)")
arguments.add_argument("--device", default="cuda:0", help="'cuda:0', or 'cpu' (default: cuda:0)")
arguments.add_argument("--only", default="", metavar="TEXT", help="take matrices whose names have TEXT in them")
arguments.add_argument("--dtype", choices=["float32", "float64"], help="the only one (default: both)")
arguments.add_argument("--repetitions", type=int, default=15, help="batches of each contender (default: 15)")
arguments.add_argument("--batch", type=float, default=2e-3, help="seconds of a batch at least (default: 0.002)")
arguments.add_argument("--solves", type=int, default=3, help="solves of each contender, 0 for none (default: 3)")
arguments.add_argument("--iterations", type=int, default=5000, help="of a solve at most (default: 5000)")
arguments.add_argument("--json", type=Path, metavar="FILE", help="where to write all numbers")
arguments = arguments.parse_args()
on_gpu = arguments.device != "cpu"
random = np.random.default_rng(0)
if on_gpu and arguments.device != "cuda:0":
    # The others work on their current device.
    raise SystemExit("the device is the first GPU that is visible: choose one by CUDA_VISIBLE_DEVICES")


# %% The libraries
class SciPy:
    name = "SciPy"
    cache = 32 << 20

    def matrix(self, S):
        return S.copy()

    def vector(self, x):
        return x.copy()

    def numpy(self, y):
        return y

    def empty(self, rows, x):
        return np.empty(rows, x.dtype)

    def wait(self):
        pass

    def cg(self, A, b, tol, **others):
        from scipy.sparse.linalg import cg

        return cg(A, b, rtol=tol, **others)


class CuPy:
    name = "CuPy"

    def __init__(self):
        import cupy
        import cupyx.scipy.sparse.linalg

        self.cupy, self.sparse = cupy, cupyx.scipy.sparse
        self.wait = cupy.cuda.runtime.deviceSynchronize
        self.cache = cupy.cuda.Device().attributes["L2CacheSize"]
        self.version = cupy.__version__
        self.hardware = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
        tolerance = inspect.signature(self.sparse.linalg.cg).parameters
        self.tolerance = "rtol" if "rtol" in tolerance else "tol"

    def matrix(self, S):
        return self.sparse.csr_matrix(S)

    def vector(self, x):
        return self.cupy.asarray(x)

    def numpy(self, y):
        return y.get()

    def empty(self, rows, x):
        return self.cupy.empty(rows, x.dtype)

    def cg(self, A, b, tol, **others):
        return self.sparse.linalg.cg(A, b, **{self.tolerance: tol}, **others)


class PyTorch:
    name = "PyTorch"

    def __init__(self):
        import torch

        if not torch.cuda.is_available():
            raise ImportError("PyTorch finds no GPU")
        self.torch = torch
        self.wait = torch.cuda.synchronize
        self.cache = getattr(torch.cuda.get_device_properties(0), "L2_cache_size", 64 << 20)
        self.version = torch.__version__
        self.hardware = torch.cuda.get_device_name(0)

    def matrix(self, S):
        arrays = [self.torch.from_numpy(array).cuda() for array in (S.indptr, S.indices, S.data)]
        with warnings.catch_warnings():
            # PyTorch warns that this is in beta.
            warnings.simplefilter("ignore", UserWarning)
            return self.torch.sparse_csr_tensor(*arrays, size=S.shape)

    def vector(self, x):
        return self.torch.from_numpy(x).cuda()

    def numpy(self, y):
        return y.cpu().numpy()

    def empty(self, rows, x):
        return self.torch.empty(rows, dtype=x.dtype, device=x.device)


def libraries():
    if not on_gpu:
        return [SciPy()]
    found = []
    for library in (CuPy, PyTorch):
        try:
            found.append(library())
        except ImportError as error:
            print(f"without {library.name}: {error}")
    if not found:
        raise SystemExit("neither CuPy nor PyTorch is installed")
    return found


# %% The matrices
def matrices():
    """Yields names, and functions that read each matrix in a type."""
    if arguments.folder is None:
        names = {text: text for text in GENERATED}
        read = warp_spmv.generate
    else:
        paths = sorted(path for path in arguments.folder.rglob("*") if path.name.endswith(KINDS))
        names = {str(path.relative_to(arguments.folder)): path for path in paths}
        read = warp_spmv.read
    for name, source in names.items():
        if arguments.only in name:
            yield name, lambda dtype, source=source: narrow(read(source, dtype))
    if not any(arguments.only in name for name in names):
        raise SystemExit(f"no matrices in {arguments.folder}")


def narrow(S):
    """Makes indices 32-bit if they fit, with which every library is fastest."""
    if max(S.nnz, *S.shape) < 2**31:
        S.indices, S.indptr = S.indices.astype(np.int32), S.indptr.astype(np.int32)
    return S


# %% Products
def check(what, S, x, y):
    """Checks a product row by row, against the rounding of each addition and multiplication in any order."""
    wide, x = S.astype(np.float64), x.astype(np.float64)
    expected, size = wide @ x, abs(wide) @ abs(x)
    chain = np.diff(S.indptr) + 32.0
    bound = chain * np.finfo(S.dtype).eps * size + np.finfo(S.dtype).tiny
    # This form also detects NaN.
    wrong = ~(abs(y - expected) <= bound)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise SystemExit(f"{what}: a wrong product: row {row} is {y[row]}, expected {expected[row]} ± {bound[row]}")


class Contender:
    """Something to call repeatedly."""

    def __init__(self, calls, wait):
        # Called cyclically.
        self.calls = calls
        self.wait = wait
        self.count = 1
        self.times, self.queueing = [], []

    def batch(self, count):
        """Returns the seconds until all calls are queued, and until all are done."""
        calls, copies = self.calls, len(self.calls)
        order = [calls[number % copies] for number in range(count)]
        self.wait()
        begin = time.perf_counter()
        for call in order:
            call()
        queued = time.perf_counter()
        self.wait()
        return queued - begin, time.perf_counter() - begin

    def prepare(self):
        """Warms up, and finds the number of calls per batch."""
        self.batch(len(self.calls))
        while (seconds := self.batch(self.count)[1]) < 1.2 * arguments.batch:
            self.count *= 2 if seconds <= 0 else max(2, min(16, math.ceil(1.4 * arguments.batch / seconds)))

    def measure(self):
        queued, seconds = self.batch(self.count)
        self.queueing.append(1e6 * queued / self.count)
        self.times.append(1e6 * seconds / self.count)

    def record(self):
        return {
            "microseconds": statistics.median(self.times),
            "least": min(self.times),
            "most": max(self.times),
            "until_queued": statistics.median(self.queueing),
            "calls_in_a_batch": self.count,
            "copies": len(self.calls),
        }


def take_turns(contenders):
    names = list(contenders)
    for name in names:
        contenders[name].prepare()
    gc.collect()
    gc.disable()
    try:
        for repetition in range(arguments.repetitions):
            for place in range(len(names)):
                contenders[names[(repetition + place) % len(names)]].measure()
    finally:
        gc.enable()
    return {name: contender.record() for name, contender in contenders.items()}


def copies_for_cold(S, library):
    """Returns the number of copies that evicts each from the cache before its next turn; 1 if unneeded, 0 if too many."""
    size = S.data.nbytes + S.indices.nbytes + S.indptr.nbytes + sum(S.shape) * S.dtype.itemsize
    copies = math.ceil(3 * library.cache / size) + 1
    return 1 if size > 4 * library.cache else copies if copies <= 64 else 0


def products(S, library):
    x = random.standard_normal(S.shape[1]).astype(S.dtype)
    record = {}
    copies = copies_for_cold(S, library)
    for temperature, count in (("warm", 1), ("cold", copies)):
        if count == 0 or (temperature == "cold" and count == 1):
            # In the second case, the cache keeps nothing of it even when warm.
            continue
        calls = {"warp_spmv": [], "warp_spmv, out=": [], library.name: []}
        for _ in range(count):
            begin = time.perf_counter()
            ours = warp_spmv.matrix(S, device=arguments.device)
            made = time.perf_counter() - begin
            theirs, vector = library.matrix(S), library.vector(x)
            out = library.empty(S.shape[0], vector)
            calls["warp_spmv"].append(lambda A=ours, x=vector: A @ x)
            calls["warp_spmv, out="].append(lambda A=ours, x=vector, y=out: A.matvec(x, out=y))
            calls[library.name].append(lambda A=theirs, x=vector: A @ x)
        for name, of_name in calls.items():
            for call in of_name:
                check(name, S, x, library.numpy(call()))
        record["format"], record["seconds_to_make"] = ours.format, made
        contenders = {name: Contender(of_name, library.wait) for name, of_name in calls.items()}
        record[temperature] = take_turns(contenders)
    if "cold" not in record and copies == 1:
        record["cold"] = record["warm"]
    return record


# %% Solves
def is_symmetric(S):
    if S.shape[0] != S.shape[1] or not (S.diagonal() > 0).all():
        return False
    difference = S - S.T
    return difference.nnz == 0 or abs(difference).max() <= 4 * np.finfo(S.dtype).eps * abs(S).max()


def seconds_of(call, wait):
    wait()
    begin = time.perf_counter()
    result = call()
    wait()
    return time.perf_counter() - begin, result


def solves(S, library):
    """Times conjugate gradients, if both converge; returns None if the matrix proves not to be positive definite."""
    tol = 1e-8 if S.dtype == np.float64 else 1e-4
    wide = S.astype(np.float64)
    b = (wide @ random.standard_normal(S.shape[1])).astype(S.dtype)
    ours, theirs, vector = warp_spmv.matrix(S, device=arguments.device), library.matrix(S), library.vector(b)

    def here(preconditioner=None):
        return warp_spmv.solve(ours, vector, preconditioner=preconditioner, tol=tol, maxiter=arguments.iterations)

    def there(**others):
        return library.cg(theirs, vector, tol, maxiter=arguments.iterations, **others)

    size = float(np.linalg.norm(b))

    def residual(x):
        """Returns the residual in float64 and its bound: the tolerance, plus the rounding of x and of products with it."""
        x = library.numpy(x).astype(np.float64)
        rounding = 30 * np.finfo(S.dtype).eps * np.linalg.norm(abs(wide) @ abs(x)) / size
        return float(np.linalg.norm(b - wide @ x) / size), 1.1 * tol + rounding

    x, report = here()
    if not report.converged:
        return None
    count = [0]

    def one_more(_):
        count[0] += 1

    z, info = there(callback=one_more)
    (found, allowed), (of_theirs, _) = residual(x), residual(z)
    if not found <= allowed:
        raise SystemExit(f"warp_spmv: a wrong solution: the residual is {found}, expected {allowed} at most")
    record = {
        "tolerance": tol,
        "iterations": {"warp_spmv": report.iterations, library.name: count[0]},
        "residuals": {"warp_spmv": found, library.name: of_theirs},
    }
    if info != 0:
        record["failed"] = f"{library.name} did not converge: {info}"
        return record
    made = {}
    for name in PRECONDITIONERS:
        try:
            seconds, M = seconds_of(lambda: warp_spmv.Preconditioner(ours, name), library.wait)
            x, report = here(M)
        except ValueError as error:
            record.setdefault("refused", {})[name] = str(error)
            continue
        found, allowed = residual(x)
        if report.converged and found <= allowed:
            made[name] = M, seconds, report.iterations
    times = {name: [] for name in ("warp_spmv", library.name, *made)}
    for _ in range(arguments.solves):
        for name, of_name in times.items():
            call = there if name == library.name else here if name == "warp_spmv" else lambda: here(made[name][0])
            of_name.append(seconds_of(call, library.wait)[0])
    record["seconds"] = {name: statistics.median(times[name]) for name in ("warp_spmv", library.name)}
    record["preconditioned"] = {
        name: {"seconds": statistics.median(times[name]), "seconds_to_make": seconds, "iterations": iterations}
        for name, (_, seconds, iterations) in made.items()
    }
    return record


# %% Everything
def geometric(ratios):
    return {
        "geometric_mean": statistics.geometric_mean(ratios.values()),
        "worst": min(ratios.values()),
        "worst_at": min(ratios, key=ratios.get),
        "matrices": len(ratios),
    }


def main():
    found = libraries()
    result = {
        "versions": {"warp_spmv": warp_spmv.__version__, **{it.name: getattr(it, "version", "") for it in found}},
        "device": arguments.device,
        "hardware": getattr(found[0], "hardware", platform.processor()),
        "repetitions": arguments.repetitions,
        "seconds_of_a_batch": arguments.batch,
        "records": [],
    }
    ratios = {}
    for name, read in matrices():
        for dtype in [arguments.dtype] if arguments.dtype else ["float32", "float64"]:
            S = read(dtype)
            print(f"{name}, {dtype}: {S.shape[0]} x {S.shape[1]}, {S.nnz} entries", flush=True)
            for library in found:
                record = {"matrix": name, "dtype": dtype, "rows": S.shape[0], "columns": S.shape[1], "nnz": S.nnz}
                record |= {"library": library.name, "products": products(S, library)}
                for temperature in ("warm", "cold"):
                    times = record["products"].get(temperature)
                    if times is None:
                        continue
                    theirs = times[library.name]["microseconds"]
                    line = f"  {temperature}: {library.name} {theirs:.1f} µs"
                    for ours in ("warp_spmv", "warp_spmv, out="):
                        microseconds = times[ours]["microseconds"]
                        ratio = theirs / microseconds
                        ratios.setdefault((temperature, dtype, library.name, ours), {})[name] = ratio
                        line += f"; {ours} {microseconds:.1f} µs, {times[ours]['until_queued']:.1f} until queued"
                        line += f" ({ratio:.2f} times as fast)"
                    print(f"{line}; {record['products']['format']}", flush=True)
                if arguments.solves and hasattr(library, "cg") and is_symmetric(S):
                    record["solve"] = solve = solves(S, library)
                    if solve and "seconds" in solve:
                        print("  " + line_of_solve(solve, library, ratios, name, dtype), flush=True)
                result["records"].append(record)
    print()
    result["summary"] = []
    for (temperature, dtype, library, ours), of_these in sorted(ratios.items()):
        summary = geometric(of_these)
        result["summary"].append({"kind": temperature, "dtype": dtype, "library": library, "ours": ours, **summary})
        print(
            f"{temperature}, {dtype}, {ours} against {library}: {summary['geometric_mean']:.2f} times as fast in the"
            f" geometric mean of {summary['matrices']}, {summary['worst']:.2f} at least ({summary['worst_at']})"
        )
    if arguments.json:
        arguments.json.write_text(json.dumps(result, indent=1) + "\n")


def line_of_solve(solve, library, ratios, name, dtype):
    ours, theirs = solve["seconds"]["warp_spmv"], solve["seconds"][library.name]
    iterations = solve["iterations"]
    ratios.setdefault(("cg", dtype, library.name, "warp_spmv"), {})[name] = theirs / ours
    line = f"cg: {library.name} {1e3 * theirs:.2f} ms in {iterations[library.name]} iterations; warp_spmv"
    line += f" {1e3 * ours:.2f} ms in {iterations['warp_spmv']} ({theirs / ours:.2f} times as fast)"
    whole = {name: it["seconds"] + it["seconds_to_make"] for name, it in solve["preconditioned"].items()}
    if whole:
        best = min(whole, key=whole.get)
        it = solve["preconditioned"][best]
        ratio = theirs / min(ours, whole[best])
        ratios.setdefault(("cg", dtype, library.name, "warp_spmv, best"), {})[name] = ratio
        line += f"; with {best} {1e3 * it['seconds']:.2f} ms in {it['iterations']}, made in"
        line += f" {1e3 * it['seconds_to_make']:.2f} ms ({theirs / whole[best]:.2f} times as fast with that)"
    return line


main()
