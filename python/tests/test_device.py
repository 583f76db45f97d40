"""The default device of a matrix."""

import subprocess
import sys

import pytest

from warp_spmv import _native

PROGRAM = """
import scipy.sparse, warnings, warp_spmv
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    A = warp_spmv.matrix(scipy.sparse.eye_array(3), device="cpu")
    assert not caught
    for _ in range(3):
        A = warp_spmv.matrix(scipy.sparse.eye_array(3))
    print(A.device, [(str(w.message), w.category.__name__, w.filename) for w in caught])
"""


def test_without_a_gpu_it_is_the_cpu_with_one_warning():
    if _native.why_no_gpu() is None:
        pytest.skip("there is a GPU")
    said = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True).stdout
    assert said.startswith('cpu [(\'warp_spmv runs on the CPU (pass device="cpu" to silence this warning): executor cuda')
    assert said.count("RuntimeWarning") == 1 and said.rstrip().endswith("'<string>')]")
