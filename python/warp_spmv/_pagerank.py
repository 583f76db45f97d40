"""PageRank."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ._arguments import number
from ._arrays import Array, on_host
from ._device import default_device
from ._matrix import Matrix, native_csr
from ._progress import Callback, listener, stopping


@dataclass(frozen=True)
class PagerankReport:
    """What came of `pagerank`."""

    outcome: str
    """How it ended, as in `Report`."""
    converged: bool
    """Whether the ranks changed by at most the tolerance in the last iteration."""
    interrupted: bool
    """Whether Ctrl-C ended it."""
    iterations: int
    """Iterations done."""
    history: npt.NDArray[np.float64] = field(repr=False)
    """The L1 norm of the change in each iteration."""
    seconds: float
    """Time in all."""


def pagerank(
    graph: Any,
    damping: float = 0.85,
    personalization: Any = None,
    *,
    device: str | None = None,
    tol: float = 1e-6,
    maxiter: int = 10_000,
    timeout: float | None = None,
    callback: Callback | None = None,
) -> tuple[Array, PagerankReport]:
    """The PageRanks of the vertices of a graph, which add up to 1, and a report.

    `graph` is anything that `matrix` takes: an entry in row i and column j is an edge from vertex i to vertex j of that
    weight. A vertex without edges passes its rank on by `personalization`, a number for each vertex, as all do with the
    share 1 - damping; the same for all unless it is given. Without `device`, it is that of a `Matrix`, or as for
    `matrix`. Converged when the ranks change by at most tol in the L1 norm.

    >>> import scipy.sparse, warp_spmv
    >>> graph = scipy.sparse.coo_array(([1.0, 1.0, 1.0], ([0, 1, 2], [2, 2, 0])))
    >>> ranks, report = warp_spmv.pagerank(graph, device="cpu")
    >>> report.converged, ranks.argmax(), ranks[1].round(6)
    (True, np.int64(2), np.float64(0.05))
    """
    weights = None
    if personalization is not None:
        weights = np.asarray(on_host("personalization", personalization), np.float64)
        if weights.ndim != 1:
            raise ValueError(f"personalization has shape {weights.shape}, expected one dimension")
    csr = native_csr(graph)
    place = device or (graph.device if isinstance(graph, Matrix) else default_device())
    stop = stopping(tol, 0.0, maxiter, timeout)
    ranks, report = csr.pagerank(place, number("damping", damping), weights, stop, listener(callback))
    return ranks, PagerankReport(**{**report, "history": np.array(report["history"])})
