"""PyTorch and CuPy on a GPU, with the operations that the tests need."""

import warnings

import numpy as np
import pytest


class Torch:
    """PyTorch, with the operations that the tests need."""

    def __init__(self):
        self.library = pytest.importorskip("torch")
        if not self.library.cuda.is_available():
            pytest.skip("PyTorch finds no GPU")

    def array(self, array):
        return self.library.from_numpy(np.array(array)).cuda()

    def numpy(self, array):
        return array.cpu().numpy()

    def csr(self, matrix, width):
        indices = [self.array(array.astype(width)) for array in (matrix.indptr, matrix.indices)]
        with warnings.catch_warnings():
            # PyTorch warns that this is in beta.
            warnings.simplefilter("ignore", UserWarning)
            return self.library.sparse_csr_tensor(*indices, self.array(matrix.data), size=matrix.shape)

    def values(self, csr):
        return csr.values()

    def pointer(self, array):
        return array.data_ptr()

    def stream(self):
        return self.library.cuda.Stream()

    def on(self, stream):
        return self.library.cuda.stream(stream)

    def work(self):
        """Keeps the current stream busy for a few milliseconds."""
        long = self.library.ones(1 << 26, device="cuda")
        for _ in range(40):
            long.mul_(1.0)

    def wait(self):
        self.library.cuda.synchronize()

    def free_memory(self):
        self.wait()
        self.library.cuda.empty_cache()
        return self.library.cuda.mem_get_info()[0]


class CuPy:
    """CuPy, with the operations that the tests need."""

    def __init__(self):
        self.library = pytest.importorskip("cupy")
        self.sparse = pytest.importorskip("cupyx.scipy.sparse")

    def array(self, array):
        return self.library.asarray(np.array(array))

    def numpy(self, array):
        return self.library.asnumpy(array)

    def csr(self, matrix, width):
        arrays = matrix.data, matrix.indices.astype(width), matrix.indptr.astype(width)
        return self.sparse.csr_matrix(tuple(self.array(array) for array in arrays), shape=matrix.shape)

    def values(self, csr):
        return csr.data

    def pointer(self, array):
        return array.data.ptr

    def stream(self):
        return self.library.cuda.Stream(non_blocking=True)

    def on(self, stream):
        return stream

    def work(self):
        long = self.library.ones(1 << 26, np.float32)
        for _ in range(40):
            long *= 1

    def wait(self):
        self.library.cuda.runtime.deviceSynchronize()

    def free_memory(self):
        self.wait()
        self.library.get_default_memory_pool().free_all_blocks()
        return self.library.cuda.runtime.memGetInfo()[0]
