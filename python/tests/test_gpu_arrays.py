"""Arrays on a GPU: their descriptions and refusals. No GPU is needed, since nothing is multiplied."""

import sys
import types

import gpu_arrays
import numpy as np
import pytest
from gpu_arrays import DLPack, Interface

import warp_spmv
from warp_spmv import _gpu, _native

VECTOR = np.arange(3.0)


def described(array):
    return _gpu.gpu_array("x", array)


@pytest.mark.parametrize("kind", [Interface, DLPack])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128", "int32", "int64"])
def test_both_protocols_say_the_same(kind, dtype):
    arrays = {
        (True, False): np.zeros((3, 4), dtype),
        (False, True): np.zeros((4, 3), dtype).T,
        (True, True): np.zeros((4, 1), dtype),
        (False, False): np.zeros((3, 8), dtype)[:, ::2],
    }
    for orders, array in arrays.items():
        said = described(kind(array))
        assert (said.address, said.shape, said.dtype) == (array.ctypes.data, array.shape, array.dtype)
        assert (said.c_order, said.f_order) == orders, array.strides
        assert said.place == (array.ctypes.data, array.size)
    assert described(kind(np.zeros((0, 3), dtype))).size == 0


def test_streams():
    assert described(Interface(VECTOR, stream=1)).stream == 1
    assert described(Interface(VECTOR, stream=2)).stream == 2
    assert described(Interface(VECTOR, stream=0x7F00)).stream == 0x7F00
    assert described(Interface(VECTOR, stream=None)).stream is None
    with pytest.raises(ValueError, match="stream 0"):
        described(Interface(VECTOR, stream=0))
    # An array that supports only DLPack receives the stream to order.
    array = DLPack(VECTOR)
    assert described(array).stream == 1 and array.asked == [1]
    a, b, unknown = (described(Interface(VECTOR, stream=stream)) for stream in (1, 7, None))
    assert _gpu.streams(a, a) == [1] and _gpu.streams(a, b) == [1, 7] and _gpu.streams(a, unknown) == []


@pytest.mark.parametrize(
    ("cuda", "stream"),
    [
        ({"current_stream": lambda device: types.SimpleNamespace(cuda_stream=40 + device)}, 43),
        ({"current_stream": lambda device: types.SimpleNamespace(cuda_stream=0)}, 1),
        ({"get_current_stream": lambda: types.SimpleNamespace(ptr=41)}, 41),
        ({"get_current_stream": lambda: types.SimpleNamespace(ptr=0)}, 1),
    ],
)
def test_libraries_are_asked_for_their_stream(monkeypatch, cuda, stream):
    library = types.ModuleType("another_library")
    library.cuda = types.SimpleNamespace(**cuda)
    monkeypatch.setitem(sys.modules, "another_library", library)
    monkeypatch.setattr(DLPack, "__module__", "another_library.core")
    array = DLPack(VECTOR, device=(2, 3))
    said = described(array)
    # The package keeps the order, so the library need not.
    assert (said.stream, said.device, array.asked) == (stream, 3, [-1])


@pytest.mark.parametrize(
    ("array", "error", "message"),
    [
        (types.SimpleNamespace(__cuda_array_interface__=7), TypeError, "is a int, expected a dict"),
        (types.SimpleNamespace(__cuda_array_interface__={}), ValueError, "has no 'data'"),
        (Interface(VECTOR, mask=VECTOR), ValueError, "x has a mask"),
        (Interface(VECTOR, shape=(-1,)), ValueError, "negative length"),
        (Interface(VECTOR, strides=(8, 8)), ValueError, "2 strides for 1 dimensions"),
        (Interface(VECTOR, typestr="<q9"), TypeError, "data type"),
        (DLPack(VECTOR, code=4), TypeError, "DLPack's type 4"),
        (DLPack(VECTOR, lanes=2), TypeError, "2 lanes"),
    ],
)
def test_descriptions_that_make_no_sense(array, error, message):
    with pytest.raises(error, match=message):
        described(array)


def test_capsules():
    array = np.arange(12, dtype=np.float32).reshape(3, 4)[1:, ::2]
    address, shape, strides, name, device = _native.dlpack_array(array.__dlpack__())
    assert (address, shape, strides, name, device) == (array.ctypes.data, [2, 2], [4, 2], "f4", (1, 0))
    with pytest.raises(TypeError):
        _native.dlpack_array(array)
    capsule = np.zeros(3).__dlpack__()
    np.from_dlpack(type("Once", (), {"__dlpack__": lambda _, **__: capsule, "__dlpack_device__": lambda _: (1, 0)})())
    with pytest.raises(ValueError, match="incorrect name"):
        # The capsule was consumed.
        _native.dlpack_array(capsule)
    # A capsule that contradicts its array.
    liar = DLPack(VECTOR, device=(1, 0))
    liar.device = (2, 0)
    with pytest.raises(ValueError, match="its capsule says device 1"):
        described(liar)


class Plan:
    """A plan on a GPU that does not exist."""

    shape, dtype, nnz, device, format, nbytes = (2, 3), "float64", 4, "cuda:0", "csr-vector", 0
    transposes, multiplies_columns, narrow_type = False, True, None


@pytest.fixture
def calls(monkeypatch):
    """Records the calls of the native part, with a library that makes new arrays."""
    calls = []
    for name in ("gpu_multiply", "gpu_update_values", "gpu_precondition"):
        monkeypatch.setattr(_native, name, lambda *arguments: calls.append(arguments))
    monkeypatch.setitem(sys.modules, "gpu_arrays", gpu_arrays)
    return calls


def matrix():
    return warp_spmv.Matrix(Plan(), {})


def place(array):
    return array.array.ctypes.data, array.array.size


def test_products_take_arrays_where_they_lie(calls):
    A = matrix()
    x, out = Interface(np.ones(3), stream=5), Interface(np.ones(2), stream=5)
    y = A @ x
    assert isinstance(y, Interface) and y.array.shape == (2,) and y.dtype == A.dtype
    assert calls.pop() == (A._plan, None, (1.0, 0.0), place(x), (0.0, 0.0), place(y), [5, 1])
    assert A.matvec(x, out=out, alpha=2, beta=3) is out
    assert calls.pop() == (A._plan, None, (2.0, 0.0), place(x), (3.0, 0.0), place(out), [5])
    column = A.matvec(Interface(np.ones((3, 1))))
    assert column.array.shape == (2, 1) and calls.pop()[1] is None
    X = Interface(np.ones((3, 4)))
    Y = A @ X
    assert Y.array.shape == (2, 4)
    assert calls.pop() == (A._plan, (4, True), (1.0, 0.0), place(X), (0.0, 0.0), place(Y), [1])
    X = Interface(np.ones((4, 3)).T)
    Y = A @ X
    assert Y.array.shape == (2, 4) and Y.array.flags.f_contiguous and calls.pop()[1] == (4, False)
    A.update_values(Interface(np.ones(4), stream=9))
    assert calls.pop()[2] == [9]
    assert calls == []


def test_transposed_products_have_plans_of_their_own(calls):
    class Complex(Plan):
        dtype = "complex128"

        def to_csr(self):
            return self

        def transposed(self, conjugate):
            return types.SimpleNamespace(plan=lambda device, wishes: f"{device}, conjugate: {conjugate}")

    A = warp_spmv.Matrix(Complex(), {})
    x = Interface(np.ones(2, complex))
    for operator, plan in ((A.T, "cuda:0, conjugate: False"), (A.H, "cuda:0, conjugate: True")):
        for _ in range(2):
            y = operator @ x
            assert y.array.shape == (3,)
            assert calls.pop() == (plan, None, (1.0, 0.0), place(x), (0.0, 0.0), place(y), [1])
    with pytest.raises(TypeError, match="the conjugate of a complex matrix"):
        A.T.H @ Interface(np.ones(3, complex))


@pytest.mark.parametrize(
    ("use", "error", "message"),
    [
        (lambda A: A @ Interface(np.ones(4)), ValueError, r"x has shape \(4,\), expected \(3,\)"),
        (lambda A: A @ Interface(np.ones((4, 2))), ValueError, r"X has shape \(4, 2\), expected \(3, 2\)"),
        (lambda A: A @ Interface(np.ones(3, "f4")), TypeError, "x has elements of type float32, expected float64"),
        (lambda A: A @ Interface(np.ones(6)[::2]), ValueError, "x is not contiguous"),
        (lambda A: A @ Interface(np.ones(3, ">f8")), TypeError, "x has elements of type >f8"),
        (lambda A: A @ DLPack(np.ones(3), device=(2, 1)), ValueError, "x is on cuda:1, but the matrix is on cuda:0"),
        (lambda A: A @ DLPack(np.ones(3), device=(10, 0)), TypeError, "needed on the host"),
        (lambda A: A.matvec(Interface(np.ones(3)), out=np.ones(2)), TypeError, "out is a numpy.ndarray in host memory"),
        (lambda A: A.matvec(np.ones(3), out=Interface(np.ones(2))), TypeError, "x is a numpy.ndarray in host memory"),
        (lambda A: A.matvec(Interface(np.ones(3)), out=Interface(np.ones(3))), ValueError, r"out has shape \(3,\)"),
        (lambda A: A.matvec(Interface(np.ones(3)), out=Interface(np.ones(2), True)), ValueError, "out is read-only"),
        (lambda A: A.matvec(Interface(VECTOR), out=Interface(VECTOR[:2])), ValueError, "out overlaps x"),
        (lambda A: A.matvec(Interface(VECTOR), beta=1), ValueError, "beta is 1, expected 0"),
        (lambda A: A.matvec(Interface(VECTOR), alpha=1j), TypeError, "alpha is 1j, expected a real number"),
        (lambda A: A.update_values(Interface(VECTOR)), ValueError, r"values has shape \(3,\), expected \(4,\)"),
        (lambda A: A.update_values(Interface(np.ones(4, "f4"))), TypeError, "values has elements of type float32"),
    ],
)
def test_arrays_that_do_not_fit(calls, use, error, message):
    with pytest.raises(error, match=message):
        use(matrix())
    assert calls == []


def test_a_library_without_empty_arrays_gives_its_own(calls, monkeypatch):
    monkeypatch.delattr(gpu_arrays, "empty")
    with pytest.raises(TypeError, match="cannot make empty arrays: pass one as out"):
        matrix() @ Interface(np.ones(3))


class Sparse:
    """A matrix like CuPy's."""

    def __init__(self, shape, indptr, indices, data):
        self.shape, self.indptr, self.indices, self.data = shape, indptr, indices, data

    def tocsr(self):
        return self


def sparse(offsets="i4", columns="i4", values="f8", entries=3, kind=Interface):
    arrays = np.array([0, 1, 3], offsets), np.array([0, 1, 2], columns), np.ones(entries, values)
    return Sparse((2, 3), *(kind(array) for array in arrays))


def test_matrices_are_taken_where_they_lie(monkeypatch):
    calls = []

    def gpu_plan(*arguments):
        calls.append(arguments)
        return Plan()

    monkeypatch.setattr(_native, "gpu_plan", gpu_plan)
    S = sparse(columns="i8")
    A = warp_spmv.matrix(S, "csr-vector")
    ((number, matrix, dtype, wishes, streams),) = calls
    assert (number, dtype, wishes["format"], streams) == (0, "float64", "csr-vector", [1])
    addresses = {name: getattr(S, name).array.ctypes.data for name in ("indptr", "indices", "data")}
    assert matrix == {
        "shape": (2, 3),
        "row_offsets": (addresses["indptr"], 4),
        "columns": (addresses["indices"], 8),
        "values": addresses["data"],
        "entries": 3,
    }
    # In CSR, the arrays are used as long as the matrix.
    assert A._kept == (S.indptr, S.indices, S.data)
    monkeypatch.setattr(Plan, "format", "sell-p")
    assert warp_spmv.matrix(S)._kept is None
    tensor = types.SimpleNamespace(
        is_sparse_csr=True,
        shape=(2, 3),
        crow_indices=lambda: S.indptr,
        col_indices=lambda: S.indices,
        values=lambda: S.data,
    )
    warp_spmv.matrix(tensor)
    assert calls[-1][1] == matrix


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: warp_spmv.matrix(sparse(), device="cpu"), TypeError, "on a GPU, but the matrix is on the CPU"),
        (lambda: warp_spmv.matrix(sparse(kind=DLPack), device="cuda:1"), ValueError, "on cuda:0, but the matrix is on cuda:1"),
        (lambda: warp_spmv.matrix(sparse(), device="gpu"), ValueError, "device is 'gpu', expected 'cuda'"),
        (lambda: warp_spmv.matrix(sparse(values="i4")), TypeError, "the matrix has elements of type int32, expected"),
        (lambda: warp_spmv.matrix(sparse(), dtype="f4"), TypeError, "elements of type float64, expected float32"),
        (lambda: warp_spmv.matrix(sparse(columns="f8")), TypeError, "the columns have elements of type float64"),
        (lambda: warp_spmv.matrix(sparse(offsets="i2")), TypeError, "the row offsets have elements of type int16"),
        (lambda: warp_spmv.matrix(sparse(entries=4)), ValueError, r"the columns has shape \(3,\), expected \(4,\)"),
        (lambda: warp_spmv.pagerank(sparse(), device="cpu"), TypeError, "on a GPU, but the matrix is on the CPU"),
    ],
)
def test_matrices_that_do_not_fit(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_without_a_gpu_that_is_the_error():
    if _native.why_no_gpu() is None:
        pytest.skip("there is a GPU")
    with pytest.raises(warp_spmv.DeviceError, match="executor cuda is not available"):
        warp_spmv.matrix(sparse())


def test_a_matrix_on_the_cpu_takes_none():
    A = warp_spmv.matrix(warp_spmv.generate("stencil:3:3"), "csr-vector", "cpu")
    with pytest.raises(TypeError, match="x is a gpu_arrays.Interface on a GPU, but the matrix is on the CPU"):
        A @ Interface(np.ones(3))
    # Nor does the native part when called directly.
    with pytest.raises(TypeError, match="the matrix is not on a GPU"):
        _native.gpu_multiply(A._plan, None, (1.0, 0.0), (8, 3), (0.0, 0.0), (8, 3), [])
    with pytest.raises(TypeError, match="the matrix is not on a GPU"):
        _native.gpu_update_values(A._plan, (8, 7), [1])
