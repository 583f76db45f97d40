"""Systems of equations."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ._arrays import converted, like, on_host
from ._matrix import Matrix, check_shape, matrix
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
    preconditioner: str | None = None,
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
        The right-hand side, and the x to begin with, zeros unless it is given; or an array of several in its columns.
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
        after a colon, as in "amg:cycle=w,node=3".
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
    found = operator._plan.solve(right, x, method, preconditioner, stop, listener(callback))
    reports = [Report(**{**report, "history": np.array(report["history"])}) for report in found]
    return like(b, x), reports if several else reports[0]
