"""Solvers whose vectors are on a GPU: calls of the native part, and refusals. No GPU is needed, since nothing is
solved."""

import sys

import gpu_arrays
import numpy as np
import pytest
import scipy.sparse
from gpu_arrays import DLPack, Interface

import warp_spmv
from warp_spmv import _native

REPORT = {
    "outcome": "converged",
    "converged": True,
    "interrupted": False,
    "iterations": 1,
    "residual_norm": 0.0,
    "right_hand_side_norm": 1.0,
    "history": [1.0, 0.0],
    "restarts": 0,
    "seconds": 0.0,
}
EIGEN_REPORT = {
    "outcome": "converged",
    "converged": True,
    "interrupted": False,
    "iterations": 1,
    "eigenvalues": [1.0, 2.0],
    "residual_norms": [0.0, 0.0],
    "history": [1.0],
    "seconds": 0.0,
}
PAGERANK_REPORT = {
    name: REPORT[name] for name in ("outcome", "converged", "interrupted", "iterations", "history", "seconds")
}


class Plan:
    """A plan on a GPU that does not exist."""

    shape, dtype, nnz, device, format, nbytes = (6, 6), "float64", 6, "cuda:0", "csr-vector", 0
    transposes, multiplies_columns, narrow_type = False, True, None


class Plain:
    """A fake native preconditioner."""

    name = "jacobi"

    def __init__(self, plan, *arguments):
        self.arguments = arguments
        self.refreshed = 0

    def refresh(self, plan):
        self.refreshed += 1


@pytest.fixture
def calls(monkeypatch):
    """Records the calls of the native part, with a library that makes new arrays."""
    calls = []

    def answers(name, answer):
        def call(*arguments):
            calls.append((name, *arguments))
            return answer

        monkeypatch.setattr(_native, name, call)

    answers("gpu_solve", [REPORT, REPORT])
    answers("gpu_eigenpairs", EIGEN_REPORT.copy())
    answers("gpu_pagerank", PAGERANK_REPORT)
    answers("gpu_precondition", None)
    monkeypatch.setattr(_native, "Preconditioner", Plain)
    monkeypatch.setitem(sys.modules, "gpu_arrays", gpu_arrays)
    return calls


def matrix():
    return warp_spmv.Matrix(Plan(), {})


def place(array):
    return array.array.ctypes.data, array.array.size


def test_systems_are_solved_where_they_lie(calls):
    A, b, x0 = matrix(), Interface(np.ones(6), stream=5), Interface(np.ones(6), stream=7)
    x, report = warp_spmv.solve(A, b)
    assert isinstance(x, Interface) and x.array.shape == (6,) and x.dtype == A.dtype and report.converged
    name, plan, of_b, iterates, method, preconditioner, stop, callback, streams = calls.pop()
    assert (name, plan, of_b, iterates) == ("gpu_solve", A._plan, place(b), (None, place(x), 1))
    assert (method, preconditioner, callback, streams) == ("cg", None, None, [5, 1])
    assert stop == {"tol": 1e-6, "atol": 0.0, "maxiter": 10_000, "timeout": None}
    x, _ = warp_spmv.solve(A, b, x0, method="gmres", preconditioner="jacobi", tol=0.5)
    _, _, of_b, iterates, method, preconditioner, stop, _, streams = calls.pop()
    assert (of_b, iterates) == (place(b), (place(x0), place(x), 1)) and place(x) != place(x0)
    assert (method, preconditioner, stop["tol"], streams) == ("gmres", "jacobi", 0.5, [5, 7, 1])


def test_several_right_hand_sides(calls, monkeypatch):
    A = matrix()
    B = np.arange(12.0).reshape(2, 6)
    # Fortran order is used in place.
    columns_first = Interface(B).T
    X, reports = warp_spmv.solve(A, columns_first, Interface(B).T, method="block-cg")
    assert X.array.shape == (6, 2) and X.array.flags.f_contiguous and len(reports) == 2
    _, _, of_b, (begin, end, count), method, *_ = calls.pop()
    assert (of_b, begin, end, count, method) == (place(columns_first), (B.ctypes.data, 12), place(X), 2, "block-cg")
    # C order is copied.
    rows_first = Interface(np.ascontiguousarray(B.T))
    copies, make = [], gpu_arrays.empty

    def empty(shape, dtype):
        copies.append(make(shape, dtype))
        return copies[-1]

    monkeypatch.setattr(gpu_arrays, "empty", empty)
    X, _ = warp_spmv.solve(A, rows_first)
    _, _, of_b, *_ = calls.pop()
    assert of_b == place(copies[0]) != place(rows_first)
    np.testing.assert_array_equal(copies[0].array, B)
    X, reports = warp_spmv.solve(A, Interface(np.ones((6, 0))))
    assert X.array.shape == (6, 0) and reports == [] and calls == []


def test_eigenvectors_are_where_the_start_is(calls):
    A, start = matrix(), Interface(np.ones((6, 2), order="F"), stream=5)
    w, v, report = warp_spmv.eigsh(A, 2, "SA", start, preconditioner="jacobi")
    assert v.array.shape == (6, 2) and v.array.flags.f_contiguous and w.array.tolist() == [1, 2]
    assert report.converged and report.residual_norms.tolist() == [0, 0]
    name, plan, iterates, smallest, preconditioner, _, _, streams = calls.pop()
    assert (name, plan, iterates) == ("gpu_eigenpairs", A._plan, (place(start), place(v), 2))
    assert (smallest, preconditioner, streams) == (True, "jacobi", [5, 1])


def test_preconditioners_are_kept(calls):
    A, r = matrix(), Interface(np.ones(6), stream=5)
    M = warp_spmv.Preconditioner(A, "amg", near_null_space=np.ones((6, 1)), updates=True)
    name, vectors, coordinates, updates = M._made.arguments
    assert (name, vectors.tolist(), coordinates, updates) == ("amg", np.ones((6, 1)).tolist(), None, True)
    z = M @ r
    assert calls.pop() == ("gpu_precondition", M._made, (1.0, 0.0), place(r), (0.0, 0.0), place(z), [5, 1])
    out = Interface(np.ones(6))
    assert M.matvec(r, out=out, alpha=2, beta=3) is out
    assert calls.pop() == ("gpu_precondition", M._made, (2.0, 0.0), place(r), (3.0, 0.0), place(out), [5, 1])
    warp_spmv.solve(A, r, preconditioner=M)
    assert calls.pop()[5] is M._made
    made = M._made
    M.refresh()
    assert M._made is made and made.refreshed == 1
    again = warp_spmv.Preconditioner(A, "jacobi")
    made = again._made
    again.refresh()
    assert again._made is not made and made.refreshed == 0
    warp_spmv.solve(A, r, preconditioner="amg", coordinates=np.arange(6.0).reshape(2, 3))
    assert calls.pop()[5].arguments[2].tolist() == [[0, 1, 2], [3, 4, 5]]
    with pytest.raises(TypeError, match="cannot multiply several vectors on a GPU"):
        M @ Interface(np.ones((6, 2)))


def test_ranks_are_where_the_weights_are(calls):
    graph, weights = scipy.sparse.csr_array(np.eye(6)), Interface(np.ones(6), stream=5)
    ranks, report = warp_spmv.pagerank(graph, personalization=weights)
    assert ranks.array.shape == (6,) and report.converged
    name, number, csr, damping, of_weights, of_ranks, _, _, streams = calls.pop()
    assert (name, number, damping) == ("gpu_pagerank", 0, 0.85) and isinstance(csr, _native.Csr)
    assert (of_weights, of_ranks, streams) == (place(weights), place(ranks), [5, 1])


@pytest.mark.parametrize(
    ("use", "error", "message"),
    [
        (lambda A: warp_spmv.solve(A, Interface(np.ones(5))), ValueError, r"b has shape \(5,\), expected \(6,\)"),
        (lambda A: warp_spmv.solve(A, Interface(np.ones((5, 2)))), ValueError, r"b has shape \(5, 2\), expected \(6, 2\)"),
        (lambda A: warp_spmv.solve(A, Interface(np.ones((6, 1, 1)))), ValueError, r"b is not contiguous|b has shape"),
        (lambda A: warp_spmv.solve(A, Interface(np.ones(6, "f4"))), TypeError, "b has elements of type float32"),
        (lambda A: warp_spmv.solve(A, Interface(np.ones(12)[::2])), ValueError, "b is not contiguous"),
        (lambda A: warp_spmv.solve(A, DLPack(np.ones(6), device=(2, 1))), ValueError, "b is on cuda:1, but the matrix is on"),
        (lambda A: warp_spmv.solve(A, Interface(np.ones(6)), np.ones(6)), TypeError, "x0 is a numpy.ndarray in host memory"),
        (lambda A: warp_spmv.solve(A, np.ones(6), Interface(np.ones(6))), TypeError, "b is a numpy.ndarray in host memory"),
        (lambda A: warp_spmv.solve(A, Interface(np.ones(6)), Interface(np.ones(5))), ValueError, r"x0 has shape \(5,\)"),
        (
            lambda A: warp_spmv.solve(A, Interface(np.ones(6)), preconditioner=lambda r: r),
            TypeError,
            "preconditioner is a .*function, which requires a matrix on the CPU",
        ),
        (lambda A: warp_spmv.eigsh(A, 2, v0=Interface(np.ones((6, 1)))), ValueError, r"v0 has shape \(6, 1\)"),
        (lambda A: warp_spmv.eigsh(A, 2, v0=Interface(np.ones((6, 2), "f4"))), TypeError, "v0 has elements of type float32"),
        (
            lambda A: warp_spmv.Preconditioner(A, "amg", near_null_space=Interface(np.ones((6, 1)))),
            TypeError,
            "near_null_space is a gpu_arrays.Interface on a GPU",
        ),
        (
            lambda A: warp_spmv.pagerank(scipy.sparse.csr_array(np.eye(6)), personalization=Interface(np.ones(5))),
            ValueError,
            r"personalization has shape \(5,\)",
        ),
        (
            lambda A: warp_spmv.pagerank(scipy.sparse.csr_array(np.eye(6)), personalization=Interface(np.ones(6, "f4"))),
            TypeError,
            "personalization has elements of type float32",
        ),
        (
            lambda A: warp_spmv.pagerank(
                scipy.sparse.csr_array(np.eye(6)), personalization=Interface(np.ones(6)), device="cpu"
            ),
            TypeError,
            "personalization is a gpu_arrays.Interface on a GPU, but the matrix is on the CPU",
        ),
    ],
)
def test_arrays_that_do_not_fit(calls, use, error, message):
    with pytest.raises(error, match=message):
        use(matrix())
    assert calls == []


def test_a_library_that_copies_nothing_puts_columns_first(calls, monkeypatch):
    monkeypatch.delattr(Interface, "__setitem__")
    with pytest.raises(TypeError, match="b is in C order, and a gpu_arrays.Interface cannot be copied"):
        warp_spmv.solve(matrix(), Interface(np.ones((6, 2))))


def test_a_matrix_on_the_cpu_takes_none():
    A = warp_spmv.matrix(warp_spmv.generate("stencil:3:6"), "csr-vector", "cpu")
    for call in (
        lambda: warp_spmv.solve(A, Interface(np.ones(6))),
        lambda: warp_spmv.eigsh(A, 2, v0=Interface(np.ones((6, 2)))),
        lambda: warp_spmv.Preconditioner(A, "jacobi") @ Interface(np.ones(6)),
    ):
        with pytest.raises(TypeError, match="is a gpu_arrays.Interface on a GPU, but the matrix is on the CPU"):
            call()
    # Nor does the native part when called directly.
    stop = {"tol": 1e-6, "atol": 0.0, "maxiter": 1, "timeout": None}
    iterates = None, (8, 6), 1
    M = warp_spmv.Preconditioner(A, "jacobi")
    for call in (
        lambda: _native.gpu_solve(A._plan, (8, 6), iterates, "cg", None, stop, None, []),
        lambda: _native.gpu_solve(A._plan, (8, 6), iterates, "block-cg", None, stop, None, []),
        lambda: _native.gpu_eigenpairs(A._plan, iterates, True, None, stop, None, []),
        lambda: _native.gpu_precondition(M._made, (1.0, 0.0), (8, 6), (0.0, 0.0), (8, 6), []),
    ):
        with pytest.raises(TypeError, match="the matrix is not on a GPU"):
            call()
