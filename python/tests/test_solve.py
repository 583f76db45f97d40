"""Our solvers, on systems with known solutions."""

import numpy as np
import pytest
import scipy.sparse
from matrices import hermitian_laplacian, laplacian

import warp_spmv

RNG = np.random.default_rng(1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("method", ["cg", "pipelined-cg", "minres", "bicgstab", "gmres", "chebyshev"])
@pytest.mark.parametrize("preconditioner", [None, "jacobi"])
def test_methods(method, preconditioner, dtype):
    S = laplacian(dtype=dtype)
    A = warp_spmv.matrix(S, device="cpu")
    b = S @ np.ones(144, dtype)
    tol = 1e-4 if dtype == np.float32 else 1e-9
    x, report = warp_spmv.solve(A, b, method=method, preconditioner=preconditioner, tol=tol)
    assert x.dtype == dtype
    assert report.converged and report.outcome == "converged" and not report.interrupted
    residual = np.linalg.norm(b.astype(float) - S.astype(float) @ x)
    assert residual <= 1.01 * tol * np.linalg.norm(b)
    assert report.residual_norm == pytest.approx(residual, rel=0.1, abs=tol * 1e-3)
    assert len(report.history) == report.iterations + 1 and report.history[0] == pytest.approx(np.linalg.norm(b))
    np.testing.assert_allclose(x, 1, atol=1e3 * tol)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("method", ["cg", "pipelined-cg", "minres", "bicgstab", "gmres", "chebyshev"])
@pytest.mark.parametrize("preconditioner", [None, "jacobi"])
def test_methods_on_hermitian_matrices(method, preconditioner, dtype):
    S = hermitian_laplacian(dtype=dtype)
    assert abs(S.imag).max() > 0.5
    b = RNG.random(144) + 1j * RNG.random(144)
    tol = 1e-4 if dtype == np.complex64 else 1e-9
    A = warp_spmv.matrix(S, device="cpu")
    x, report = warp_spmv.solve(A, b.astype(dtype), method=method, preconditioner=preconditioner, tol=tol)
    assert x.dtype == dtype and report.converged
    assert np.linalg.norm(b - S.astype(complex) @ x) <= 1.1 * tol * np.linalg.norm(b)


def test_a_matrix_that_is_not_hermitian():
    S = warp_spmv.generate("helmholtz:grid=12x12,wavenumber=0.5,damping=0.1", np.complex128)
    b = RNG.random(144) + 1j * RNG.random(144)
    x, report = warp_spmv.solve(warp_spmv.matrix(S, device="cpu"), b, method="gmres", preconditioner="ilu0", tol=1e-9)
    assert report.converged and np.linalg.norm(b - S @ x) <= 1.1e-9 * np.linalg.norm(b)


@pytest.mark.parametrize(
    "preconditioner",
    ["block-jacobi-4", "neumann-2", "chebyshev", "ilu0", "ic0", "ic0-coloured", "ic0-sweeps-3", "amg:cycle=w", "saddle"],
)
def test_preconditioners_save_iterations(preconditioner):
    A = warp_spmv.matrix(laplacian(24), "sell-p", "cpu")
    b = RNG.random(576)
    (_, plain), (_, with_one) = warp_spmv.solve(A, b), warp_spmv.solve(A, b, preconditioner=preconditioner)
    assert with_one.converged and with_one.iterations < plain.iterations


@pytest.mark.filterwarnings("ignore:warp_spmv runs on the CPU")
def test_a_start_and_a_matrix_of_scipy():
    S = laplacian()
    x = RNG.random(144)
    y, report = warp_spmv.solve(S, S @ x, x)
    assert report.iterations == 0 and (x == y).all() and x is not y


def test_it_says_why_it_ended():
    A = warp_spmv.matrix(laplacian(40), device="cpu")
    b = RNG.random(1600)
    x, report = warp_spmv.solve(A, b, maxiter=3)
    assert (report.outcome, report.converged, report.iterations) == ("iteration limit", False, 3)
    assert report.residual_norm == pytest.approx(np.linalg.norm(b - A @ x))
    _, report = warp_spmv.solve(A, b, timeout=0.0, tol=1e-12)
    assert report.outcome == "time limit"
    _, report = warp_spmv.solve(warp_spmv.matrix(-laplacian(), device="cpu"), np.ones(144))
    assert report.outcome.startswith("breakdown: ") and not report.converged


def test_a_callback_hears_of_each_iteration_and_can_stop():
    A = warp_spmv.matrix(laplacian(40), device="cpu")
    heard = []
    _, report = warp_spmv.solve(A, np.ones(1600), callback=heard.append)
    assert [progress.iteration for progress in heard] == list(range(1, report.iterations + 1))
    assert [progress.residual_norm for progress in heard] == list(report.history[1:])
    assert all(progress.seconds >= 0 for progress in heard)
    x, report = warp_spmv.solve(A, np.ones(1600), callback=lambda progress: progress.iteration == 5)
    assert (report.outcome, report.iterations, report.interrupted) == ("stopped by the caller", 5, False)
    assert report.residual_norm == pytest.approx(np.linalg.norm(1 - A @ x))


def test_an_exception_of_a_callback_is_raised():
    A = warp_spmv.matrix(laplacian(40), device="cpu")

    def fail(progress):
        raise LookupError(f"in iteration {progress.iteration}")

    with pytest.raises(LookupError, match="in iteration 1"):
        warp_spmv.solve(A, np.ones(1600), callback=fail)
    assert warp_spmv.solve(A, np.ones(1600))[1].converged


def test_a_callback_cannot_wait_for_its_own_solve():
    A = warp_spmv.matrix(laplacian(40), device="cpu")
    with pytest.raises(RuntimeError, match="a callback cannot multiply"):
        warp_spmv.solve(A, np.ones(1600), callback=lambda progress: A @ np.ones(1600))
    assert (A @ np.ones(1600)).sum() > 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128])
@pytest.mark.parametrize("order", ["C", "F"])
def test_several_right_hand_sides(dtype, order):
    A = warp_spmv.matrix(laplacian(dtype=dtype), device="cpu")
    B = np.asarray(RNG.random((144, 5)).astype(dtype), order=order)
    X, reports = warp_spmv.solve(A, B, preconditioner="jacobi", tol=1e-5)
    assert X.shape == (144, 5) and X.dtype == dtype and len(reports) == 5
    for column in range(5):
        x, report = warp_spmv.solve(A, B[:, column], preconditioner="jacobi", tol=1e-5)
        assert (x == X[:, column]).all() and report.iterations == reports[column].iterations
    again, reports = warp_spmv.solve(A, B, X, tol=1e-4)
    assert (again == X).all() and [report.iterations for report in reports] == [0] * 5
    _, reports = warp_spmv.solve(A, B, callback=lambda progress: progress.iteration == 3)
    assert [(report.outcome, report.iterations) for report in reports] == [("stopped by the caller", 3)]


@pytest.mark.parametrize("format", ["csr-vector", "csr-tiled", "sell-p"])
def test_right_hand_sides_together(format):
    S = laplacian(24)
    A = warp_spmv.matrix(S, format, "cpu")
    B = RNG.random((576, 4))
    X, [report] = warp_spmv.solve(A, B, method="block-cg", tol=1e-9)
    assert report.converged and np.linalg.norm(B - S @ X) <= 1.01e-9 * np.linalg.norm(B)
    assert report.right_hand_side_norm == pytest.approx(np.linalg.norm(B))
    _, reports = warp_spmv.solve(A, B, tol=1e-9)
    assert report.iterations < max(report.iterations for report in reports)
    x, report = warp_spmv.solve(A, B[:, 0], method="block-cg", tol=1e-9)
    assert x.shape == (576,) and report.converged


def test_right_hand_sides_that_are_refused():
    A = warp_spmv.matrix(laplacian(), device="cpu")
    for b, message in [
        (np.ones((143, 2)), r"b has shape \(143, 2\), expected \(144, 2\)"),
        (np.ones((144, 2, 1)), r"b has shape \(144, 2, 1\), expected \(144,\)"),
    ]:
        with pytest.raises(ValueError, match=message):
            warp_spmv.solve(A, b)
    with pytest.raises(ValueError, match=r"x0 has shape \(144,\), expected \(144, 2\)"):
        warp_spmv.solve(A, np.ones((144, 2)), np.ones(144))
    with pytest.raises(ValueError, match="33"):
        warp_spmv.solve(A, np.ones((144, 33)), method="block-cg")
    with pytest.raises(ValueError, match="block-cg takes no preconditioner"):
        warp_spmv.solve(A, np.ones((144, 2)), method="block-cg", preconditioner="jacobi")
    with pytest.raises(ValueError, match="coo-16 has no kernel for several right-hand sides"):
        warp_spmv.solve(warp_spmv.matrix(laplacian(), "coo-16", "cpu"), np.ones((144, 2)), method="block-cg")
    with pytest.raises(TypeError, match="block-cg takes a matrix of float32 or float64, found complex128"):
        warp_spmv.solve(warp_spmv.matrix(hermitian_laplacian(), device="cpu"), np.ones(144), method="block-cg")
    X, reports = warp_spmv.solve(A, np.ones((144, 0)))
    assert X.shape == (144, 0) and reports == []


def test_empty_systems():
    x, report = warp_spmv.solve(warp_spmv.matrix(scipy.sparse.csr_array((0, 0)), device="cpu"), np.ones(0))
    assert x.shape == (0,) and report.converged
