"""Linear systems."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _gpu, _native
from ._arrays import converted, like, on_host
from ._gpu import is_on_gpu
from ._matrix import Matrix, matrix
from ._operator import check_shape
from ._preconditioner import given
from ._progress import Callback, listener, stopping


@dataclass(frozen=True)
class Report:
    """The outcome of `solve`."""

    outcome: str
    """The reason for ending: "converged", "iteration limit", "time limit", "stopped by the caller", "stagnated", or
    "breakdown: " and the cause."""
    converged: bool
    """Whether the norm of b - A x, recomputed at the end, is within the tolerance."""
    interrupted: bool
    """Whether Ctrl-C interrupted it."""
    iterations: int
    """Number of iterations."""
    residual_norm: float
    """The norm of b - A x for the returned x, recomputed."""
    right_hand_side_norm: float
    """The norm of b."""
    history: npt.NDArray[np.float64] = field(repr=False)
    """The norm of b - A x for the initial x, then that of the residual after each iteration, as the method computes it."""
    restarts: int
    """Number of restarts from the current iterate."""
    seconds: float
    """Total time."""


def solve(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    method: str = "cg",
    preconditioner: Any = None,
    near_null_space: Any = None,
    coordinates: Any = None,
    tol: float = 1e-6,
    atol: float = 0.0,
    maxiter: int = 10_000,
    timeout: float | None = None,
    callback: Callback | None = None,
) -> tuple[Any, Any]:
    """Solves A x = b on the matrix's device, and returns x and a `Report`. If b has columns, so has x, and the reports are
    a list.

    A failure of the method raises no exception; the report states it, and x is the last iterate. Ctrl-C also stops the
    solve this way.

    Parameters
    ----------
    A
        A `Matrix`, or what `matrix` takes.
    b, x0
        The right-hand side and the initial x, by default zeros; or arrays of several in their columns. If they are on the
        matrix's GPU, so is x, in an array of the same library: they are used in place, in the order of the stream that the
        library works on, and must be contiguous and of the matrix's type. The library copies several columns in C order
        there.
    method
        "cg" and "pipelined-cg" for symmetric positive definite matrices, "minres" for symmetric ones, "bicgstab" and
        "gmres" for any, "chebyshev". If symmetry is required, a complex matrix must be Hermitian. Columns are solved
        sequentially, with one report per column. "block-cg", for real symmetric positive definite matrices, solves up to 32
        columns together, in fewer iterations, without a preconditioner, and with one report: the norms are then Frobenius
        norms of all columns, and it breaks down if columns of the residual become linearly dependent.
    preconditioner
        An approximate inverse of A: "jacobi", "block-jacobi", "neumann", "chebyshev", "ilu0", "ilu0-coloured",
        "ilu0-sweeps", "ic0", "ic0-coloured", "ic0-sweeps"; "block-jacobi", "neumann", "chebyshev" and the sweeps may end
        in a number, as in "block-jacobi-8". "amg" is multigrid, "saddle" multigrid for saddle points; their options follow
        a colon, as in "amg:cycle=w,node=3". Or an existing `Preconditioner`; or, for a matrix on the CPU, anything that
        SciPy's solvers take as M, such as a `LinearOperator`, or a function from a NumPy array to a NumPy array, whose
        exceptions propagate.
    near_null_space, coordinates
        For "amg", as for `Preconditioner`.
    tol, atol
        Converged when the norm of b - A x is at most tol times that of b, or at most atol.
    maxiter, timeout
        Largest number of iterations and of seconds per column.
    callback
        Called with a `Progress` for each iteration: on the CPU immediately, on a GPU after every sixteenth. A true result
        stops the solve, including later columns; so does an exception, which `solve` then raises.

    >>> import numpy as np, warp_spmv
    >>> A = warp_spmv.matrix(warp_spmv.generate("stencil:5:20"), device="cpu")
    >>> x, report = warp_spmv.solve(A, np.ones(400), preconditioner="ic0", tol=1e-10)
    >>> report.outcome, bool(np.linalg.norm(A @ x - 1) <= 1e-10 * 20)
    ('converged', True)
    >>> X, [report] = warp_spmv.solve(A, np.eye(400, 3), method="block-cg", tol=1e-10)
    >>> X.shape, report.outcome
    ((400, 3), 'converged')
    """
    operator = A if isinstance(A, Matrix) else matrix(A)
    rows, columns = operator.shape
    if is_on_gpu(b) or is_on_gpu(x0):
        return _solve_on_gpu(
            operator,
            b,
            x0,
            method,
            (preconditioner, near_null_space, coordinates),
            stopping(tol, atol, maxiter, timeout),
            callback,
        )
    right = on_host("b", b)
    several = right.shape[1:] if right.ndim == 2 else ()
    check_shape("b", right, (rows, *several))
    right = np.require(converted("b", b, right, operator.dtype), requirements=["F", "A"])
    x = np.zeros((columns, *several), operator.dtype, "F")
    if x0 is not None:
        start = on_host("x0", x0)
        check_shape("x0", start, x.shape)
        x[...] = converted("x0", x0, start, operator.dtype)
    stop = stopping(tol, atol, maxiter, timeout)
    if several == (0,):
        return like(b, x), []
    inverse = given(operator, preconditioner, near_null_space, coordinates)
    found = operator._plan.solve(right, x, method, inverse, stop, listener(callback))
    reports = _reports(found)
    return like(b, x), reports if several else reports[0]


def _reports(found: list[dict[str, Any]]) -> list[Report]:
    return [Report(**{**report, "history": np.array(report["history"])}) for report in found]


def _solve_on_gpu(
    operator: Matrix,
    b: Any,
    x0: Any,
    method: str,
    preconditioner: tuple[Any, Any, Any],
    stop: dict[str, Any],
    callback: Callback | None,
) -> tuple[Any, Any]:
    rows, columns = operator.shape
    right = operator.gpu_operand("b", b)
    several = right.shape[1:] if len(right.shape) == 2 else ()
    check_shape("b", right, (rows, *several))
    arrays = [_gpu.columns_first("b", right)]
    if x0 is not None:
        start = operator.gpu_operand("x0", x0)
        check_shape("x0", start, (columns, *several))
        arrays.append(_gpu.columns_first("x0", start))
    x = _gpu.empty_like(right, (*several, columns))
    if several:
        x = x.T
    arrays.append(operator.gpu_operand("the result", x))
    if several == (0,):
        return x, []
    begin = arrays[1].place if x0 is not None else None
    iterates = begin, arrays[-1].place, several[0] if several else 1
    found = _native.gpu_solve(
        operator._plan,
        arrays[0].place,
        iterates,
        method,
        given(operator, *preconditioner),
        stop,
        listener(callback),
        _gpu.streams(*arrays),
    )
    reports = _reports(found)
    return x, reports if several else reports[0]
