"""PageRank, compared with the solution of a dense system."""

import numpy as np
import pytest
import scipy.sparse

import warp_spmv


def expected(graph, damping, v):
    dense = graph.toarray().astype(float)
    totals = dense.sum(axis=1)
    P = np.where(totals[:, None] > 0, dense / np.maximum(totals, 1e-300)[:, None], v)
    return np.linalg.solve(np.eye(len(v)) - damping * P.T, (1 - damping) * v)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("personalized", [False, True])
def test_ranks(dtype, personalized):
    graph = scipy.sparse.random_array((30, 30), density=0.1, rng=np.random.default_rng(3), dtype=dtype)
    weights = np.arange(30.0) if personalized else None
    v = weights / weights.sum() if personalized else np.full(30, 1 / 30)
    ranks, report = warp_spmv.pagerank(graph, 0.7, weights, device="cpu", tol=1e-6)
    assert ranks.dtype == dtype and report.converged and len(report.history) == report.iterations
    np.testing.assert_allclose(ranks, expected(graph, 0.7, v), atol=1e-5)
    again, _ = warp_spmv.pagerank(warp_spmv.matrix(graph, device="cpu"), 0.7, weights)
    np.testing.assert_allclose(again, ranks, atol=1e-6)


def test_it_can_be_stopped():
    graph = scipy.sparse.random_array((30, 30), density=0.1, rng=np.random.default_rng(3))
    _, report = warp_spmv.pagerank(graph, device="cpu", tol=0, callback=lambda progress: progress.iteration == 4)
    assert (report.outcome, report.iterations) == ("stopped by the caller", 4)
    _, report = warp_spmv.pagerank(graph, device="cpu", tol=0, maxiter=7)
    assert (report.outcome, report.iterations) == ("iteration limit", 7)
