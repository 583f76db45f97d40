"""SciPy's solvers with our matrices, compared with SciPy's own."""

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.linalg as linalg
from matrices import TYPES, laplacian

import warp_spmv


def matrices(dtype=np.float64, format="auto", skew=0.0):
    S = laplacian(dtype=dtype)
    if skew:
        S = scipy.sparse.csr_array(S + skew * scipy.sparse.triu(S))
    return S, warp_spmv.matrix(S, format, "cpu")


@pytest.mark.parametrize("format", ["csr-vector", "sell-p"])
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("solver", [linalg.cg, linalg.gmres, linalg.bicgstab, linalg.minres, linalg.bicg, linalg.qmr])
def test_systems(solver, dtype, format):
    if solver is linalg.minres and dtype.kind == "c":
        pytest.skip("SciPy's minres is for real numbers")
    S, A = matrices(dtype, format)
    b = S @ np.ones(144, dtype)
    x, info = solver(A, b, rtol=1e-5)
    assert info == 0
    # SciPy's minres uses another norm to stop.
    assert np.linalg.norm(S @ x - b) <= 1e-3 * np.linalg.norm(b)


def test_matrices_that_are_not_symmetric():
    S, A = matrices(skew=0.5)
    b = S @ np.arange(144.0)
    for solver in (linalg.gmres, linalg.bicgstab, linalg.lgmres):
        x, info = solver(A, b, rtol=1e-10)
        assert info == 0 and np.allclose(x, np.arange(144.0), atol=1e-5)
    np.testing.assert_allclose(linalg.lsqr(A, b, atol=1e-12, btol=1e-12)[0], np.arange(144.0), atol=1e-5)


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
def test_eigenvalues(dtype):
    S, A = matrices(dtype)
    expected = np.linalg.eigvalsh(S.toarray())
    w, v = linalg.eigsh(A, k=3)
    np.testing.assert_allclose(np.sort(w), expected[-3:])
    np.testing.assert_allclose(S @ v, v * w, atol=1e-8)
    assert np.allclose(linalg.svds(A, k=2, return_singular_vectors=False), expected[-2:])


def test_blocks():
    S, A = matrices()
    X = np.random.default_rng(0).random((144, 4))
    w, _ = linalg.lobpcg(A, X, largest=True, tol=1e-6, maxiter=200)
    np.testing.assert_allclose(np.sort(w), np.linalg.eigvalsh(S.toarray())[-4:], atol=1e-6)
    assert np.allclose(
        linalg.expm_multiply(linalg.aslinearoperator(A), X[:, 0], traceA=0), linalg.expm_multiply(S, X[:, 0])
    )


def test_linear_operators_of_ours():
    S, A = matrices()
    operator = linalg.aslinearoperator(A)
    assert operator.shape == (144, 144) and operator.dtype == np.float64
    x = np.random.default_rng(0).random(144)
    twice = 2 * operator + operator.H @ operator
    np.testing.assert_allclose(twice @ x, 2 * (S @ x) + S.T @ (S @ x))
    np.testing.assert_allclose(operator.matvec(x[:, None]), (S @ x)[:, None])
