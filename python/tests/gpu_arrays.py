"""Arrays that claim to be on a GPU, described like those of other libraries."""

import ctypes

import numpy as np


class Interface:
    """An array with `__cuda_array_interface__`. Its memory is on the host, but is never accessed."""

    def __init__(self, array, readonly=False, stream=1, **changes):
        self.array = array
        strides = None if array.flags.c_contiguous else array.strides
        self.__cuda_array_interface__ = {
            "shape": array.shape,
            "typestr": array.dtype.str,
            "data": (array.ctypes.data, readonly),
            "strides": strides,
            "stream": stream,
            "version": 3,
        } | changes

    @property
    def dtype(self):
        return self.array.dtype

    @property
    def ndim(self):
        return self.array.ndim

    @property
    def T(self):
        return type(self)(self.array.T)

    def __setitem__(self, place, values):
        self.array[place] = values.array


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32 * 2),
        ("dimensions", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("offset", ctypes.c_uint64),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    ]


_CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}


class DLPack:
    """An array that supports only DLPack."""

    def __init__(self, array, device=(2, 0), code=None, lanes=1):
        self.array = array
        self.device = device
        self.asked = []
        numbers = ctypes.c_int64 * array.ndim
        self._shape = numbers(*array.shape)
        self._strides = numbers(*(stride // array.itemsize for stride in array.strides))
        self._tensor = _Tensor(
            array.ctypes.data,
            device,
            array.ndim,
            _CODES[array.dtype.kind] if code is None else code,
            8 * array.itemsize,
            lanes,
            self._shape,
            self._strides,
            0,
        )

    @property
    def dtype(self):
        return self.array.dtype

    @property
    def ndim(self):
        return self.array.ndim

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, stream=None):
        self.asked.append(stream)
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
        return new(ctypes.addressof(self._tensor), b"dltensor", None)


def empty(shape, dtype):
    """Makes a new array, like the function of a library."""
    return Interface(np.empty(shape, dtype))


def asarray(array):
    """Converts a NumPy array, like the function of a library."""
    return Interface(array)
