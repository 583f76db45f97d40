#!/usr/bin/env python3
"""Times conjugate gradients of SciPy and, if installed, CuPy, to compare with `warp-spmv solve`.

    warp-spmv convert stencil:7:300 matrix.npz
    scripts/solvers.py matrix.npz --iterations 300 --tolerance 1e-8
    warp-spmv solve stencil:7:300 --iterations 300 --tolerance 0 --time
    warp-spmv solve stencil:7:300 --tolerance 1e-8

b is A x for an x of ones, and the initial x is 0, as there. The time of an iteration is that of 2 N iterations minus that
of N, over N, so that beginning and end do not count; the system is then solved to the tolerance as a user of the library
would, and the result is compared with the x of ones. CuPy multiplies by cuSPARSE and updates vectors by cuBLAS and
elementwise kernels. Prints one JSON array.
"""

import argparse
import inspect
import json
import statistics
import sys
import time
import zipfile

import numpy
import scipy
import scipy.sparse
import scipy.sparse.linalg

from peers import count, gpu_library, processor


def on_cpu(matrix):
    cg = scipy.sparse.linalg.cg
    return {
        "library": f"SciPy {scipy.__version__}",
        "device": processor(),
        "norm": numpy.linalg.norm,
        "matrix": matrix,
        "ones": numpy.ones(matrix.shape[1], matrix.dtype),
        "cg": lambda *system, tolerance, **options: cg(*system, rtol=tolerance, atol=0.0, **options),
        "wait": lambda: None,
    }


def on_gpu(cupy, matrix):
    import cupyx.scipy.sparse
    import cupyx.scipy.sparse.linalg

    cg = cupyx.scipy.sparse.linalg.cg
    # The name of the relative tolerance depends on the version.
    relative = "rtol" if "rtol" in inspect.signature(cg).parameters else "tol"
    arrays = tuple(cupy.asarray(array) for array in (matrix.data, matrix.indices, matrix.indptr))
    device = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.runtime.getDevice())["name"].decode()
    return {
        "library": f"CuPy {cupy.__version__}",
        "device": device,
        "norm": cupy.linalg.norm,
        "matrix": cupyx.scipy.sparse.csr_matrix(arrays, shape=matrix.shape),
        "ones": cupy.ones(matrix.shape[1], matrix.dtype),
        "cg": lambda *system, tolerance, **options: cg(*system, **{relative: tolerance}, atol=0.0, **options),
        "wait": cupy.cuda.get_current_stream().synchronize,
    }


def measure(peer, options):
    """Returns the results of one library."""
    matrix, ones, norm = peer["matrix"], peer["ones"], peer["norm"]
    b = matrix @ ones

    def timed(iterations, tolerance, callback=None):
        peer["wait"]()
        start = time.perf_counter()
        x, _ = peer["cg"](matrix, b, tolerance=tolerance, maxiter=iterations, callback=callback)
        peer["wait"]()
        return time.perf_counter() - start, x

    timed(options.iterations, 0.0)
    samples = []
    for _ in range(options.repetitions):
        once, _ = timed(options.iterations, 0.0)
        twice, _ = timed(2 * options.iterations, 0.0)
        samples.append((twice - once) / options.iterations)
    done = []
    solve, x = timed(options.limit, options.tolerance, lambda _: done.append(None))
    return {
        "library": peer["library"],
        "device": peer["device"],
        "iteration": statistics.median(samples),
        "samples": samples,
        "tolerance": options.tolerance,
        "solve": solve,
        "iterations": len(done),
        "residual": float(norm(b - matrix @ x) / norm(b)),
        "error": float(norm(x - ones) / norm(ones)),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", metavar="FILE.npz", help="a symmetric positive definite matrix")
    parser.add_argument("--precision", choices=["float32", "float64"], help="default: the file's own")
    parser.add_argument(
        "--iterations", type=count, default=100, metavar="N", help="fewer than half of those needed to converge"
    )
    parser.add_argument("--repetitions", type=count, default=5, metavar="N")
    parser.add_argument("--tolerance", type=float, default=1e-8, metavar="NUMBER", help="relative to the norm of b")
    parser.add_argument("--limit", type=count, default=10_000, metavar="N", help="iterations at most to the tolerance")
    parser.add_argument("--no-cpu", action="store_true", help="leave SciPy out")
    options = parser.parse_args()
    try:
        matrix = scipy.sparse.csr_array(scipy.sparse.load_npz(options.file))
        if matrix.shape[0] != matrix.shape[1]:
            raise ValueError(f"{matrix.shape[0]} rows and {matrix.shape[1]} columns, expected a square matrix")
    except (OSError, ValueError, KeyError, EOFError, MemoryError, zipfile.BadZipFile) as error:
        sys.exit(f"solvers.py: {options.file}: {' '.join(str(error).split()) or type(error).__name__}")
    matrix = matrix.astype(options.precision or matrix.dtype)
    peers = [] if options.no_cpu else [on_cpu(matrix)]
    cupy = gpu_library()
    if cupy is not None:
        peers.append(on_gpu(cupy, matrix))
    rows = [measure(peer, options) for peer in peers]
    about = {"file": options.file, "rows": matrix.shape[0], "nonzeros": int(matrix.nnz), "precision": matrix.dtype.name}
    print(json.dumps([about | row for row in rows], indent=1))


if __name__ == "__main__":
    main()
