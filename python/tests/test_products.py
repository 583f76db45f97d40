"""Products, compared with SciPy's."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from matrices import TYPES, small_integers, sparse

import warp_spmv

FORMATS = warp_spmv.formats()

few = settings(max_examples=50)


def made(matrix, format, **wishes):
    """Returns a matrix in a format, or None if padding would be excessive."""
    try:
        return warp_spmv.matrix(matrix, format, "cpu", **wishes)
    except ValueError as error:
        assert "choose another format" in str(error)
        return None


@st.composite
def arrays(draw, shape, dtype):
    """Draws an array as users have them: whole, part of another, reversed, in Fortran order, read-only, unaligned, or in
    the other byte order."""
    array = small_integers(np.random.default_rng(draw(st.integers(0, 2**32 - 1))), shape, dtype)
    kind = draw(st.sampled_from(["whole", "strided", "backwards", "fortran", "read-only", "swapped", "unaligned"]))
    if kind == "strided":
        wide = np.zeros((*shape[:-1], 3 * shape[-1]), dtype)
        wide[..., ::3] = array
        return wide[..., ::3]
    if kind == "backwards":
        return array[::-1]
    if kind == "fortran":
        return np.asfortranarray(array)
    if kind == "read-only":
        array.flags.writeable = False
    if kind == "swapped":
        return array.astype(dtype.newbyteorder())
    if kind == "unaligned":
        bytes_ = np.zeros(array.nbytes + 1, np.uint8)
        bytes_[1:] = np.frombuffer(array.tobytes(), np.uint8)
        return bytes_[1:].view(dtype).reshape(shape)
    return array


@few
@given(st.data())
@pytest.mark.parametrize("part", range(4))
def test_products_are_scipys(part, data):
    formats = FORMATS[part::4]
    matrix = data.draw(sparse())
    format = data.draw(st.sampled_from([*formats, "auto"]))
    values = data.draw(st.sampled_from(["full", "lossless"]))
    A = made(matrix, format, values=values)
    if A is None:
        return
    assert values == "lossless" or A.values == "full"
    rows, columns = matrix.shape
    assert (A.shape, A.dtype, A.nnz) == (matrix.shape, matrix.dtype, A.nnz)
    x = data.draw(arrays((columns,), matrix.dtype))
    np.testing.assert_array_equal(A @ x, matrix @ x)
    assert (A @ x).dtype == matrix.dtype
    z = data.draw(arrays((rows,), matrix.dtype))
    np.testing.assert_array_equal(A.T @ z, matrix.T @ z)
    np.testing.assert_array_equal(A.H @ z, matrix.conj().T @ z)
    np.testing.assert_array_equal(A.rmatvec(z), matrix.conj().T @ z)
    np.testing.assert_array_equal(z @ A, z @ matrix)
    np.testing.assert_array_equal(A.T.H @ x, matrix.conj() @ x)
    np.testing.assert_array_equal(A.T.T @ x, matrix @ x)
    vectors = data.draw(st.sampled_from([0, 1, 2, 5]))
    X = data.draw(arrays((columns, vectors), matrix.dtype))
    np.testing.assert_array_equal(A @ X, matrix @ X)
    Z = data.draw(arrays((rows, vectors), matrix.dtype))
    np.testing.assert_array_equal(A.T @ Z, matrix.T @ Z)
    np.testing.assert_array_equal(Z.T @ A, Z.T @ matrix)


@few
@given(st.data())
def test_out_alpha_and_beta(data):
    matrix = data.draw(sparse())
    A = warp_spmv.matrix(matrix, data.draw(st.sampled_from(["csr-vector", "sell-p", "auto"])), "cpu")
    operator, expected = data.draw(st.sampled_from([(A, matrix), (A.T, matrix.T), (A.H, matrix.conj().T)]))
    rows, columns = operator.shape
    dtype = matrix.dtype
    x = data.draw(arrays((columns,), dtype))
    out = data.draw(arrays((rows,), dtype))
    factors = [0, 1, -2] + ([1j, 2 - 1j] if dtype.kind == "c" else [])
    alpha, beta = data.draw(st.sampled_from(factors)), data.draw(st.sampled_from(factors))
    if not out.flags.writeable:
        with pytest.raises(ValueError, match="out is read-only"):
            operator.matvec(x, out=out)
        return
    result = alpha * (expected @ x) + beta * out
    if beta == 0:
        out[:] = np.nan
    assert operator.matvec(x, out=out, alpha=alpha, beta=beta) is out
    np.testing.assert_array_equal(out, result)


@pytest.mark.parametrize("format", ["csr-vector", "sell-p"])
def test_conjugates_have_complex_factors(format):
    generator = np.random.default_rng(5)
    complex_numbers = np.dtype(complex)
    matrix = scipy.sparse.csr_array(small_integers(generator, (5, 4), complex_numbers))
    A = warp_spmv.matrix(matrix, format, "cpu")
    operators = [(A.H, matrix.conj().T), (A.T.H, matrix.conj()), (A.H.T, matrix.conj()), (A.T.H.T, matrix.conj().T)]
    for operator, expected in operators:
        rows, columns = expected.shape
        x, y = small_integers(generator, columns, complex_numbers), small_integers(generator, rows, complex_numbers)
        result = (2 - 1j) * (expected @ x) + 3j * y
        np.testing.assert_array_equal(operator.matvec(x, out=y, alpha=2 - 1j, beta=3j), result)


def test_rounded_values_are_those_that_are_multiplied():
    generator = np.random.default_rng(8)
    matrix = scipy.sparse.random_array((40, 30), density=0.2, rng=generator, format="csr")
    rounded = matrix.astype(np.float32).astype(float)
    A = warp_spmv.matrix(matrix, "csr-tiled", "cpu", values="float32")
    assert (A.values, A.dtype) == ("float32", np.float64)
    full = warp_spmv.matrix(rounded, "csr-tiled", "cpu")
    assert full.values == "full" and A.nbytes < full.nbytes
    x, X = generator.random(30), generator.random((30, 3))
    np.testing.assert_array_equal(A @ x, full @ x)
    np.testing.assert_allclose(A @ X, rounded @ X, rtol=1e-13)
    np.testing.assert_allclose(A.T @ (A @ x), rounded.T @ (rounded @ x), rtol=1e-13)


@pytest.mark.parametrize(
    ("values", "format", "wishes", "message"),
    [
        ("float8", "auto", {}, "unknown type of stored values 'float8': expected full, automatic, lossless, same, table"),
        ("complex64", "csr-tiled", {}, "complex64"),
        ("float32", "hyb", {}, "hyb"),
        ("float32", "csr-tiled", {"updates": True}, "new values in a narrow type"),
    ],
)
def test_values_that_cannot_be_stored_so(values, format, wishes, message):
    with pytest.raises(ValueError, match=message):
        warp_spmv.matrix(scipy.sparse.eye_array(3) * 0.1, format, "cpu", values=values, **wishes)


def test_out_may_overlap_x():
    A = warp_spmv.matrix(scipy.sparse.csr_array(np.ones((3, 3))), "csr-vector", "cpu")
    x = np.array([1.0, 2.0, 3.0, 4.0])
    A.matvec(x[:3], out=x[1:])
    assert x.tolist() == [1, 6, 6, 6]


@pytest.mark.parametrize("dtype", TYPES)
def test_numbers_are_converted_where_nothing_is_lost(dtype):
    matrix = scipy.sparse.csr_array(np.array([[1, 2], [0, 3]], dtype))
    A = warp_spmv.matrix(matrix, "csr-vector", "cpu")
    for x in ([1, 2], (1.5, 2), np.array([1, 2]), np.array([True, False]), np.array([1, 2], np.float16)):
        y = A @ x
        assert y.dtype == dtype
        np.testing.assert_array_equal(y, matrix.toarray() @ np.asarray(x, dtype))
    if dtype.itemsize // (2 if dtype.kind == "c" else 1) == 4:
        with pytest.raises(TypeError, match="x has elements of type float64, but the matrix of"):
            A @ np.array([1.0, 2.0])
    with pytest.raises(TypeError, match="convert one of them"):
        A @ np.array([1.0, 2.0], np.longdouble)
    with pytest.raises(TypeError):
        A @ np.array(["a", "b"])


def test_a_real_matrix_multiplies_complex_vectors():
    matrix = scipy.sparse.csr_array([[1.0, 2.0], [0.0, 3.0]])
    A = warp_spmv.matrix(matrix, "csr-vector", "cpu")
    x = np.array([1 + 2j, 3 - 1j])
    for product in (A @ x, (A @ x[:, None])[:, 0]):
        assert product.dtype == np.complex128
        np.testing.assert_array_equal(product, matrix @ x)
    with pytest.raises(TypeError, match="alpha is 1j, expected a real number"):
        A.matvec(np.ones(2), alpha=1j)
    narrow = warp_spmv.matrix(matrix.astype(np.float32), "csr-vector", "cpu")
    assert (narrow @ x.astype(np.complex64)).dtype == np.complex64
    with pytest.raises(TypeError, match="convert one of them"):
        narrow @ x


@pytest.mark.parametrize("dtype", [np.int8, np.uint32, np.int64, bool, np.float16])
def test_other_values_become_numbers(dtype):
    matrix = scipy.sparse.csr_array(np.array([[1, 0], [1, 1]]).astype(np.float32 if dtype == np.float16 else dtype))
    matrix.data = matrix.data.astype(dtype)
    A = warp_spmv.matrix(matrix, device="cpu")
    assert A.dtype == (np.float32 if dtype == np.float16 else np.float64)
    assert (A @ np.array([1, 10], A.dtype)).tolist() == [1, 11]


def test_a_stored_zero_is_an_entry():
    matrix = scipy.sparse.csr_array((np.array([0.0]), np.array([1]), np.array([0, 1])), shape=(1, 2))
    A = warp_spmv.matrix(matrix, "csr-vector", "cpu")
    assert np.isnan(A @ np.array([1.0, np.inf])).all() and (A @ np.array([np.inf, 1.0])).tolist() == [0]


@pytest.mark.parametrize("format", FORMATS)
def test_new_values(format):
    matrix = warp_spmv.generate("stencil:9:6")
    A = made(matrix, format, updates=True)
    if A is None:
        return
    x, z = np.arange(36.0), np.arange(36.0)[::-1]
    A.T @ z  # May make a copy, which becomes stale.
    matrix.data = np.arange(1.0, matrix.nnz + 1)
    A.update_values(matrix.data)
    np.testing.assert_array_equal(A @ x, matrix @ x)
    np.testing.assert_array_equal(A.T @ z, matrix.T @ z)
    with pytest.raises(ValueError, match="values has shape"):
        A.update_values(matrix.data[1:])


def test_new_values_must_be_asked_for():
    A = warp_spmv.matrix(warp_spmv.generate("stencil:9:6"), "sell-p", "cpu")
    with pytest.raises(ValueError, match="updates"):
        A.update_values(np.ones(A.nnz))


def test_what_a_matrix_says_of_itself():
    matrix = warp_spmv.generate("stencil:9:6")
    A = warp_spmv.matrix(matrix, device="cpu")
    assert A.format in FORMATS and A.device == "cpu" and A.nnz == matrix.nnz
    assert A.format in A.explain() and "predicted" in A.explain()
    assert "requested" in warp_spmv.matrix(matrix, "coo", "cpu").explain()
    assert repr(A) == f"<36 x 36 warp_spmv.Matrix, {A.nnz} stored entries of float64, format {A.format} on cpu>"
    csr = warp_spmv.matrix(matrix, "csr-vector", "cpu")
    assert csr.nbytes == 12 * csr.nnz + 4 * 37
    sell = warp_spmv.matrix(matrix, "sell-p", "cpu")
    before = sell.nbytes
    sell.T @ np.ones(36)
    assert sell.nbytes == 2 * before


def test_a_matrix_can_be_made_of_another():
    matrix = warp_spmv.generate("stencil:9:6")
    A = warp_spmv.matrix(matrix, "sell-p", "cpu")
    B = warp_spmv.matrix(A, "csr-vector", "cpu")
    assert B.format == "csr-vector"
    np.testing.assert_array_equal(B @ np.arange(36.0), matrix @ np.arange(36.0))
    assert warp_spmv.matrix(A, device="cpu", dtype=np.float32).dtype == np.float32
