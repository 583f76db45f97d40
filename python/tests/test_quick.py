"""The fast path for vectors of PyTorch and CuPy: neither a GPU nor these libraries are needed."""

import sys
import types

import numpy as np
import pytest

import warp_spmv
from warp_spmv import _native, _quick


# Like PyTorch's: compared by identity.
TYPES = {name: types.SimpleNamespace(name=name) for name in ("float32", "float64", "complex64", "complex128")}


class Tensor:
    """The attributes of a PyTorch vector that the package uses."""

    def __init__(self, array, device=0, **unusual):
        self.array = array
        self.unusual = unusual
        self.shape = array.shape
        self.ndim = array.ndim
        self.is_cuda = unusual.get("is_cuda", True)
        self.layout = unusual.get("layout", "strided")
        self.requires_grad = unusual.get("requires_grad", False)
        self.device = types.SimpleNamespace(type="cuda", index=device)
        self.dtype = TYPES[array.dtype.name]

    def is_contiguous(self):
        return self.array.flags.c_contiguous

    def is_conj(self):
        return self.unusual.get("is_conj", False)

    def is_neg(self):
        return self.unusual.get("is_neg", False)

    def data_ptr(self):
        return self.array.ctypes.data

    def get_device(self):
        return self.device.index

    def new_empty(self, length):
        return Tensor(np.empty(length, self.array.dtype), self.device.index)

    def __dlpack_device__(self):
        return (2, self.device.index)

    def __dlpack__(self, stream=None):
        raise BufferError("the careful way")


class Array:
    """The attributes of a CuPy vector that the package uses."""

    def __init__(self, array, device=0):
        self.array = array
        self.shape, self.dtype, self.ndim, self.flags = array.shape, array.dtype, array.ndim, array.flags
        self.device = types.SimpleNamespace(id=device)
        self.data = types.SimpleNamespace(ptr=array.ctypes.data)

    def __dlpack_device__(self):
        return (2, self.device.id)

    def __dlpack__(self, stream=None):
        raise BufferError("the careful way")


def torch():
    library = types.ModuleType("torch")
    library.Tensor = Tensor
    library.strided = "strided"
    vars(library).update(TYPES)
    library.cuda = types.SimpleNamespace(current_stream=lambda device: types.SimpleNamespace(cuda_stream=40 + device))
    return library


def cupy():
    library = types.ModuleType("cupy")
    library.ndarray = Array
    library.empty = lambda length, dtype: Array(np.empty(length, dtype))
    library.cuda = types.SimpleNamespace(get_current_stream=lambda: types.SimpleNamespace(ptr=0))
    return library


class Plan:
    """A plan on a GPU that does not exist."""

    shape, dtype, nnz, device, format, nbytes = (2, 3), "float64", 4, "cuda:0", "csr-vector", 0
    transposes, multiplies_columns, narrow_type = False, True, None


@pytest.fixture
def calls(monkeypatch):
    calls = []
    monkeypatch.setattr(_native, "gpu_multiply", lambda *arguments: calls.append(arguments))
    monkeypatch.setattr(_quick, "_libraries", {})
    for library, kind in ((torch(), Tensor), (cupy(), Array)):
        monkeypatch.setitem(sys.modules, library.__name__, library)
        monkeypatch.setattr(kind, "__module__", library.__name__)
    return calls


def place(array):
    return array.array.ctypes.data, array.array.size


@pytest.mark.parametrize(("kind", "stream"), [(Tensor, 40), (Array, 1)])
def test_products(calls, kind, stream):
    A = warp_spmv.Matrix(Plan(), {})
    x, out = kind(np.ones(3)), kind(np.ones(2))
    for multiply in (A.__matmul__, A.matvec):
        y = multiply(x)
        assert type(y) is kind and y.shape == (2,)
        assert calls.pop() == (A._plan, None, (1.0, 0.0), place(x), (0.0, 0.0), place(y), [stream])
    assert A.matvec(x, out, alpha=2, beta=-1) is out
    assert calls.pop() == (A._plan, None, (2.0, 0.0), place(x), (-1.0, 0.0), place(out), [stream])
    assert calls == []


MEMORY = np.ones(3)


@pytest.mark.parametrize(
    "use",
    [
        lambda A: A @ Tensor(np.ones(4)),
        lambda A: A @ Tensor(np.ones((3, 1))),
        lambda A: A @ Tensor(np.ones(3, "f4")),
        lambda A: A @ Tensor(np.ones(6)[::2]),
        lambda A: A @ Tensor(np.ones(3), device=1),
        lambda A: A @ Tensor(np.ones(3), layout="sparse"),
        lambda A: A @ Tensor(np.ones(3), requires_grad=True),
        lambda A: A @ Tensor(np.ones(3), is_conj=True),
        lambda A: A @ Tensor(np.ones(3), is_neg=True),
        lambda A: A @ Array(np.ones(4)),
        lambda A: A @ Array(np.ones(3, "f4")),
        lambda A: A @ Array(np.ones(6)[::2]),
        lambda A: A @ Array(np.ones(3), device=1),
        lambda A: A.matvec(Tensor(np.ones(3)), Tensor(np.ones(3))),
        lambda A: A.matvec(Tensor(np.ones(3)), Tensor(np.ones(2), requires_grad=True)),
        lambda A: A.matvec(Tensor(np.ones(3)), Array(np.ones(2))),
        lambda A: A.matvec(Tensor(MEMORY), Tensor(MEMORY[:2])),
        lambda A: A.matvec(Array(MEMORY), Array(MEMORY[1:])),
    ],
)
def test_what_is_not_as_usual_goes_the_careful_way(calls, use):
    with pytest.raises(BufferError, match="the careful way"):
        use(warp_spmv.Matrix(Plan(), {}))
    assert calls == []


def test_a_result_on_another_gpu_is_not_taken(calls, monkeypatch):
    # CuPy allocates on the current GPU.
    monkeypatch.setattr(sys.modules["cupy"], "empty", lambda length, dtype: Array(np.empty(length, dtype), device=1))
    with pytest.raises(BufferError, match="the careful way"):
        warp_spmv.Matrix(Plan(), {}) @ Array(np.ones(3))
    assert calls == []


def test_other_errors_stay(calls):
    A = warp_spmv.Matrix(Plan(), {})
    with pytest.raises(ValueError, match="beta is 1, expected 0 without out"):
        A.matvec(Tensor(np.ones(3)), beta=1)
    with pytest.raises(TypeError, match="alpha is 1j, expected a real number"):
        A.matvec(Tensor(np.ones(3)), alpha=1j)
    assert calls == []
    on_cpu = warp_spmv.matrix(warp_spmv.generate("stencil:3:3"), "csr-vector", "cpu")
    with pytest.raises(BufferError, match="the careful way"):
        on_cpu @ Array(np.ones(3))
