"""onnxruntime's C API through ctypes.

The table that `OrtGetApiBase()->GetApi(n)` returns is append-only: the positions used here are the same in every
header since 1.8, so one program serves every onnxruntime from 1.17 (`API_VERSION`) on.
"""

from __future__ import annotations

import ctypes
from ctypes import byref, c_char_p, c_int, c_int64, c_size_t, c_void_p

from android_runner.virtual.perf_test.standin.failure import PerfTestError
from android_runner.virtual.perf_test.standin.pace import Slowed

LIBRARY = "libonnxruntime.so"
API_VERSION = 17

_GET_ERROR_CODE = 1
_GET_ERROR_MESSAGE = 2
_CREATE_ENV = 3
_CREATE_SESSION = 7
_CREATE_SESSION_FROM_ARRAY = 8
_RUN = 9
_CREATE_SESSION_OPTIONS = 10
_SET_OPTIMIZED_MODEL_FILE_PATH = 11
_SET_SESSION_EXECUTION_MODE = 13
_ENABLE_PROFILING = 14
_ENABLE_MEM_PATTERN = 16
_DISABLE_MEM_PATTERN = 17
_ENABLE_CPU_MEM_ARENA = 18
_DISABLE_CPU_MEM_ARENA = 19
_SET_SESSION_GRAPH_OPTIMIZATION_LEVEL = 23
_SET_INTRA_OP_NUM_THREADS = 24
_SET_INTER_OP_NUM_THREADS = 25
_REGISTER_CUSTOM_OPS_LIBRARY = 29
_INPUT_COUNT = 30
_OUTPUT_COUNT = 31
_INPUT_TYPE_INFO = 33
_OUTPUT_TYPE_INFO = 34
_INPUT_NAME = 36
_OUTPUT_NAME = 37
_CREATE_TENSOR = 48
_CREATE_TENSOR_WITH_DATA = 49
_TENSOR_DATA = 51
_FILL_STRING_TENSOR = 52
_CAST_TO_TENSOR_INFO = 55
_ELEMENT_TYPE = 60
_DIMENSION_COUNT = 61
_DIMENSIONS = 62
_CREATE_CPU_MEMORY_INFO = 69
_DEFAULT_ALLOCATOR = 78
_ADD_DIMENSION_BY_DENOTATION = 79
_RELEASE_STATUS = 93
_RELEASE_SESSION = 95
_ADD_DIMENSION_BY_NAME = 124
_ADD_CONFIG_ENTRY = 130

LOG_VERBOSE = 0
LOG_WARNING = 2
INVALID_PROTOBUF = 7

_Function = ctypes.CFUNCTYPE(c_void_p)


class LibraryMissing(Exception):
    """The dynamic loader's words for why the library cannot be loaded."""


class OrtError(PerfTestError):
    """A status that onnxruntime returned: its code and its message."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class TensorType:
    """Element type (ONNX's number) and dimensions of one input; -1 is a free dimension."""

    def __init__(self, element: int, dims: list[int]) -> None:
        self.element = element
        self.dims = dims


def text_bytes(text: str) -> bytes:
    """Text from the command line back to the bytes it came as."""
    return text.encode("utf-8", "surrogateescape")


class Api:
    """The function table of a loaded library; calls raise `OrtError`."""

    def __init__(self) -> None:
        try:
            self._library = ctypes.CDLL(LIBRARY)
            base_function = self._library.OrtGetApiBase
        except OSError as error:
            raise LibraryMissing(str(error)) from error
        except AttributeError as error:
            raise LibraryMissing(f"{LIBRARY}: undefined symbol: OrtGetApiBase") from error
        base_function.restype = ctypes.POINTER(c_void_p)
        get_api = ctypes.CFUNCTYPE(ctypes.POINTER(c_void_p), ctypes.c_uint32)(base_function()[0])
        self._table = get_api(API_VERSION)
        if not self._table:
            raise LibraryMissing(f"{LIBRARY}: has no API version {API_VERSION}")
        self._message_function = ctypes.CFUNCTYPE(c_char_p)(self._table[_GET_ERROR_MESSAGE])
        self.allocator = c_void_p()
        self.call(_DEFAULT_ALLOCATOR, byref(self.allocator))
        self._memory = c_void_p()
        self.call(_CREATE_CPU_MEMORY_INFO, c_int(0), c_int(0), byref(self._memory))

    def function(self, index: int) -> ctypes._CFunctionType:
        """The function at a position of the table; returns an `OrtStatus*` as a number or None."""
        return _Function(self._table[index])

    def call(self, index: int, *arguments: object) -> None:
        """Call, and raise what the status says."""
        status = self.function(index)(*arguments)
        if status:
            raise self.error(status)

    def error(self, status: int) -> OrtError:
        """The exception for a status, which is released."""
        pointer = c_void_p(status)
        message = self._message_function(pointer) or b""
        code = self.function(_GET_ERROR_CODE)(pointer) or 0
        self.function(_RELEASE_STATUS)(pointer)
        return OrtError(code & 0xFFFFFFFF, message.decode("utf-8", "surrogateescape"))

    def environment(self, log_level: int) -> c_void_p:
        """An `OrtEnv` whose log lines carry the id `Default`."""
        env = c_void_p()
        self.call(_CREATE_ENV, c_int(log_level), c_char_p(b"Default"), byref(env))
        return env

    def tensor_over(self, buffer: ctypes.Array[ctypes.c_char], n_bytes: int, dims: list[int], element: int) -> c_void_p:
        """A tensor over memory that the caller keeps alive."""
        value = c_void_p()
        self.call(
            _CREATE_TENSOR_WITH_DATA,
            self._memory,
            buffer,
            c_size_t(n_bytes),
            (c_int64 * len(dims))(*dims),
            c_size_t(len(dims)),
            c_int(element),
            byref(value),
        )
        return value

    def tensor(self, dims: list[int], element: int) -> c_void_p:
        """A tensor with memory of its own, not initialized except for strings (empty)."""
        value = c_void_p()
        shape = (c_int64 * len(dims))(*dims)
        self.call(_CREATE_TENSOR, self.allocator, shape, c_size_t(len(dims)), c_int(element), byref(value))
        return value

    def data_address(self, tensor: c_void_p) -> int:
        """Where a tensor's elements lie; 0 for an empty one."""
        address = c_void_p()
        self.call(_TENSOR_DATA, tensor, byref(address))
        return address.value or 0

    def fill_strings(self, tensor: c_void_p, texts: list[bytes]) -> None:
        """Set the elements of a string tensor."""
        self.call(_FILL_STRING_TENSOR, tensor, (c_char_p * len(texts))(*texts), c_size_t(len(texts)))


class SessionOptions:
    """An `OrtSessionOptions`, one method for each setting that perf_test makes."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self.pointer = c_void_p()
        api.call(_CREATE_SESSION_OPTIONS, byref(self.pointer))

    def arena(self, enabled: bool) -> None:
        """The CPU memory arena."""
        self._api.call(_ENABLE_CPU_MEM_ARENA if enabled else _DISABLE_CPU_MEM_ARENA, self.pointer)

    def memory_pattern(self, enabled: bool) -> None:
        """Planning of memory from the first run's sizes."""
        self._api.call(_ENABLE_MEM_PATTERN if enabled else _DISABLE_MEM_PATTERN, self.pointer)

    def parallel(self, enabled: bool) -> None:
        """Parallel or sequential executor."""
        self._api.call(_SET_SESSION_EXECUTION_MODE, self.pointer, c_int(int(enabled)))

    def config(self, key: str, value: str) -> None:
        """A session config entry."""
        self._api.call(_ADD_CONFIG_ENTRY, self.pointer, c_char_p(text_bytes(key)), c_char_p(text_bytes(value)))

    def intra_threads(self, count: int) -> None:
        """Threads within an operator."""
        self._api.call(_SET_INTRA_OP_NUM_THREADS, self.pointer, c_int(count))

    def inter_threads(self, count: int) -> None:
        """Threads across operators."""
        self._api.call(_SET_INTER_OP_NUM_THREADS, self.pointer, c_int(count))

    def level(self, level: int) -> None:
        """Graph optimization level as the C enum numbers it."""
        self._api.call(_SET_SESSION_GRAPH_OPTIMIZATION_LEVEL, self.pointer, c_int(level))

    def profile(self, prefix: str) -> None:
        """Write a trace `<prefix>_<time>.json`."""
        self._api.call(_ENABLE_PROFILING, self.pointer, c_char_p(text_bytes(prefix)))

    def save_optimized(self, path: str) -> None:
        """Save the model as optimized."""
        self._api.call(_SET_OPTIMIZED_MODEL_FILE_PATH, self.pointer, c_char_p(text_bytes(path)))

    def custom_ops(self, path: str) -> None:
        """Load a library of custom operators."""
        handle = c_void_p()
        self._api.call(_REGISTER_CUSTOM_OPS_LIBRARY, self.pointer, c_char_p(text_bytes(path)), byref(handle))

    def dimension(self, name: str, value: int, *, by_denotation: bool) -> None:
        """Fix a free dimension."""
        index = _ADD_DIMENSION_BY_DENOTATION if by_denotation else _ADD_DIMENSION_BY_NAME
        self._api.call(index, self.pointer, c_char_p(text_bytes(name)), c_int64(value))


class Session:
    """An `OrtSession`: its inputs and outputs, and what a run needs."""

    def __init__(self, api: Api, env: c_void_p, model: str | bytes, options: SessionOptions) -> None:
        """`model` is a path, or the model's bytes."""
        self._api = api
        self.pointer = c_void_p()
        if isinstance(model, str):
            path = c_char_p(text_bytes(model))
            api.call(_CREATE_SESSION, env, path, options.pointer, byref(self.pointer))
        else:
            size = c_size_t(len(model))
            api.call(_CREATE_SESSION_FROM_ARRAY, env, model, size, options.pointer, byref(self.pointer))
        self.input_names = self._names(_INPUT_COUNT, _INPUT_NAME)
        self.output_names = self._names(_OUTPUT_COUNT, _OUTPUT_NAME)
        self.run_function: ctypes._CFunctionType | Slowed = api.function(_RUN)

    def _names(self, count_index: int, name_index: int) -> list[bytes]:
        count = c_size_t()
        self._api.call(count_index, self.pointer, byref(count))
        names = []
        for at in range(count.value):
            name = c_char_p()
            allocator = self._api.allocator
            self._api.call(name_index, self.pointer, c_size_t(at), allocator, byref(name))
            names.append(name.value or b"")
        return names

    def input_type(self, at: int) -> TensorType | None:
        """Type of an input; None when it is not a tensor."""
        return self._type(_INPUT_TYPE_INFO, at)

    def output_type(self, at: int) -> TensorType | None:
        """Type of an output; None when it is not a tensor."""
        return self._type(_OUTPUT_TYPE_INFO, at)

    def _type(self, index: int, at: int) -> TensorType | None:
        api = self._api
        info, tensor_info = c_void_p(), c_void_p()
        api.call(index, self.pointer, c_size_t(at), byref(info))
        api.call(_CAST_TO_TENSOR_INFO, info, byref(tensor_info))
        if not tensor_info.value:
            return None
        element, count = c_int(), c_size_t()
        api.call(_ELEMENT_TYPE, tensor_info, byref(element))
        api.call(_DIMENSION_COUNT, tensor_info, byref(count))
        dims = (c_int64 * count.value)()
        api.call(_DIMENSIONS, tensor_info, dims, count)
        return TensorType(element.value, list(dims))

    def run_arguments(self, inputs: list[c_void_p], outputs: ctypes.Array[c_void_p]) -> tuple[object, ...]:
        """What `run_function` takes, ready made, so that a call costs as little as it can.

        `outputs` starts with nulls; onnxruntime fills it in the first run and writes into the same tensors afterwards.
        """
        n_inputs, n_outputs = len(inputs), len(self.output_names)
        return (
            self.pointer,
            None,
            (c_char_p * n_inputs)(*self.input_names),
            (c_void_p * n_inputs)(*[value.value for value in inputs]),
            c_size_t(n_inputs),
            (c_char_p * n_outputs)(*self.output_names),
            c_size_t(n_outputs),
            outputs,
        )

    def error(self, status: int) -> OrtError:
        """The exception for what `run_function` returned."""
        return self._api.error(status)

    def release(self) -> None:
        """End the session; a trace is written now."""
        self._api.function(_RELEASE_SESSION)(self.pointer)
