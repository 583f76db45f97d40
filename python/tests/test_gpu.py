"""What needs a GPU: NumPy's arrays in and out of it."""

import numpy as np
import pytest
import scipy.sparse.linalg
from matrices import TYPES, laplacian, small_integers

import warp_spmv
from warp_spmv import _native

pytestmark = pytest.mark.skipif(_native.why_no_gpu() is not None, reason="there is no GPU")


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("format", warp_spmv.formats())
def test_products(format, dtype):
    S = warp_spmv.generate("stencil:9:20").astype(dtype)
    A = warp_spmv.matrix(S, format, "cuda", updates=True)
    generator = np.random.default_rng(0)
    for _ in range(2):
        S.data = small_integers(generator, S.nnz, dtype)
        A.update_values(S.data)
        x, y, X = (small_integers(generator, shape, dtype) for shape in (400, 400, (400, 3)))
        np.testing.assert_array_equal(A @ x, S @ x)
        np.testing.assert_array_equal(A.H @ x, S.conj().T @ x)
        np.testing.assert_array_equal(A @ X, S @ X)
        expected = 2 * (S @ x) - y
        np.testing.assert_array_equal(A.matvec(x, out=y, alpha=2, beta=-1), expected)


def test_the_same_bits_every_time():
    S = warp_spmv.generate("rmat:scale=12")
    x = np.random.default_rng(0).random(S.shape[1])
    products = [[B @ x for A in [warp_spmv.matrix(S)] for B in (A, A.T)] for _ in range(2)]
    np.testing.assert_array_equal(*products)


def test_solvers():
    A = warp_spmv.matrix(laplacian(60), device="cuda:0")
    assert A.device == "cuda:0"
    b = np.random.default_rng(0).random(3600)
    x, report = warp_spmv.solve(A, b, preconditioner="ic0", tol=1e-10)
    assert report.converged
    z, info = scipy.sparse.linalg.cg(A, b, rtol=1e-10)
    assert info == 0
    np.testing.assert_allclose(x, z, rtol=1e-6)
    w, v, report = warp_spmv.eigsh(A, k=2, tol=1e-8)
    assert report.converged
    np.testing.assert_allclose(A @ v, v * w, atol=1e-6)
    ranks, report = warp_spmv.pagerank(abs(laplacian(60)), device="cuda")
    assert report.converged and ranks.sum() == pytest.approx(1)
