"""SciPy's side of the test `solve_scipy.rs`, which runs it with a function of scipy.sparse.linalg, a matrix, b and the x
to compare with that of the function.
"""

import sys

import numpy
import scipy.io
import scipy.sparse
import scipy.sparse.linalg

TOLERANCE = 1e-10


def main():
    function, matrix, b, found = sys.argv[1:]
    matrix = scipy.sparse.load_npz(matrix).tocsr()
    b, found = (scipy.io.mmread(path).ravel() for path in (b, found))
    x, failure = getattr(scipy.sparse.linalg, function)(matrix, b, rtol=TOLERANCE, maxiter=10_000)
    assert failure == 0, f"{function}: {failure}"
    difference = numpy.linalg.norm(x - found) / numpy.linalg.norm(x)
    assert difference < 1e-7, f"{function}: x differs by {difference}"
    residual = numpy.linalg.norm(b - matrix @ found) / numpy.linalg.norm(b)
    assert residual < 1.1 * TOLERANCE, f"{function}: the residual is {residual}"


main()
