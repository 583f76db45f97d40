"""Kept preconditioners, near-null-space vectors for multigrid, and functions as preconditioners."""

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.linalg
from matrices import TYPES, hermitian_laplacian, laplacian

import warp_spmv

NAMES = ["jacobi", "block-jacobi-4", "neumann-2", "chebyshev-3", "ilu0", "ic0-coloured", "ic0-sweeps-4", "amg"]


def of_type(points, dtype):
    return hermitian_laplacian(points, dtype) if dtype.kind == "c" else laplacian(points, dtype)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", TYPES)
def test_one_that_is_kept_is_one_by_name(name, dtype):
    S = of_type(12, dtype)
    A = warp_spmv.matrix(S, device="cpu")
    M = warp_spmv.Preconditioner(A, name)
    b = np.random.default_rng(0).random(144).astype(dtype)
    by_name = warp_spmv.solve(A, b, preconditioner=name, method="bicgstab", tol=1e-4)
    for _ in range(2):
        x, report = warp_spmv.solve(A, b, preconditioner=M, method="bicgstab", tol=1e-4)
        assert report.converged and report.iterations == by_name[1].iterations
        np.testing.assert_array_equal(x, by_name[0])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("updates", [False, True])
def test_refreshed_it_is_a_new_one(name, updates):
    S = laplacian()
    A = warp_spmv.matrix(S, "csr-vector", "cpu")
    M = warp_spmv.Preconditioner(A, name, updates=updates)
    r = np.random.default_rng(0).random(144)
    old = M @ r
    A.update_values(S.data * np.where(S.indices == np.repeat(np.arange(144), np.diff(S.indptr)), 4.0, 1.0))
    np.testing.assert_array_equal(M @ r, old)
    M.refresh()
    new = warp_spmv.Preconditioner(A, name) @ r
    np.testing.assert_array_equal(M @ r, new)
    assert not np.array_equal(new, old)


def test_products():
    A = warp_spmv.matrix(laplacian(dtype=np.complex128), device="cpu")
    M = warp_spmv.Preconditioner(A, "ilu0")
    assert (M.shape, M.dtype, M.device, M.name, M.levels) == ((144, 144), np.complex128, "cpu", "ilu0", [])
    x = np.random.default_rng(0).random(144) + 1j
    z, out = M @ x, np.ones(144, complex)
    assert M.matvec(x, out=out, alpha=2j, beta=3) is out
    np.testing.assert_allclose(out, 2j * z + 3, rtol=1e-14)
    np.testing.assert_array_equal(M @ np.column_stack([x, x]), np.column_stack([z, z]))
    np.testing.assert_array_equal(scipy.sparse.linalg.aslinearoperator(M) @ x, z)
    for transpose in (lambda: M.T, lambda: M.H @ x, lambda: x @ M):
        with pytest.raises(TypeError, match="the transpose of a preconditioner"):
            transpose()


@pytest.mark.parametrize("name", ["ic0", "amg"])
def test_scipys_solvers_take_it(name):
    S = laplacian(40)
    A = warp_spmv.matrix(S, device="cpu")
    M = warp_spmv.Preconditioner(A, name)
    b = np.ones(1600)
    counts = []
    for preconditioner in (None, M):
        iterations = []
        x, info = scipy.sparse.linalg.cg(A, b, M=preconditioner, rtol=1e-8, callback=iterations.append)
        assert info == 0 and np.linalg.norm(b - S @ x) <= 1.1e-8 * np.linalg.norm(b)
        counts.append(len(iterations))
    assert counts[1] < counts[0] / 2


def test_levels_of_multigrid():
    A = warp_spmv.matrix(laplacian(60), device="cpu")
    levels = warp_spmv.Preconditioner(A, "amg").levels
    assert levels[0][:2] == (3600, A.nnz) and len(levels) > 1
    assert [level.solved is None for level in levels] == [True] * (len(levels) - 1) + [False]
    assert all(fine.unknowns > coarse.unknowns for fine, coarse in zip(levels, levels[1:]))


def test_rigid_body_modes_and_vectors():
    # Nodes on a line in the plane, with springs along it and across.
    nodes, rng = 400, np.random.default_rng(0)
    places = np.column_stack([np.arange(nodes), np.cumsum(rng.standard_normal(nodes)) / 9]).astype(float)
    entries = scipy.sparse.lil_array((2 * nodes, 2 * nodes))
    for one in range(nodes):
        for other in range(one + 1, min(one + 3, nodes)):
            along = places[other] - places[one]
            spring = np.outer(along, along) / (along @ along)
            ends = np.r_[2 * one : 2 * one + 2, 2 * other : 2 * other + 2]
            block = np.block([[spring, -spring], [-spring, spring]])
            for row, of_row in zip(ends, block):
                for column, value in zip(ends, of_row):
                    entries[row, column] += value
    S = scipy.sparse.csr_array(entries + 1e-6 * scipy.sparse.eye_array(2 * nodes))
    A = warp_spmv.matrix(S, device="cpu")
    x, y = places.T - places.mean(axis=0)[:, None]
    modes = np.zeros((2 * nodes, 3))
    modes[0::2, 0], modes[1::2, 1], modes[0::2, 2], modes[1::2, 2] = 1, 1, -y, x
    # The matrix makes the modes small.
    assert np.linalg.norm(S @ modes) < 1e-5 * np.linalg.norm(modes)
    b = rng.random(2 * nodes)
    by_coordinates = warp_spmv.solve(A, b, preconditioner="amg", coordinates=places, method="cg", tol=1e-8)
    by_modes = warp_spmv.solve(A, b, preconditioner="amg:node=2", near_null_space=modes, method="cg", tol=1e-8)
    assert by_coordinates[1].converged and by_coordinates[1].iterations == by_modes[1].iterations
    np.testing.assert_allclose(by_coordinates[0], by_modes[0], rtol=1e-6)
    constants = warp_spmv.solve(A, b, preconditioner="amg:node=2", method="cg", tol=1e-8)
    assert by_modes[1].iterations < constants[1].iterations
    kept = warp_spmv.Preconditioner(A, "amg", coordinates=places, updates=True)
    again, report = warp_spmv.solve(A, b, preconditioner=kept, tol=1e-8)
    np.testing.assert_array_equal(again, by_coordinates[0])
    kept.refresh()
    np.testing.assert_array_equal(warp_spmv.solve(A, b, preconditioner=kept, tol=1e-8)[0], again)
    w, v, report = warp_spmv.eigsh(A, 2, "SA", preconditioner="amg", coordinates=places, tol=1e-8)
    assert report.converged and (w < 1e-5).all()


def test_functions_of_the_user():
    S = laplacian(30)
    A = warp_spmv.matrix(S, device="cpu")
    b = np.random.default_rng(0).random(900)
    ilu = scipy.sparse.linalg.spilu(S.tocsc(), drop_tol=1e-2)
    operator = scipy.sparse.linalg.LinearOperator(S.shape, ilu.solve)
    _, plain = warp_spmv.solve(A, b, method="bicgstab", tol=1e-9)
    for preconditioner in (ilu.solve, operator):
        x, report = warp_spmv.solve(A, b, method="bicgstab", preconditioner=preconditioner, tol=1e-9)
        assert report.converged and report.iterations < plain.iterations / 2
        assert np.linalg.norm(b - S @ x) <= 1.1e-9 * np.linalg.norm(b)
    jacobi = warp_spmv.solve(A, b, preconditioner="jacobi", tol=1e-9)
    inverse = scipy.sparse.diags_array(1 / S.diagonal())
    for preconditioner in (inverse, inverse.tocsr(), warp_spmv.matrix(inverse, device="cpu"), lambda r: r / 4):
        x, report = warp_spmv.solve(A, b, preconditioner=preconditioner, tol=1e-9)
        assert report.iterations == jacobi[1].iterations
        np.testing.assert_allclose(x, jacobi[0], rtol=1e-12)
    dense = np.linalg.inv(S.toarray())
    w, v, report = warp_spmv.eigsh(A, 3, "SA", preconditioner=dense, tol=1e-8)
    assert report.converged and np.linalg.norm(S @ v - v * w) < 1e-6


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("method", ["cg", "pipelined-cg", "minres", "bicgstab", "gmres"])
def test_every_method_takes_functions(dtype, method):
    A = warp_spmv.matrix(of_type(12, dtype), device="cpu")
    b = np.ones((144, 2), dtype)
    seen = []

    def jacobi(r):
        seen.append((r.shape, r.dtype))
        return r / 4

    X, reports = warp_spmv.solve(A, b, method=method, preconditioner=jacobi, tol=1e-4)
    expected, by_name = warp_spmv.solve(A, b, method=method, preconditioner="jacobi", tol=1e-4)
    assert [report.iterations for report in reports] == [report.iterations for report in by_name]
    np.testing.assert_allclose(X, expected, rtol=1e-3, atol=1e-4)
    assert set(seen) == {((144,), dtype)}


def test_what_a_function_raises():
    A = warp_spmv.matrix(laplacian(), device="cpu")
    b = np.ones(144)

    def fails(r):
        raise KeyError("no inverse")

    with pytest.raises(KeyError, match="no inverse"):
        warp_spmv.solve(A, b, preconditioner=fails)
    with pytest.raises(KeyError, match="no inverse"):
        warp_spmv.eigsh(A, 2, preconditioner=fails)
    for function, error, message in [
        (lambda r: r[1:], ValueError, r"the preconditioner's result has shape \(143,\), expected \(144,\)"),
        (lambda r: 1j * r, TypeError, "the preconditioner's result has elements of type complex128"),
        (lambda r: None, TypeError, "the preconditioner's result is a builtins.NoneType"),
        (lambda r: A @ r, RuntimeError, "the matrix that is being solved with"),
    ]:
        with pytest.raises(error, match=message):
            warp_spmv.solve(A, b, preconditioner=function)
    # The matrix is unchanged.
    assert warp_spmv.solve(A, b)[1].converged


def test_a_callback_cannot_multiply_with_what_is_in_use():
    A = warp_spmv.matrix(laplacian(), device="cpu")
    M = warp_spmv.Preconditioner(A, "ic0")
    for use in (lambda: M @ np.ones(144), M.refresh, lambda: M.levels):
        with pytest.raises(RuntimeError, match="that is being solved with"):
            warp_spmv.solve(A, np.ones(144), preconditioner=M, callback=lambda _: use())
    assert (M @ np.ones(144)).shape == (144,)


A = warp_spmv.matrix(laplacian(), device="cpu")


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: warp_spmv.Preconditioner(A, "lu"), ValueError, "unknown preconditioner 'lu': expected jacobi"),
        (lambda: warp_spmv.Preconditioner(A, None), TypeError, "name"),
        (
            lambda: warp_spmv.Preconditioner(A, "ic0", near_null_space=np.ones((144, 1))),
            ValueError,
            "near_null_space requires the preconditioner amg, found ic0",
        ),
        (
            lambda: warp_spmv.Preconditioner(A, "ic0", coordinates=np.ones((72, 2))),
            ValueError,
            "coordinates requires the preconditioner amg, found ic0",
        ),
        (
            lambda: warp_spmv.Preconditioner(A, "amg", near_null_space=np.ones((143, 1))),
            ValueError,
            r"near_null_space has shape \(143, 1\), expected \(144, 1\)",
        ),
        (
            lambda: warp_spmv.Preconditioner(A, "amg", near_null_space=np.ones((144, 33))),
            ValueError,
            "the number of near-null-space vectors is 33, expected 1 to 32",
        ),
        (
            lambda: warp_spmv.Preconditioner(A, "amg", near_null_space=np.full(144, np.nan)),
            ValueError,
            "an element of a near-null-space vector is NaN",
        ),
        (
            lambda: warp_spmv.Preconditioner(A, "amg", near_null_space=np.ones(144, complex)),
            TypeError,
            "near_null_space has elements of type complex128",
        ),
        (
            lambda: warp_spmv.Preconditioner(A, "amg", coordinates=np.ones((72, 4))),
            ValueError,
            r"coordinates has shape \(72, 4\), expected 2 or 3 columns and an element for each of 144 rows",
        ),
        (
            lambda: warp_spmv.Preconditioner(A, "amg", coordinates=np.ones((72, 2), complex)),
            TypeError,
            "coordinates has elements of type complex128, expected real numbers",
        ),
        (
            lambda: warp_spmv.Preconditioner(A, "amg", coordinates=np.full((72, 2), np.inf)),
            ValueError,
            "a coordinate is inf, expected a finite number",
        ),
        (
            lambda: warp_spmv.Preconditioner(A, "amg", coordinates=np.ones((72, 2)), near_null_space=np.ones(144)),
            ValueError,
            "both near_null_space and coordinates are given, expected one of them",
        ),
        (
            lambda: warp_spmv.solve(A, np.ones(144), coordinates=np.ones((72, 2))),
            ValueError,
            "coordinates requires preconditioner='amg'",
        ),
        (
            lambda: warp_spmv.solve(A, np.ones(144), preconditioner=lambda r: r, near_null_space=np.ones(144)),
            ValueError,
            "near_null_space requires preconditioner='amg'",
        ),
        (
            lambda: warp_spmv.solve(A, np.ones(144), preconditioner=3),
            TypeError,
            "preconditioner is a builtins.int, expected a name, a Preconditioner, a LinearOperator or a function",
        ),
        (
            lambda: warp_spmv.solve(A, np.ones(144), preconditioner=np.eye(3)),
            ValueError,
            r"preconditioner has shape \(3, 3\), expected \(144, 144\)",
        ),
        (
            lambda: warp_spmv.solve(A, np.ones(144), preconditioner=warp_spmv.Preconditioner(
                warp_spmv.matrix(laplacian(5), device="cpu"), "jacobi"
            )),
            ValueError,
            r"preconditioner has shape \(25, 25\), expected \(144, 144\)",
        ),
        (
            lambda: warp_spmv.solve(A, np.ones(144), preconditioner=warp_spmv.Preconditioner(
                warp_spmv.matrix(laplacian(dtype=np.float32), device="cpu"), "jacobi"
            )),
            ValueError,
            "preconditioner has dtype float32, but the matrix float64",
        ),
        (
            lambda: warp_spmv.solve(A, np.ones((144, 2)), method="block-cg", preconditioner=lambda r: r),
            ValueError,
            "block-cg takes no preconditioner",
        ),
        (lambda: warp_spmv.Preconditioner(warp_spmv.matrix(scipy.sparse.csr_array((2, 3)), device="cpu"), "jacobi"),
         ValueError, "the matrix"),
    ],
)
def test_preconditioners_that_are_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()
