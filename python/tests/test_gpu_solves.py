"""Solvers on a GPU: vectors of other libraries used in place, and kept preconditioners. Needs a GPU, and CuPy or
PyTorch."""

import numpy as np
import pytest
import scipy.sparse.linalg
from gpu_libraries import CuPy, Torch
from matrices import TYPES, hermitian_laplacian, laplacian

import warp_spmv
from warp_spmv import _native

pytestmark = pytest.mark.skipif(_native.why_no_gpu() is not None, reason="there is no GPU")


@pytest.fixture(params=[Torch, CuPy], scope="module")
def library(request):
    return request.param()


def of_type(points, dtype):
    return hermitian_laplacian(points, dtype) if dtype.kind == "c" else laplacian(points, dtype)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("method", ["cg", "pipelined-cg", "minres", "bicgstab", "gmres"])
def test_the_same_bits_as_with_numpys_arrays(library, method, dtype):
    S = of_type(30, dtype)
    generator = np.random.default_rng(0)
    b, x0 = generator.random(900).astype(dtype), generator.random(900).astype(dtype)
    for source in (S, library.csr(S, np.int32)):
        A = warp_spmv.matrix(source, "csr-vector", "cuda")
        for start in (None, x0):
            for preconditioner in (None, "jacobi"):
                wanted = {"method": method, "preconditioner": preconditioner, "tol": 1e-4}
                expected, of_numpy = warp_spmv.solve(A, b, start, **wanted)
                theirs, begin = library.array(b), None if start is None else library.array(start)
                x, report = warp_spmv.solve(A, theirs, begin, **wanted)
                assert type(x) is type(theirs) and x.dtype == theirs.dtype
                assert (report.outcome, report.iterations) == (of_numpy.outcome, of_numpy.iterations)
                np.testing.assert_array_equal(library.numpy(x), expected)
                np.testing.assert_array_equal(library.numpy(theirs), b)
                if begin is not None:
                    np.testing.assert_array_equal(library.numpy(begin), x0)


@pytest.mark.parametrize("method", ["cg", "block-cg"])
def test_several_right_hand_sides(library, method):
    A = warp_spmv.matrix(laplacian(30), "csr-tiled", "cuda")
    B = np.random.default_rng(0).random((900, 4))
    expected, of_numpy = warp_spmv.solve(A, B, method=method, tol=1e-9)
    for theirs in (library.array(B), library.array(B.T).T):
        X, reports = warp_spmv.solve(A, theirs, method=method, tol=1e-9)
        assert type(X) is type(theirs) and [report.iterations for report in reports] == [
            report.iterations for report in of_numpy
        ]
        np.testing.assert_array_equal(library.numpy(X), expected)
        again, reports = warp_spmv.solve(A, theirs, X, method=method, tol=1e-8)
        assert [report.iterations for report in reports] == [0] * len(reports)
        np.testing.assert_array_equal(library.numpy(again), expected)
    X, reports = warp_spmv.solve(A, library.array(B[:, :0]))
    assert tuple(X.shape) == (900, 0) and reports == []


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_numbers_at_the_ends_of_their_range(library, size):
    # The solver then solves a multiple of the system, with its own vectors.
    A = warp_spmv.matrix(laplacian(20), "csr-vector", "cuda")
    b = size * np.random.default_rng(0).random(400)
    x, report = warp_spmv.solve(A, library.array(b), tol=1e-9)
    assert report.converged
    np.testing.assert_array_equal(library.numpy(x), warp_spmv.solve(A, b, tol=1e-9)[0])


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("which", ["LA", "SA"])
def test_eigenvectors(library, which, dtype):
    A = warp_spmv.matrix(of_type(20, dtype), "csr-vector", "cuda")
    start = np.random.default_rng(0).random((400, 4)).astype(dtype)
    expected_w, expected_v, of_numpy = warp_spmv.eigsh(A, 4, which, start, tol=1e-4)
    for theirs in (library.array(start), library.array(start.T).T):
        w, v, report = warp_spmv.eigsh(A, 4, which, theirs, tol=1e-4)
        assert type(v) is type(theirs) and type(w) is type(theirs) and report.iterations == of_numpy.iterations
        np.testing.assert_array_equal(library.numpy(w), expected_w)
        np.testing.assert_array_equal(library.numpy(v), expected_v)
    assert (np.diff(expected_w) >= 0).all()


def test_pagerank(library):
    graph = abs(laplacian(40))
    weights = np.random.default_rng(0).random(1600)
    expected, of_numpy = warp_spmv.pagerank(graph, personalization=weights, device="cuda")
    theirs = library.array(weights)
    for source in (graph, library.csr(graph, np.int32), warp_spmv.matrix(graph, device="cuda:0")):
        ranks, report = warp_spmv.pagerank(source, personalization=theirs)
        assert type(ranks) is type(theirs) and report.iterations == of_numpy.iterations
        np.testing.assert_array_equal(library.numpy(ranks), expected)
    ranks, report = warp_spmv.pagerank(library.csr(graph, np.int32))
    assert type(ranks) is type(theirs) and report.converged
    np.testing.assert_array_equal(library.numpy(ranks), warp_spmv.pagerank(graph, device="cuda")[0])
    bounds = warp_spmv.spectral_bounds(library.csr(laplacian(40), np.int32))
    expected = warp_spmv.spectral_bounds(warp_spmv.matrix(laplacian(40), "csr-vector", "cuda"))
    # Another format may have been chosen, which rounds differently.
    np.testing.assert_allclose(bounds, expected, rtol=1e-10)


def test_solves_are_in_the_order_of_the_callers_stream(library):
    S = laplacian(60)
    A = warp_spmv.matrix(S, "csr-vector", "cuda:0")
    right = np.random.default_rng(0).random(3600)
    wrong, ours = library.array(np.full(3600, np.nan)), library.array(right)
    b, begin = library.array(np.zeros(3600)), library.array(np.zeros(3600))
    M = warp_spmv.Preconditioner(A, "jacobi")
    warp_spmv.solve(A, ours, preconditioner=M)
    expected, preconditioned = warp_spmv.solve(A, right, preconditioner=M, tol=1e-9)[0], M @ right
    for stream in (library.stream(), library.stream()):
        library.wait()
        with library.on(stream):
            library.work()
            b[:] = ours
            begin[:] = 0
            x, report = warp_spmv.solve(A, b, begin, preconditioner=M, tol=1e-9)
            copy = x + 0
            b[:] = wrong
            begin[:] = wrong
            x[:] = wrong
            library.work()
            b[:] = ours
            z = M @ b
            of_z = z + 0
            b[:] = wrong
            z[:] = wrong
        library.wait()
        assert report.converged
        np.testing.assert_array_equal(library.numpy(copy), expected)
        np.testing.assert_array_equal(library.numpy(of_z), preconditioned)


def test_a_solve_takes_no_memory_for_long(library):
    S = warp_spmv.generate("stencil:7:100")
    A = warp_spmv.matrix(library.csr(S, np.int32), "csr-vector")
    b = library.array(np.ones(S.shape[0]))
    # Makes the one-time allocations of an executor.
    x, _ = warp_spmv.solve(A, b, maxiter=5)
    free = library.free_memory()
    for _ in range(20):
        x, _ = warp_spmv.solve(A, b, x, maxiter=5)
    # Libraries allocate memory for several vectors at a time.
    assert free - library.free_memory() <= 5 * S.shape[0] * 8


@pytest.mark.parametrize("name", ["jacobi", "ic0", "ic0-coloured", "chebyshev-3", "amg"])
def test_preconditioners_are_kept(library, name):
    S = laplacian(40)
    A = warp_spmv.matrix(S, "csr-vector", "cuda")
    for updates in (False, True):
        A.update_values(S.data)
        M = warp_spmv.Preconditioner(A, name, updates=updates)
        b = np.random.default_rng(0).random(1600)
        theirs = library.array(b)
        np.testing.assert_array_equal(library.numpy(M @ theirs), M @ b)
        out = library.array(b)
        assert M.matvec(theirs, out=out, alpha=2, beta=-1) is out
        np.testing.assert_allclose(library.numpy(out), 2 * (M @ b) - b, rtol=1e-12, atol=1e-14)
        by_name = warp_spmv.solve(A, b, preconditioner=name, tol=1e-9)
        x, report = warp_spmv.solve(A, theirs, preconditioner=M, tol=1e-9)
        assert report.iterations == by_name[1].iterations
        np.testing.assert_array_equal(library.numpy(x), by_name[0])
        A.update_values(library.array(3 * S.data))
        M.refresh()
        np.testing.assert_array_equal(M @ b, warp_spmv.Preconditioner(A, name) @ b)
        z, info = scipy.sparse.linalg.cg(A, b, M=M, rtol=1e-9)
        assert info == 0 and np.linalg.norm(b - 3 * (S @ z)) <= 1.1e-9 * np.linalg.norm(b)


def test_a_preconditioner_is_for_every_matrix_on_the_gpu(library):
    S = laplacian(30)
    ours, theirs = warp_spmv.matrix(S, device="cuda"), warp_spmv.matrix(library.csr(S, np.int32))
    M = warp_spmv.Preconditioner(ours, "ic0")
    b = library.array(np.ones(900))
    assert warp_spmv.solve(theirs, b, preconditioner=M)[1].converged
    on_cpu = warp_spmv.matrix(S, device="cpu")
    with pytest.raises(ValueError, match="preconditioner has device cuda:0, but the matrix cpu"):
        warp_spmv.solve(on_cpu, np.ones(900), preconditioner=M)


def test_cupys_solvers_take_both():
    library = CuPy()
    linalg = pytest.importorskip("cupyx.scipy.sparse.linalg")
    S = laplacian(60)
    A = warp_spmv.matrix(library.csr(S, np.int32))
    b = library.array(np.ones(3600))
    counts = []
    for M in (None, warp_spmv.Preconditioner(A, "ic0")):
        iterations = []
        x, info = linalg.cg(A, b, M=M, callback=lambda _: iterations.append(1))
        assert info == 0
        assert np.linalg.norm(1 - S @ library.numpy(x)) <= 1e-4 * 60
        counts.append(len(iterations))
    assert counts[1] < counts[0]


def test_quick_products_say_what_the_careful_ones_say(library, monkeypatch):
    A = warp_spmv.matrix(laplacian(20), "csr-vector", "cuda")
    x, out = library.array(np.arange(400.0)), library.array(np.ones(400))
    asked = []
    multiply = _native.gpu_multiply
    monkeypatch.setattr(_native, "gpu_multiply", lambda *arguments: (asked.append(arguments), multiply(*arguments))[1])
    careful = type(A)._matvec_on_gpu
    monkeypatch.setattr(type(A), "_matvec_on_gpu", lambda *arguments: pytest.fail("the careful way was taken"))
    with library.on(library.stream()):
        A @ x, A.matvec(x, out=out)
        monkeypatch.setattr(type(A), "_matvec_on_gpu", careful)
        monkeypatch.setattr(type(A), "_quick_product", lambda *_: None)
        A @ x, A.matvec(x, out=out)
    quick, with_out, again, again_with_out = asked
    assert with_out == again_with_out
    # The results are two arrays.
    assert quick[:5] == again[:5] and quick[6:] == again[6:]
    library.wait()
