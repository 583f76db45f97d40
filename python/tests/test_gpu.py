"""Tests that need a GPU: NumPy arrays copied to it and back, and arrays of other libraries used in place."""

import numpy as np
import pytest
import scipy.sparse.linalg
from gpu_arrays import Interface
from gpu_libraries import CuPy, Torch
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


@pytest.fixture(params=[Torch, CuPy], scope="module")
def library(request):
    return request.param()


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("format", ["auto", "csr-tiled", "csr-vector", "coo", "sell-p"])
def test_arrays_of_a_gpu_stay_there(library, format, dtype):
    S = warp_spmv.generate("stencil:9:20").astype(dtype)
    generator = np.random.default_rng(0)
    x, y, X = (small_integers(generator, shape, dtype) for shape in (400, 400, (400, 3)))
    theirs = library.array(x)
    for source in (S, library.csr(S, np.int32), library.csr(S, np.int64)):
        A = warp_spmv.matrix(source, format, "cuda")
        product = A @ theirs
        assert type(product) is type(theirs)
        np.testing.assert_array_equal(library.numpy(product), S @ x)
        out = library.array(y)
        assert A.matvec(theirs, out=out, alpha=2, beta=-1) is out
        np.testing.assert_array_equal(library.numpy(out), 2 * (S @ x) - y)
        np.testing.assert_array_equal(library.numpy(A.T @ theirs), S.T @ x)
        np.testing.assert_array_equal(library.numpy(A.H @ theirs), S.conj().T @ x)
        if A._plan.multiplies_columns:
            np.testing.assert_array_equal(library.numpy(A @ library.array(X)), S @ X)
            np.testing.assert_array_equal(library.numpy(A @ library.array(X.T).T), S @ X)
        # NumPy arrays are copied there and back.
        np.testing.assert_array_equal(A @ x, S @ x)


@pytest.mark.parametrize("format", ["csr-vector", "coo", "sell-p"])
def test_new_values_on_a_gpu(library, format):
    S = laplacian(20)
    source = library.csr(S, np.int32)
    old = library.numpy(library.values(source))
    A = warp_spmv.matrix(source, format, updates=True)
    x = np.arange(400.0)
    for factor in (2.0, 3.0):
        A.update_values(library.array(factor * S.data))
        np.testing.assert_array_equal(library.numpy(A @ library.array(x)), factor * (S @ x))
    np.testing.assert_array_equal(library.numpy(library.values(source)), old)


def test_a_matrix_in_csr_is_not_copied(library):
    S = warp_spmv.generate("stencil:7:100")
    x = library.array(np.ones(S.shape[1]))
    for small in (laplacian(5), laplacian(6)):
        # Compiles the kernel, and makes the one-time allocations of an executor.
        warp_spmv.matrix(library.csr(small, np.int32), "csr-vector") @ library.array(np.ones(small.shape[1]))
    source, out = library.csr(S, np.int32), library.array(np.zeros(S.shape[0]))
    before = library.free_memory()
    A = warp_spmv.matrix(source, "csr-vector")
    assert before - library.free_memory() < S.data.nbytes // 4
    kept = A._kept[2]
    assert library.pointer(kept) == library.pointer(library.values(source))
    pointer = library.pointer(out)
    A.matvec(x, out=out)
    free = library.free_memory()
    for _ in range(1000):
        A.matvec(x, out=out)
    assert library.free_memory() == free and library.pointer(out) == pointer
    # Values written to the library's array take effect.
    library.values(source)[:] = 1.0
    np.testing.assert_array_equal(library.numpy(A @ x), np.diff(S.indptr))


@pytest.mark.parametrize("borrowed", [False, True])
def test_products_are_in_the_order_of_the_callers_stream(library, borrowed):
    S = laplacian(200)
    A = warp_spmv.matrix(library.csr(S, np.int32) if borrowed else S, "csr-vector", "cuda:0")
    right = np.random.default_rng(0).random(S.shape[1])
    wrong, ours = library.array(np.full(S.shape[1], np.nan)), library.array(right)
    x = library.array(np.zeros(S.shape[1]))
    A @ x
    for stream in (library.stream(), library.stream()):
        library.wait()
        with library.on(stream):
            library.work()
            x[:] = ours
            product = A @ x
            copy = product + 0
            x[:] = wrong
            product[:] = wrong[: S.shape[0]]
        library.wait()
        np.testing.assert_allclose(library.numpy(copy), S @ right, rtol=1e-12, atol=1e-12)


def test_arrays_that_are_not_on_the_gpu():
    A = warp_spmv.matrix(laplacian(5), "csr-vector", "cuda")
    x = np.ones(25)
    # The array claims to be on a GPU, but its memory is on the host.
    with pytest.raises(ValueError, match="in the memory of the executor's GPU and context"):
        A.matvec(Interface(x), out=Interface(np.ones(25)))
    with pytest.raises(ValueError, match="in the memory of the executor's GPU and context"):
        A.update_values(Interface(np.ones(A.nnz)))
    np.testing.assert_array_equal(A @ x, laplacian(5) @ x)


def test_tensors_that_are_more_than_their_memory():
    torch = Torch().library
    A = warp_spmv.matrix(laplacian(5, np.complex128), "csr-vector", "cuda")
    with pytest.raises(BufferError):
        A @ torch.ones(25, dtype=torch.complex128, device="cuda").conj()
    with pytest.raises((BufferError, RuntimeError)):
        A @ torch.ones(25, dtype=torch.complex128, device="cuda", requires_grad=True)
    with pytest.raises(TypeError, match="the other array is on a GPU"):
        A.matvec(torch.ones(25, dtype=torch.complex128, device="cuda"), out=np.ones(25, complex))
