"""The side of SciPy in the test `npz_scipy.rs`, which starts it with a task and a folder.

write: sparse matrices as .npz in the folder, each with its entries as text beside it.
check: the .npz files in the folder hold what the text beside them says.
"""

import pathlib
import struct
import sys

import numpy
import scipy.sparse

FORMATS = ["csr", "csc", "coo"]
TYPES = ["complex128", "complex64", "float64", "float32", "int64", "int32", "int16", "int8", "uint8", "bool"]
BIG_ENDIAN = {"complex128": ">c16", "complex64": ">c8", "float64": ">f8", "int32": ">i4"}
SHAPES = [(1, 1), (7, 3), (30, 400), (0, 3), (3, 0)]


def bits(value):
    value = complex(value)
    return struct.pack(">dd", value.real, value.imag).hex()


def entries(matrix):
    """The shape and the entries by row and column, as text."""
    matrix = matrix.tocsr(copy=True)
    matrix.sum_duplicates()
    matrix = matrix.tocoo()
    lines = [f"{matrix.shape[0]} {matrix.shape[1]}"]
    lines += [f"{row} {column} {bits(value)}" for row, column, value in zip(matrix.row, matrix.col, matrix.data)]
    return "\n".join(lines) + "\n"


def write(folder):
    random = numpy.random.default_rng(1)
    number = 0
    for shape in SHAPES:
        for element in TYPES:
            for sparse_format in FORMATS:
                number += 1
                matrix = scipy.sparse.random_array(shape, density=0.2, rng=random).tocoo()
                numbers = matrix.data * 200 - 100
                if element.startswith("complex"):
                    numbers = numbers + 1j * random.random(len(numbers))
                matrix.data = numbers.astype("float64" if element == "bool" else element)
                matrix = matrix.asformat(sparse_format).astype(element)
                if number % 2:
                    matrix = getattr(scipy.sparse, f"{sparse_format}_matrix")(matrix)
                if number % 3 == 0 and sparse_format != "coo":
                    matrix.indices = matrix.indices.astype("int64")
                    matrix.indptr = matrix.indptr.astype("int64")
                name = f"{number:03}-{sparse_format}-{element}"
                (folder / f"{name}.txt").write_text(entries(matrix.astype("complex128")))
                if number % 5 == 0:
                    matrix.data = matrix.data.astype(BIG_ENDIAN.get(element, element))
                scipy.sparse.save_npz(folder / f"{name}.npz", matrix, compressed=number % 4 != 0)


def check(folder):
    archives = sorted(folder.glob("*.npz"))
    assert archives
    for archive in archives:
        matrix = scipy.sparse.load_npz(archive)
        assert matrix.format == "csr", archive
        assert matrix.dtype == archive.stem.split("-")[1], (archive, matrix.dtype)
        assert matrix.indices.dtype == matrix.indptr.dtype == numpy.int32, archive
        matrix.check_format(full_check=True)
        coordinates = matrix.tocoo()
        lines = [f"{matrix.shape[0]} {matrix.shape[1]}"]
        triplets = zip(coordinates.row, coordinates.col, coordinates.data)
        lines += [f"{row} {column} {bits(value)}" for row, column, value in triplets]
        assert "\n".join(lines) + "\n" == archive.with_suffix(".txt").read_text(), archive


if __name__ == "__main__":
    {"write": write, "check": check}[sys.argv[1]](pathlib.Path(sys.argv[2]))
