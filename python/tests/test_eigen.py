"""Our eigenvalue methods."""

import numpy as np
import pytest
from matrices import hermitian_laplacian, laplacian

import warp_spmv


@pytest.mark.parametrize("which", ["LA", "SA"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_eigenpairs(which, dtype):
    S = laplacian(dtype=dtype)
    A = warp_spmv.matrix(S, device="cpu")
    tol = 1e-4 if dtype == np.float32 else 1e-8
    w, v, report = warp_spmv.eigsh(A, k=4, which=which, tol=tol)
    assert report.converged and v.shape == (144, 4) and v.dtype == dtype
    every = np.linalg.eigvalsh(S.toarray().astype(float))
    np.testing.assert_allclose(
        w, every[-4:] if which == "LA" else every[:4], atol=1e-3 if dtype == np.float32 else 1e-7
    )
    np.testing.assert_allclose(np.linalg.norm(S @ v - v * w, axis=0), report.residual_norms, atol=10 * tol)
    np.testing.assert_allclose(v.T @ v, np.eye(4), atol=1e-5)
    assert len(report.history) >= report.iterations > 0


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_hermitian_matrices(dtype):
    S = hermitian_laplacian(dtype=dtype)
    A = warp_spmv.matrix(S, device="cpu")
    tol = 1e-4 if dtype == np.complex64 else 1e-8
    w, v, report = warp_spmv.eigsh(A, k=3, which="SA", tol=tol)
    assert report.converged and v.dtype == dtype and w.dtype == np.float64
    every = np.linalg.eigvalsh(S.toarray().astype(complex))
    np.testing.assert_allclose(w, every[:3], atol=1e-3 if dtype == np.complex64 else 1e-7)
    np.testing.assert_allclose(v.conj().T @ v, np.eye(3), atol=1e-4)
    smallest, largest = warp_spmv.spectral_bounds(A, 30)
    assert every[0] - 1e-3 <= smallest < every[0] + 0.2 and every[-1] - 1e-3 <= largest < 1.5 * every[-1]


def test_a_start_and_a_preconditioner():
    A = warp_spmv.matrix(laplacian(), device="cpu")
    w, v, first = warp_spmv.eigsh(A, k=3, which="SA", preconditioner="ic0")
    _, _, second = warp_spmv.eigsh(A, k=3, which="SA", v0=v[:, ::-1])
    assert first.converged and second.converged and second.iterations < first.iterations
    with pytest.raises(ValueError, match=r"v0 has shape \(144, 2\), expected \(144, 3\)"):
        warp_spmv.eigsh(A, k=3, v0=v[:, :2])


def test_it_can_be_stopped():
    A = warp_spmv.matrix(laplacian(), device="cpu")
    _, _, report = warp_spmv.eigsh(A, callback=lambda progress: progress.iteration == 2, tol=1e-12)
    assert report.outcome == "stopped by the caller" and not report.converged


def test_bounds():
    S = laplacian()
    smallest, largest = warp_spmv.spectral_bounds(warp_spmv.matrix(S, device="cpu"), 30)
    every = np.linalg.eigvalsh(S.toarray())
    assert every[0] - 1e-9 <= smallest < every[0] + 0.2 and every[-1] - 1e-9 <= largest < 1.5 * every[-1]
