"""Conjugate gradients here and in SciPy or CuPy: python conjugate_gradients.py [--device cuda:0] [MATRIX ...]

Each MATRIX is a file or a text for `warp_spmv.generate`, and symmetric positive definite. The right-hand side is A times a
known vector, so that the error of x is known as well.
"""

# %% What to solve, and where
import argparse
import inspect
import os
import time

import numpy as np

import warp_spmv

arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
arguments.add_argument("matrices", nargs="*", metavar="MATRIX", default=["stencil:5:60", "stencil:7:20"])
arguments.add_argument("--device", default="cpu", help="'cpu', or the GPU that both work on (default: cpu)")
arguments.add_argument("--tolerance", type=float, default=1e-8, help="of the residual, relative to b (default: 1e-8)")
arguments.add_argument("--preconditioner", help="for warp_spmv, such as jacobi or ic0 (default: none)")
arguments = arguments.parse_args()
on_gpu = arguments.device != "cpu"


def load(name):
    return warp_spmv.read(name) if os.path.exists(name) else warp_spmv.generate(name)


# %% Here: NumPy arrays on the CPU, and CuPy arrays on the GPU
def here(S, b):
    A = warp_spmv.matrix(S, device=arguments.device)
    if on_gpu:
        import cupy

        b = cupy.asarray(b)
    warp_spmv.solve(A, b, maxiter=2)
    begin = time.perf_counter()
    x, report = warp_spmv.solve(
        A, b, method="cg", preconditioner=arguments.preconditioner, tol=arguments.tolerance, maxiter=100_000
    )
    x = x.get() if on_gpu else x
    seconds = time.perf_counter() - begin
    assert report.converged, report
    return x, report.iterations, seconds


# %% There: the same interface on the CPU and on the GPU
def there(S, b):
    if on_gpu:
        import cupy as arrays
        import cupyx.scipy.sparse as sparse
        from cupyx.scipy.sparse.linalg import cg

        # Older versions have another name for it.
        name = "rtol" if "rtol" in inspect.signature(cg).parameters else "tol"
        A, tolerance = sparse.csr_matrix(S), {name: arguments.tolerance}
    else:
        import numpy as arrays
        from scipy.sparse.linalg import cg

        A, tolerance = S, {"rtol": arguments.tolerance}
    iterations = 0

    def count(_):
        nonlocal iterations
        iterations += 1

    b = arrays.asarray(b)
    cg(A, b, maxiter=2)
    begin = time.perf_counter()
    x, info = cg(A, b, maxiter=100_000, callback=count, **tolerance)
    x = x.get() if on_gpu else x
    seconds = time.perf_counter() - begin
    assert info == 0, f"no convergence: {info}"
    return x, iterations, seconds


# %% Both
for name in arguments.matrices:
    S = load(name)
    expected = np.random.default_rng(0).standard_normal(S.shape[0])
    b = S @ expected
    print(f"{name}: {S.shape[0]} unknowns, {S.nnz} entries")
    times = []
    for library, solve in (("warp_spmv", here), ("CuPy" if on_gpu else "SciPy", there)):
        x, iterations, seconds = solve(S, b)
        residual = np.linalg.norm(b - S @ x) / np.linalg.norm(b)
        error = np.linalg.norm(x - expected) / np.linalg.norm(expected)
        print(
            f"  {library}: {iterations} iterations, {1e3 * seconds:.1f} ms; residual {residual:.1e}, error {error:.1e}"
        )
        assert residual <= 2 * arguments.tolerance
        times.append(seconds)
    print(f"  {times[1] / times[0]:.2f} times as fast")
