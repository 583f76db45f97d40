"""Systems of equations."""

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
    """What came of `solve`."""

    outcome: str
    """How it ended: "converged", "iteration limit", "time limit", "stopped by the caller", "stagnated", or
    "breakdown: " and why."""
    converged: bool
    """Whether the norm of b - A x, computed anew at the end, is within the tolerance."""
    interrupted: bool
    """Whether Ctrl-C ended it."""
    iterations: int
    """Iterations done."""
    residual_norm: float
    """The norm of b - A x for the x returned, computed anew."""
    right_hand_side_norm: float
    """The norm of b."""
    history: npt.NDArray[np.float64] = field(repr=False)
    """The norm of b - A x for the first x, then that of the residual after each iteration as the method computes it."""
    restarts: int
    """How often the method began anew from the x that it had."""
    seconds: float
    """Time in all."""


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
    """Solves A x = b on the matrix's device; x and a `Report`. Where b has columns, so has x, and the reports are a list.

    That a method fails is no exception, but said by the report; x is then the last iterate. Ctrl-C ends it the same
    way.

    Parameters
    ----------
    A
        A `Matrix`, or what `matrix` takes.
    b, x0
        The right-hand side, and the x to begin with, zeros unless it is given; or an array of several in its columns. Where
        they are on the matrix's GPU, x is there as well, in an array of the same library: they are used where they lie, in
        the order of the stream that the library works on, and have to be contiguous and of the matrix's type. Of several
        whose rows come first, the library makes a copy there.
    method
        "cg" and "pipelined-cg" for symmetric positive definite matrices, "minres" for symmetric ones, "bicgstab" and
        "gmres" for any, "chebyshev". Where symmetric is asked for, a complex matrix must be Hermitian. Columns are solved
        for one after the other, each with a report of its own. "block-cg", for symmetric positive definite matrices of
        real numbers, takes up to 32 together, in fewer iterations, without a preconditioner, and with one report: the norms
        are then Frobenius norms of all columns, and it breaks down where some columns of the residual make up others.
    preconditioner
        An approximation of the inverse of A: "jacobi", "block-jacobi", "neumann", "chebyshev", "ilu0", "ilu0-coloured",
        "ilu0-sweeps", "ic0", "ic0-coloured", "ic0-sweeps"; "block-jacobi", "neumann", "chebyshev" and the sweeps may end
        in a number, as in "block-jacobi-8". "amg" is multigrid, "saddle" multigrid for saddle points; their options come
        after a colon, as in "amg:cycle=w,node=3". Or a `Preconditioner` that was made before; or, for a matrix on the CPU,
        what SciPy's solvers take as M, such as a `LinearOperator`, or a function that gets an array of NumPy and returns one:
        what it raises is raised here.
    near_null_space, coordinates
        For "amg", as for `Preconditioner`.
    tol, atol
        Converged when the norm of b - A x is at most tol times that of b, or at most atol.
    maxiter, timeout
        Iterations and seconds at most, for each column.
    callback
        Called with a `Progress` for each iteration: on the CPU at once, on a GPU after each sixteenth. A true result
        ends the solve, that of later columns too, and so does an exception, which `solve` then raises.

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
