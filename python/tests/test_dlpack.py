"""Arrays of other libraries in host memory."""

import sys
import types

import numpy as np
import pytest
import scipy.sparse

import warp_spmv


class Tensor:
    """An array of a library other than NumPy."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **arguments):
        return self.array.__dlpack__(**arguments)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


@pytest.fixture
def library(monkeypatch):
    module = types.ModuleType("another_library")
    module.from_dlpack = Tensor
    monkeypatch.setitem(sys.modules, "another_library", module)
    monkeypatch.setattr(Tensor, "__module__", "another_library.core")


def test_the_same_kind_comes_out(library):
    matrix = scipy.sparse.csr_array([[1.0, 2.0], [0.0, 3.0]])
    A = warp_spmv.matrix(matrix, "csr-vector", "cpu")
    x = Tensor(np.array([1.0, 10.0]))
    for y in (A @ x, A.matvec(x), A.matvec(Tensor(np.array([1.0, 10.0])))):
        assert isinstance(y, Tensor) and y.array.tolist() == [21, 30]
    z, report = warp_spmv.solve(A, Tensor(np.array([21.0, 30.0])), method="gmres", tol=1e-12)
    assert isinstance(z, Tensor) and np.allclose(z.array, [1, 10]) and report.converged


def test_it_is_numpys_where_the_library_takes_none(library, monkeypatch):
    monkeypatch.delattr(sys.modules["another_library"], "from_dlpack")
    A = warp_spmv.matrix(scipy.sparse.csr_array([[2.0]]), "csr-vector", "cpu")
    assert (A @ Tensor(np.array([3.0]))).tolist() == [6]


def test_out_is_written_where_it_lies():
    A = warp_spmv.matrix(scipy.sparse.csr_array([[2.0]]), "csr-vector", "cpu")
    array = np.zeros(1)
    out = Tensor(array)
    assert A.matvec([3.0], out=out) is out
    assert array.tolist() == [6]
