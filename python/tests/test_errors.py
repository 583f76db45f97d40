"""Mistakes of users, and the resulting errors."""

import numpy as np
import pytest
import scipy.sparse

import warp_spmv
from warp_spmv import _native

SQUARE = scipy.sparse.csr_array(np.eye(3))
A = warp_spmv.matrix(SQUARE, "csr-vector", "cpu")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: A @ np.ones(4), r"x has shape \(4,\), expected \(3,\)"),
        (lambda: A @ np.ones((1, 3)), r"X has shape \(1, 3\), expected \(3, 3\)"),
        (lambda: A @ np.ones((3, 1, 1)), r"x has shape \(3, 1, 1\), expected \(3,\)"),
        (lambda: A @ 2, r"x has shape \(\), expected \(3,\)"),
        (lambda: np.ones(4) @ A, r"x has shape \(4,\)"),
        (lambda: A.matvec(np.ones(3), out=np.ones(2)), r"out has shape \(2,\), expected \(3,\)"),
        (lambda: A.matvec(np.ones(3), beta=1), "beta is 1, expected 0 without out"),
        (lambda: A.matvec(np.ones(3), out=np.ones(3), alpha=float("inf")), "inf"),
        (lambda: warp_spmv.matrix(SQUARE, "csr-wector", "cpu"), "unknown format 'csr-wector': expected "),
        (lambda: warp_spmv.matrix(SQUARE, "sell-p:slice=0", "cpu"), "slice"),
        (
            lambda: warp_spmv.matrix(SQUARE, device="gpu"),
            "device is 'gpu', expected 'cpu', 'cuda', or 'cuda:' and a number",
        ),
        (lambda: warp_spmv.matrix(SQUARE, device="cpu:1"), "device is 'cpu:1', expected 'cpu'"),
        (lambda: warp_spmv.matrix(SQUARE, device="cuda:x"), "device is 'cuda:x'"),
        (lambda: warp_spmv.matrix(SQUARE, "coo-atomic", "cpu", reproducible=True), "not reproducible"),
        (lambda: warp_spmv.matrix(SQUARE, device="cpu", measure=True, reproducible=True), "measure is True"),
        (lambda: warp_spmv.matrix(SQUARE, device="cpu", memory_budget=1), "the budget is 1"),
        (lambda: warp_spmv.generate("stencil:4:3"), "stencil"),
        (lambda: warp_spmv.generate("nothing:4"), "unknown generator"),
        (lambda: warp_spmv.solve(A, np.ones(2)), r"b has shape \(2,\), expected \(3,\)"),
        (lambda: warp_spmv.solve(A, np.ones(3), np.ones(2)), r"x0 has shape \(2,\), expected \(3,\)"),
        (lambda: warp_spmv.solve(A, np.ones(3), method="gc"), "unknown method 'gc': expected cg, "),
        (lambda: warp_spmv.solve(A, np.ones(3), preconditioner="lu"), "unknown preconditioner 'lu': expected jacobi"),
        (lambda: warp_spmv.solve(A, np.ones(3), preconditioner="block-jacobi-99"), "99, expected 1 to 32"),
        (lambda: warp_spmv.solve(A, np.ones(3), tol=-1), "the relative tolerance is -1, expected 0 or more"),
        (lambda: warp_spmv.solve(A, np.ones(3), maxiter=-1), "maxiter is -1"),
        (lambda: warp_spmv.solve(A, np.ones(3), timeout=-1.0), "timeout is -1"),
        (lambda: warp_spmv.eigsh(A, which="LM"), "which is 'LM'"),
        (lambda: warp_spmv.eigsh(A, k=3), "the number of pairs is 3"),
        (lambda: warp_spmv.eigsh(A, k=0), "the number of pairs is 0"),
        (lambda: warp_spmv.eigsh(A, k=-1), "k is -1, expected 0 to"),
        (lambda: warp_spmv.spectral_bounds(A, -1), "steps is -1, expected 0 to"),
        (lambda: warp_spmv.matrix(SQUARE, device="cpu", multiplications=-1), "multiplications is -1"),
        (lambda: warp_spmv.pagerank(SQUARE, personalization=[[1]], device="cpu"), r"has shape \(1, 1\)"),
        (lambda: warp_spmv.pagerank(-SQUARE, device="cpu"), "row 0, column 0: weight -1"),
        (lambda: warp_spmv.pagerank(SQUARE, 1.0, device="cpu"), "the damping is 1"),
        (lambda: warp_spmv.pagerank(SQUARE, personalization=[1, 2], device="cpu"), "personalization has length 2"),
        (lambda: warp_spmv.write("matrix.txt", SQUARE), "matrix.txt: unknown kind of file"),
    ],
)
def test_values_that_mean_nothing(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: warp_spmv.matrix(np.eye(3), device="cpu"), "the matrix is a numpy.ndarray, expected a sparse matrix"),
        (lambda: warp_spmv.matrix(None, device="cpu"), "the matrix is a builtins.NoneType"),
        (lambda: warp_spmv.matrix(SQUARE, device="cpu", dtype="longdouble"), "dtype has elements of type"),
        (lambda: warp_spmv.matrix(1j * SQUARE, device="cpu", dtype=float), "whose imaginary parts"),
        (lambda: warp_spmv.pagerank(1j * SQUARE, device="cpu"), "pagerank .*complex128"),
        (lambda: warp_spmv.solve(A, np.ones(3), tol="1e-3"), "tol is '1e-3', expected a number"),
        (lambda: warp_spmv.solve(A, np.ones(3), maxiter=2.5), "maxiter is 2.5, expected an integer"),
        (lambda: A.matvec(np.ones(3), out=np.ones(3, np.float32)), "out has elements of type float32"),
        (lambda: A @ SQUARE, "X is a scipy.sparse.*csr_array, expected an array of numbers"),
    ],
)
def test_types_that_do_not_fit(call, message):
    with pytest.raises(TypeError, match=message):
        call()


@pytest.mark.parametrize(
    ("offsets", "columns", "message"),
    [
        ([0, 1, 2], [0, 7], "entry 1 is in column 7 of 3"),
        ([0, 1, 2], [0, -1], "entry 1 is in column -1 of 3"),
        ([0, 2, 1], [0, 1], "row 1 ends before it begins"),
        ([0, 1, 5], [0, 1], "the last row offset is 5, expected 2"),
    ],
)
@pytest.mark.parametrize("width", [np.int32, np.int64])
def test_arrays_that_contradict_each_other(offsets, columns, message, width):
    # The arrays were changed behind SciPy's back.
    matrix = scipy.sparse.csr_array((2, 3))
    matrix.data, matrix.indices, matrix.indptr = np.ones(2), np.array(columns, width), np.array(offsets, width)
    with pytest.raises(ValueError, match=message):
        warp_spmv.matrix(matrix, device="cpu")


def test_files(tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        warp_spmv.read(tmp_path / "none.mtx")
    assert str(caught.value) == f"[Errno 2] No such file or directory: '{tmp_path / 'none.mtx'}'"
    with pytest.raises(IsADirectoryError):
        warp_spmv.matrix(tmp_path, device="cpu")
    path = tmp_path / "bad.mtx"
    path.write_text("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 x 1.0\n")
    with pytest.raises(ValueError, match="bad.mtx:3: "):
        warp_spmv.read(path)


def test_memory_runs_out():
    with pytest.raises(MemoryError, match="bytes"):
        warp_spmv.generate("stencil:5:40000")


def test_a_device_that_is_not_there():
    if _native.why_no_gpu() is None:
        pytest.skip("there is a GPU")
    with pytest.raises(warp_spmv.DeviceError, match="executor cuda is not available"):
        warp_spmv.matrix(SQUARE, device="cuda")
    assert issubclass(warp_spmv.DeviceError, RuntimeError)


class OnGpu:
    """An array like CuPy's, which also reports its device like PyTorch's."""

    __cuda_array_interface__ = {"shape": (3,), "typestr": "<f8", "data": (0, False), "version": 3}

    def __dlpack_device__(self):
        return (2, 0)


@pytest.mark.parametrize(
    "use", [lambda x: A @ x, lambda x: A.matvec(np.ones(3), out=x), lambda x: warp_spmv.solve(A, x)]
)
def test_arrays_on_a_gpu_are_refused(use):
    for array in (OnGpu(), type("Tensor", (), {"__dlpack_device__": OnGpu.__dlpack_device__})()):
        with pytest.raises(TypeError, match="on a GPU"):
            use(array)
    sparse = type("csr_matrix", (), {"data": OnGpu()})()
    with pytest.raises(TypeError, match="on a GPU"):
        warp_spmv.matrix(sparse, device="cpu")
