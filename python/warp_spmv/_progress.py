"""Common to solvers: stopping criteria and progress."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ._arguments import count, number


class Progress(NamedTuple):
    """The progress of a solver."""

    iteration: int
    """The one-based iteration."""
    residual_norm: float
    """The norm of the residual after it, as the method computes it; for PageRank, the L1 norm of the change."""
    seconds: float
    """Elapsed time."""


Callback = Callable[[Progress], object]


def stopping(tol: float, atol: float, maxiter: int, timeout: float | None) -> dict[str, Any]:
    return {
        "tol": number("tol", tol),
        "atol": number("atol", atol),
        "maxiter": count("maxiter", maxiter, 2**32 - 1),
        "timeout": None if timeout is None else number("timeout", timeout),
    }


def listener(callback: Callback | None) -> Callable[[int, float, float], object] | None:
    if callback is None:
        return None
    return lambda *progress: callback(Progress(*progress))
