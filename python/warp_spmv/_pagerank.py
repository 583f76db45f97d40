"""PageRank."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _gpu, _native
from ._arguments import number
from ._arrays import on_host
from ._csr import native_csr
from ._device import default_device
from ._gpu import GpuArray, gpu_array, is_on_gpu
from ._matrix import Matrix, matrix
from ._operator import check_shape
from ._progress import Callback, listener, stopping


@dataclass(frozen=True)
class PagerankReport:
    """The outcome of `pagerank`."""

    outcome: str
    """The reason for ending, as in `Report`."""
    converged: bool
    """Whether the ranks changed by at most the tolerance in the last iteration."""
    interrupted: bool
    """Whether Ctrl-C interrupted it."""
    iterations: int
    """Number of iterations."""
    history: npt.NDArray[np.float64] = field(repr=False)
    """L1 norm of the change in each iteration."""
    seconds: float
    """Total time."""


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
) -> tuple[Any, PagerankReport]:
    """Returns the PageRanks of the vertices of a graph, which add up to 1, and a report.

    `graph` is anything that `matrix` takes: an entry in row i and column j is an edge from vertex i to vertex j with that
    weight. A vertex without edges distributes its rank by `personalization`, one number per vertex, as all vertices do with
    the share 1 - damping; by default, equally. `device` defaults to that of a `Matrix`, or as for `matrix`. If
    `personalization` or the arrays of the graph are on a GPU, so are the ranks, in an array of the same library; the
    transition matrix is made on the host, as for any graph. Converged when the ranks change by at most tol in the L1 norm.

    >>> import scipy.sparse, warp_spmv
    >>> graph = scipy.sparse.coo_array(([1.0, 1.0, 1.0], ([0, 1, 2], [2, 2, 0])))
    >>> ranks, report = warp_spmv.pagerank(graph, device="cpu")
    >>> report.converged, ranks.argmax(), ranks[1].round(6)
    (True, np.int64(2), np.float64(0.05))
    """
    damping = number("damping", damping)
    stop = stopping(tol, 0.0, maxiter, timeout)
    arrays = _gpu.sparse_arrays(graph)
    if arrays is not None:
        kind = gpu_array("the graph", arrays[2])
        # Checks the arrays without copying them.
        graph = matrix(graph, "csr-vector", device)
        if personalization is not None and not is_on_gpu(personalization):
            its = _gpu.kind_of(personalization)
            raise TypeError(f"personalization is a {its} in host memory, but the graph is on a GPU")
        return _pagerank_on_gpu(graph, kind, damping, personalization, device, stop, callback)
    if is_on_gpu(personalization):
        kind = gpu_array("personalization", personalization)
        return _pagerank_on_gpu(graph, kind, damping, personalization, device, stop, callback)
    weights = None
    if personalization is not None:
        weights = np.asarray(on_host("personalization", personalization), np.float64)
        if weights.ndim != 1:
            raise ValueError(f"personalization has shape {weights.shape}, expected one dimension")
    csr = native_csr(graph)
    place = device or (graph.device if isinstance(graph, Matrix) else default_device())
    ranks, report = csr.pagerank(place, damping, weights, stop, listener(callback))
    return ranks, _report(report)


def _report(found: dict[str, Any]) -> PagerankReport:
    return PagerankReport(**{**found, "history": np.array(found["history"])})


def _pagerank_on_gpu(
    graph: Any,
    kind: GpuArray,
    damping: float,
    personalization: Any,
    device: str | None,
    stop: dict[str, Any],
    callback: Callback | None,
) -> tuple[Any, PagerankReport]:
    """Returns the ranks in an array of the library and type of `kind`, which is on a GPU."""
    its = f"cuda:{kind.device or 0}"
    operator = graph if isinstance(graph, Matrix) else matrix(graph, "csr-vector", "cpu")
    place = ("cuda:0" if device == "cuda" else device) or (operator.device if graph is operator else its)
    rows = operator.shape[0]
    arrays = []
    if personalization is not None:
        weights = gpu_array("personalization", personalization)
        _gpu.check_device(weights, "personalization", place)
        _gpu.check_type(weights, "personalization", operator.dtype)
        _gpu.check_contiguous(weights, "personalization")
        check_shape("personalization", weights, (rows,))
        arrays.append(weights)
    ranks = _gpu.empty_like(kind, (rows,))
    arrays.append(gpu_array("the ranks", ranks))
    _gpu.check_device(arrays[-1], "the ranks", place)
    report = _native.gpu_pagerank(
        int(place.removeprefix("cuda:")),
        native_csr(operator),
        damping,
        arrays[0].place if personalization is not None else None,
        arrays[-1].place,
        stop,
        listener(callback),
        _gpu.streams(*arrays),
    )
    return ranks, _report(report)
