"""A @ x here and in SciPy, CuPy and PyTorch: python products.py [--device cuda:0] [MATRIX ...]

Each MATRIX is a file or a text for `warp_spmv.generate`. Times are those that a caller sees: many products in a row,
including launches, and one wait at the end. On a GPU, the vectors stay in its memory.
"""

# %% What to multiply, and where
import argparse
import os
import statistics
import time

import numpy as np

import warp_spmv

arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
arguments.add_argument("matrices", nargs="*", metavar="MATRIX", default=["stencil:5:100", "banded:rows=20000,bands=9"])
arguments.add_argument("--device", default="cpu", help="'cpu', or the GPU that all libraries work on (default: cpu)")
arguments.add_argument("--dtype", default="float64", choices=["float32", "float64"])
arguments.add_argument("--products", type=int, default=100, help="products in a row (default: 100)")
arguments = arguments.parse_args()
on_gpu = arguments.device != "cpu"


def load(name):
    if os.path.exists(name):
        return warp_spmv.read(name, arguments.dtype)
    return warp_spmv.generate(name, arguments.dtype)


# %% The libraries
# Each takes the matrix in SciPy's CSR, and returns the matrix and a vector x of the library's own kind, and a function that
# waits for the device.
def with_scipy(S):
    return S, np.ones(S.shape[1], S.dtype), lambda: None


def with_cupy(S):
    import cupy
    import cupyx.scipy.sparse

    return cupyx.scipy.sparse.csr_matrix(S), cupy.ones(S.shape[1], S.dtype), cupy.cuda.Device().synchronize


def with_pytorch(S):
    import torch

    arrays = [torch.from_numpy(array).to(arguments.device) for array in (S.indptr, S.indices, S.data)]
    A = torch.sparse_csr_tensor(*arrays, size=S.shape, check_invariants=False)
    x = torch.ones(S.shape[1], dtype=arrays[2].dtype, device=arguments.device)
    return A, x, torch.cuda.synchronize if on_gpu else lambda: None


def with_warp_spmv(S):
    A = warp_spmv.matrix(S, device=arguments.device)
    if not on_gpu:
        return A, np.ones(S.shape[1], S.dtype), lambda: None
    # Arrays of any library on the GPU are used in place.
    for others in (with_cupy, with_pytorch):
        try:
            _, x, wait = others(S)
        except ImportError:
            continue
        return A, x, wait
    raise SystemExit("on a GPU, CuPy or PyTorch is needed for the vectors")


libraries = {"warp_spmv": with_warp_spmv, "PyTorch": with_pytorch}
libraries["CuPy" if on_gpu else "SciPy"] = with_cupy if on_gpu else with_scipy


# %% The times
def seconds_of_a_product(A, x, wait):
    """Returns the median of seven turns."""
    times = []
    for turn in range(8):
        wait()
        begin = time.perf_counter()
        for _ in range(arguments.products):
            y = A @ x
        wait()
        times.append((time.perf_counter() - begin) / arguments.products)
    # The first turn warms up.
    return statistics.median(times[1:]), y


ratios = {}
for name in arguments.matrices:
    S = load(name)
    expected = S @ np.ones(S.shape[1], S.dtype)
    line, ours = f"{name}: {S.shape[0]} x {S.shape[1]}, {S.nnz} entries", None
    for library, prepare in libraries.items():
        try:
            A, x, wait = prepare(S)
        except ImportError:
            continue
        seconds, y = seconds_of_a_product(A, x, wait)
        y = np.asarray(y.get() if hasattr(y, "get") else y.cpu() if hasattr(y, "cpu") else y)
        size = abs(S) @ np.ones(S.shape[1], S.dtype)
        assert (abs(y - expected) <= 1e3 * np.finfo(S.dtype).eps * size).all(), f"{library}: a wrong product"
        line += f"; {library} {1e6 * seconds:.1f} µs"
        if library == "warp_spmv":
            line, ours = f"{line} ({A.format})", seconds
        else:
            ratios.setdefault(library, []).append(seconds / ours)
            line += f" ({seconds / ours:.2f} times as long)"
    print(line)

# %% All matrices
for library, all_of_it in ratios.items():
    mean = statistics.geometric_mean(all_of_it)
    print(f"{library} takes {mean:.2f} times as long in the geometric mean, {min(all_of_it):.2f} at least")
