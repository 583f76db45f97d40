"""Matrices and vectors that the tests share."""

import numpy as np
import scipy.sparse
from hypothesis import strategies as st

import warp_spmv

TYPES = [np.dtype(name) for name in ("float32", "float64", "complex64", "complex128")]


def small_integers(generator, shape, dtype):
    """Returns numbers whose products and sums no type rounds, so that results must be equal."""
    numbers = generator.integers(-4, 5, shape).astype(dtype)
    return numbers + 1j * generator.integers(-4, 5, shape).astype(dtype) if dtype.kind == "c" else numbers


@st.composite
def sparse(draw, dtypes=tuple(TYPES), most=12):
    """Draws a SciPy matrix with small integers: of any shape, possibly empty, with entries in any order and repeated."""
    rows, columns = draw(st.integers(0, most)), draw(st.integers(0, most))
    entries = draw(st.integers(0, 3 * most)) if rows and columns else 0
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    dtype = draw(st.sampled_from(dtypes))
    places = (generator.integers(0, max(rows, 1), entries), generator.integers(0, max(columns, 1), entries))
    matrix = scipy.sparse.coo_array((small_integers(generator, entries, dtype), places), shape=(rows, columns))
    kind = draw(st.sampled_from(["coo", "csr", "csc", "wide", "unsorted"]))
    if kind == "coo":
        return matrix
    if kind == "csc":
        return matrix.tocsc()
    csr = matrix.tocsr()
    if kind == "wide":
        csr.indices, csr.indptr = csr.indices.astype(np.int64), csr.indptr.astype(np.int64)
    if kind == "unsorted":
        # The entries of rows in reverse, each of them twice.
        order = np.concatenate([np.arange(*csr.indptr[row : row + 2])[::-1] for row in range(rows)] or [[]]).astype(int)
        order = np.repeat(order, 2)
        csr = scipy.sparse.csr_array((csr.data[order], csr.indices[order], 2 * csr.indptr), shape=csr.shape)
    return csr


def laplacian(points=12, dtype=np.float64):
    """Returns a symmetric positive definite matrix."""
    return warp_spmv.generate(f"stencil:5:{points}", dtype)


def hermitian_laplacian(points=12, dtype=np.complex128):
    """Returns the same matrix with a phase per unknown: Hermitian, with the same eigenvalues."""
    phases = scipy.sparse.diags_array(np.exp(1j * np.arange(points**2))).astype(dtype)
    return scipy.sparse.csr_array(phases @ laplacian(points).astype(dtype) @ phases.conj())
