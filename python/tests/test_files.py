"""Files exchanged with SciPy."""

import numpy as np
import pytest
import scipy.io
import scipy.sparse
from hypothesis import given, settings
from matrices import TYPES, sparse

import warp_spmv


def same(left, right):
    return left.shape == right.shape and (left.toarray() == right.toarray()).all()


@settings(max_examples=20)
@given(sparse())
def test_there_and_back(tmp_path_factory, matrix):
    folder = tmp_path_factory.mktemp("files")
    for name in ("matrix.mtx", "matrix.mtx.gz", "matrix.npz", "matrix.wspmv"):
        warp_spmv.write(folder / name, matrix)
        read = warp_spmv.read(folder / name, matrix.dtype)
        assert read.dtype == matrix.dtype and same(read, matrix)
        A = warp_spmv.matrix(folder / name, "csr-vector", "cpu", dtype=matrix.dtype)
        x = np.arange(matrix.shape[1]).astype(matrix.dtype)
        np.testing.assert_array_equal(A @ x, matrix @ x)


@pytest.mark.parametrize("dtype", TYPES)
def test_scipys_files_and_ours(tmp_path, dtype):
    matrix = warp_spmv.generate("uniform:rows=5,columns=7,per-row=2", dtype)
    assert matrix.dtype == dtype
    scipy.sparse.save_npz(tmp_path / "theirs.npz", matrix)
    scipy.io.mmwrite(tmp_path / "theirs.mtx", matrix)
    warp_spmv.write(tmp_path / "ours.npz", matrix)
    assert same(warp_spmv.read(tmp_path / "theirs.npz", dtype), matrix)
    assert same(warp_spmv.read(str(tmp_path / "theirs.mtx"), dtype), matrix)
    assert same(scipy.sparse.load_npz(tmp_path / "ours.npz"), matrix)


def test_the_type_is_that_of_the_file(tmp_path):
    warp_spmv.write(tmp_path / "real.mtx", scipy.sparse.eye_array(3))
    warp_spmv.write(tmp_path / "complex.mtx", 1j * scipy.sparse.eye_array(3))
    assert warp_spmv.read(tmp_path / "real.mtx").dtype == np.float64
    assert warp_spmv.read(tmp_path / "complex.mtx").dtype == np.complex128
    assert warp_spmv.matrix(tmp_path / "complex.mtx", device="cpu").dtype == np.complex128
    with pytest.raises(ValueError, match="the values are complex, expected real ones"):
        warp_spmv.read(tmp_path / "complex.mtx", np.float32)


def test_a_matrix_is_written_from_any_format(tmp_path):
    matrix = warp_spmv.generate("stencil:9:5")
    warp_spmv.write(tmp_path / "matrix.npz", warp_spmv.matrix(matrix, "sell-p", "cpu"))
    assert same(scipy.sparse.load_npz(tmp_path / "matrix.npz"), matrix)
