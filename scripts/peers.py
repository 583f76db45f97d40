#!/usr/bin/env python3
"""Times SciPy and, if installed, CuPy, and writes the times in the format that `warp-spmv report --import` reads.

    warp-spmv convert stencil:27:100 matrix.npz
    scripts/peers.py matrix.npz --name stencil:27:100 --out scipy.json
    warp-spmv report results.json --import SciPy=scipy.json

The matrix is multiplied as a user of the library would, `y = A @ x`, so that the times include the allocation of y and
the overhead of the library around its kernel. On the GPU, CUDA events around each multiplication measure them. x is
random, from a seed. Every result is compared with one in extended precision.
"""

import argparse
import json
import os
import platform
import statistics
import sys
import time
import zipfile

import numpy
import scipy
import scipy.sparse

SEED = 1


def error_bound(matrix, x, y):
    """Returns the relative error of y in the 2-norm, and the largest error of an element over its rounding bound:
    n u sum |a x| for n entries in a row, and 3 more for the products and the factors."""
    unit = numpy.finfo(y.dtype).eps / 2
    squares = exact_squares = 0.0
    worst = 0.0
    rows_at_once = max(1, int(4e6 * matrix.shape[0] / max(1, matrix.nnz)))
    for first in range(0, matrix.shape[0], rows_at_once):
        part = matrix[first : first + rows_at_once]
        lengths = numpy.diff(part.indptr)
        products = part.data.astype(numpy.longdouble) * x[part.indices]
        exact = numpy.zeros(len(lengths), numpy.longdouble)
        magnitude = numpy.zeros(len(lengths), numpy.longdouble)
        filled = lengths > 0
        if filled.any():
            begins = part.indptr[:-1][filled]
            exact[filled] = numpy.add.reduceat(products, begins)
            magnitude[filled] = numpy.add.reduceat(abs(products), begins)
        error = abs(y[first : first + rows_at_once] - exact)
        bound = (lengths + 3) * unit * magnitude + (lengths + 3) * numpy.finfo(y.dtype).smallest_subnormal
        worst = max(worst, float((error / bound).max(initial=0)))
        squares += float((error**2).sum())
        exact_squares += float((exact**2).sum())
    return (squares / exact_squares) ** 0.5 if squares else 0.0, worst


def times_on_cpu(multiply, warm_ups, repetitions):
    times = []
    for repetition in range(warm_ups + repetitions):
        start = time.perf_counter()
        multiply()
        elapsed = time.perf_counter() - start
        if repetition >= warm_ups:
            times.append(elapsed)
    return times


def times_on_gpu(cupy, multiply, warm_ups, repetitions):
    start, stop = cupy.cuda.Event(), cupy.cuda.Event()
    times = []
    for repetition in range(warm_ups + repetitions):
        start.record()
        multiply()
        stop.record()
        stop.synchronize()
        if repetition >= warm_ups:
            times.append(cupy.cuda.get_elapsed_time(start, stop) / 1e3)
    return times


def run_of(matrix, x, y, times, library, strategy, storage):
    """Returns the record of a run, from the result and the times."""
    if not numpy.isfinite(y).all():
        return {"completed": False, "error": "the result is not finite", "library": library}
    relative, worst = error_bound(matrix, x, y)
    if worst > 1:
        return {"completed": False, "error": f"wrong: an error is {worst:.1f} of its bound", "library": library}
    first, median, third = statistics.quantiles(times, n=4, method="inclusive") if len(times) > 1 else times * 3
    return {
        "completed": True,
        "storage": storage,
        "max_relative_norm2": relative,
        "error_of_bound": worst,
        "time": median,
        "repetitions": len(times),
        "quartiles": [first, third],
        "samples": times,
        "gflops": 2e-9 * matrix.nnz / median,
        "library": library,
        "strategy": strategy,
    }


def processor():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def bytes_of(matrix):
    return int(matrix.data.nbytes + matrix.indices.nbytes + matrix.indptr.nbytes)


def measure_scipy(matrix, x, options):
    times = times_on_cpu(lambda: matrix @ x, options.warm_ups, options.repetitions)
    library = f"SciPy {scipy.__version__}"
    run = run_of(matrix, x, matrix @ x, times, library, "csr_array @ x, one thread", bytes_of(matrix))
    env = {"executor": "cpu", "device": processor(), "threads": 1, "timer": "time.perf_counter around the call"}
    return {"scipy-csr": run}, env


def measure_cupy(cupy, matrix, x, options):
    import cupyx.scipy.sparse

    arrays = tuple(cupy.asarray(array) for array in (matrix.data, matrix.indices, matrix.indptr))
    on_gpu, x_on_gpu = cupyx.scipy.sparse.csr_matrix(arrays, shape=matrix.shape), cupy.asarray(x)
    times = times_on_gpu(cupy, lambda: on_gpu @ x_on_gpu, options.warm_ups, options.repetitions)
    library = f"CuPy {cupy.__version__}"
    y = cupy.asnumpy(on_gpu @ x_on_gpu)
    run = run_of(matrix, x, y, times, library, "csr_matrix @ x", bytes_of(on_gpu))
    device = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.runtime.getDevice())["name"].decode()
    env = {"executor": "cuda", "device": device, "threads": os.cpu_count() or 1, "timer": "CUDA events around the call"}
    return {"cupy-csr": run}, env


def gpu_library():
    """Returns CuPy, if it is installed and finds a GPU; otherwise prints the reason."""
    try:
        import cupy
    except ImportError as error:
        print(f"no times on a GPU: {error}", file=sys.stderr)
        return None
    try:
        cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        print(f"no times on a GPU: {error}", file=sys.stderr)
        return None
    return cupy


def measure(path, options, cupy):
    matrix = scipy.sparse.csr_array(scipy.sparse.load_npz(path))
    if matrix.dtype not in (numpy.float32, numpy.float64):
        raise ValueError(f"the values are {matrix.dtype}, not float32 or float64")
    entries = []
    for precision in options.precision or [matrix.dtype.name]:
        cast = matrix.astype(precision)
        x = numpy.random.default_rng(SEED).uniform(-1, 1, matrix.shape[1]).astype(precision)
        measured = [measure_scipy(cast, x, options)]
        if cupy is not None:
            measured.append(measure_cupy(cupy, cast, x, options))
        for runs, env in measured:
            env |= {
                "precision": precision,
                "system": f"{platform.system().lower()} {platform.machine()}",
                "index_width": cast.indices.dtype.itemsize * 8,
                "seed": SEED,
                "unix_time": int(time.time()),
                "command": sys.argv,
            }
            rows, columns = matrix.shape
            filename = options.name or os.path.basename(path)
            sizes = {"rows": rows, "cols": columns, "nonzeros": int(matrix.nnz)}
            entries.append({"filename": filename, **sizes, "spmv": runs, "env": env})
    return entries


def count(text):
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", metavar="FILE.npz", help="matrices, as SciPy writes them")
    parser.add_argument("--name", help="name of the matrix in the results; default: the file's name")
    parser.add_argument(
        "--precision", action="append", choices=["float32", "float64"], help="may be repeated; default: the file's own"
    )
    parser.add_argument("--warm-ups", type=count, default=5, metavar="N")
    parser.add_argument("--repetitions", type=count, default=50, metavar="N")
    parser.add_argument("--out", metavar="FILE.json", help="file for the results; default: standard output")
    options = parser.parse_args()
    if options.name and len(options.files) > 1:
        parser.error("--name is for one file")
    cupy = gpu_library()
    entries = []
    for path in options.files:
        try:
            entries += measure(path, options, cupy)
        except (OSError, ValueError, KeyError, EOFError, MemoryError, zipfile.BadZipFile) as error:
            sys.exit(f"peers.py: {path}: {' '.join(str(error).split()) or type(error).__name__}")
    text = "[\n" + ",\n".join(json.dumps(entry, allow_nan=False) for entry in entries) + "\n]\n"
    if options.out is None:
        sys.stdout.write(text)
        return
    try:
        with open(options.out, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        sys.exit(f"peers.py: {options.out}: {error.strerror}")


if __name__ == "__main__":
    main()
