"""Eigenvalues of symmetric and Hermitian matrices."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _gpu, _native
from ._arguments import count
from ._arrays import converted, on_host
from ._gpu import is_on_gpu
from ._matrix import Matrix, matrix
from ._operator import check_shape
from ._preconditioner import given
from ._progress import Callback, listener, stopping


@dataclass(frozen=True)
class EigenReport:
    """The outcome of `eigsh`."""

    outcome: str
    """The reason for ending, as in `Report`."""
    converged: bool
    """Whether all residuals are within the tolerance."""
    interrupted: bool
    """Whether Ctrl-C interrupted it."""
    iterations: int
    """Number of iterations."""
    residual_norms: npt.NDArray[np.float64] = field(repr=False)
    """Norm of A v - w v per pair."""
    history: npt.NDArray[np.float64] = field(repr=False)
    """Largest residual norm after each iteration."""
    seconds: float
    """Total time."""


def eigsh(
    A: Any,
    k: int = 6,
    which: str = "LA",
    v0: Any = None,
    *,
    preconditioner: Any = None,
    near_null_space: Any = None,
    coordinates: Any = None,
    tol: float = 1e-6,
    atol: float = 0.0,
    maxiter: int = 10_000,
    timeout: float | None = None,
    callback: Callback | None = None,
) -> tuple[Any, Any, EigenReport]:
    """Computes the k largest ("LA") or smallest ("SA") eigenvalues of a symmetric or Hermitian matrix by LOBPCG, on the
    matrix's device. Returns them in ascending order, as SciPy does, their eigenvectors in the columns of an array, and a
    report.

    k is at most 32, and at most a third of the rows. `v0` holds k initial columns; if it is on the matrix's GPU, so are the
    results, in arrays of the same library. Eigenvalues are always float64. Converged when the norm of A v - w v is at most
    atol, or tol times the largest magnitude of all Ritz values, for each pair. The rest is as for `solve`.

    >>> import numpy as np, warp_spmv
    >>> A = warp_spmv.matrix(warp_spmv.generate("stencil:3:60"), device="cpu")
    >>> w, v, report = warp_spmv.eigsh(A, k=3, which="LA")
    >>> report.converged, bool(np.allclose(w, 2 - 2 * np.cos(np.array([58, 59, 60]) * np.pi / 61), atol=1e-5))
    (True, True)
    """
    if which not in ("LA", "SA"):
        raise ValueError(f"which is {which!r}, expected 'LA' or 'SA'")
    operator = A if isinstance(A, Matrix) else matrix(A)
    shape = (operator.shape[1], count("k", k))
    stop = stopping(tol, atol, maxiter, timeout)
    if is_on_gpu(v0):
        start = operator.gpu_operand("v0", v0)
        check_shape("v0", start, shape)
        start = _gpu.columns_first("v0", start)
        vectors = _gpu.empty_like(start, shape[::-1]).T
        place = operator.gpu_operand("the result", vectors)
        inverse = given(operator, preconditioner, near_null_space, coordinates)
        iterates = start.place, place.place, shape[1]
        streams = _gpu.streams(start, place)
        smallest = which == "SA"
        found = _native.gpu_eigenpairs(operator._plan, iterates, smallest, inverse, stop, listener(callback), streams)
        report, w = _report(found)
        return _gpu.like_on_gpu(start, w), vectors, report
    x = np.zeros(shape, operator.dtype, "F")
    if v0 is not None:
        begin = on_host("v0", v0)
        check_shape("v0", begin, shape)
        x[...] = converted("v0", v0, begin, operator.dtype)
    inverse = given(operator, preconditioner, near_null_space, coordinates)
    report, w = _report(operator._plan.eigenpairs(x, which == "SA", inverse, stop, listener(callback)))
    return w, x, report


def _report(found: dict[str, Any]) -> tuple[EigenReport, npt.NDArray[np.float64]]:
    arrays = {name: np.array(found.pop(name)) for name in ("eigenvalues", "residual_norms", "history")}
    w = arrays.pop("eigenvalues")
    return EigenReport(**found, **arrays), w


def spectral_bounds(A: Any, steps: int = 20) -> tuple[float, float]:
    """Estimates both ends of the spectrum of a symmetric or Hermitian matrix by `steps` Lanczos steps.

    The upper end is usually a bound; the lower end exceeds the smallest eigenvalue.

    >>> import warp_spmv
    >>> A = warp_spmv.matrix(warp_spmv.generate("stencil:3:60"), device="cpu")
    >>> smallest, largest = warp_spmv.spectral_bounds(A)
    >>> 0 < smallest < 0.1 and 3.9 < largest < 5
    True
    """
    operator = A if isinstance(A, Matrix) else matrix(A)
    return operator._plan.spectral_bounds(count("steps", steps))
