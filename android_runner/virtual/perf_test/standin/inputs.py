"""Inputs of a run: data sets beside the model, or generated ones (`-I`)."""

from __future__ import annotations

import os
from ctypes import c_char, c_float, c_ubyte, c_void_p, memset

from android_runner.virtual.perf_test.standin.dialect import Dialect
from android_runner.virtual.perf_test.standin.failure import DiesBySegfault, PerfTestError
from android_runner.virtual.perf_test.standin.options import c_long
from android_runner.virtual.perf_test.standin.ortapi import Api, Session
from android_runner.virtual.perf_test.standin.output import Output
from android_runner.virtual.perf_test.standin.tensorproto import STRING, TensorProto, read_tensor

_FLOAT, _UINT8, _INT8 = 1, 2, 3
_ELEMENT_BYTES = {1: 4, 2: 1, 3: 1, 4: 2, 5: 2, 6: 4, 7: 8, 9: 1, 10: 2, 11: 8, 12: 4, 13: 8, 16: 2}
_ELEMENT_BYTES |= {17: 1, 18: 1, 19: 1, 20: 1}
_MODULUS, _MULTIPLIER = 2147483647, 16807
_RANGE = _MODULUS - 2
_RANGE_AS_FLOAT = 2147483648.0
_MAX_FLOAT = 5.0
_BELOW_ONE = 1.0 - 2.0**-24


class NoData(Exception):
    """No usable data set; what to say on stdout has been said."""


class Inputs:
    """Tensors of each data set in the order of the model's inputs, and the memory that some of them lie in."""

    def __init__(self) -> None:
        self.sets: list[list[c_void_p]] = []
        self._memory: list[object] = []

    def keep(self, memory: object) -> None:
        """Keep a buffer alive as long as the tensors."""
        self._memory.append(memory)


def model_name(path: str) -> str:
    """The name in the result file: that of the folder the model lies in; `.` for none, nothing for `test_`."""
    name = os.path.dirname(path).rstrip("/").rpartition("/")[2]
    if not name:
        return "/" if path.startswith("/") else "."
    return "" if name == "test_" else name


def _model_dir(path: str) -> str:
    directory = os.path.dirname(path)
    return directory.rstrip("/") or directory or "."


def check_config(path: str) -> None:
    """Read `config.txt` beside the model, of which only the tolerances' form matters; raises `PerfTestError`."""
    try:
        with open(f"{_model_dir(path)}/config.txt", "rb") as file:
            lines = file.read().decode("utf-8", "surrogateescape").splitlines()
    except OSError:
        return
    for line in lines:
        words = [word.strip() for word in line.split(":") if word.strip()]
        if not line:
            continue
        if len(words) < 2:
            raise DiesBySegfault
        if words[0] in ("per_sample_tolerance", "relative_per_sample_tolerance") and not _starts_number(words[1]):
            raise PerfTestError("stod")


def _starts_number(text: str) -> bool:
    digits = text.lstrip("+-")
    return digits[:1].isdigit() or (digits[:1] == "." and digits[1:2].isdigit()) or digits[:3].lower() in ("inf", "nan")


def load(api: Api, session: Session, path: str, output: Output, dialect: Dialect) -> Inputs:
    """Every folder beside the model as a data set; raises `NoData` or `PerfTestError`."""
    name = model_name(path)
    directory = _model_dir(path)
    with os.scandir(directory) as entries:
        names = [entry.name for entry in entries if entry.is_dir()]
    folders = [f"{directory}/{name}" for name in names if dialect.hidden_data_sets or name[0] != "."]
    if not folders:
        output.line(f"there is no test data for model {name}")
        raise NoData
    inputs = Inputs()
    for folder in folders:
        feeds = _feeds(session, folder, dialect)
        tensors = []
        for input_name in session.input_names:
            text = input_name.decode("utf-8", "surrogateescape")
            if text not in feeds:
                output.line(f"there is no test input data for input {text} and model {name}")
                raise NoData
            tensors.append(_as_value(api, inputs, feeds[text]))
        inputs.sets.append(tensors)
    return inputs


def _feeds(session: Session, folder: str, dialect: Dialect) -> dict[str, TensorProto]:
    with os.scandir(folder) as entries:
        names = [entry.name for entry in entries if entry.is_file()]
    files = _sorted([f"{folder}/{name}" for name in names if name[:6] == "input_" and name[-3:] == ".pb"], dialect)
    feeds: dict[str, TensorProto] = {}
    for at, path in enumerate(files):
        if at >= len(session.input_names):
            raise PerfTestError(f"{dialect.where['input_type']}Model input {at} is missing type info\n")
        tensor = read_tensor(path, dialect)
        name = tensor.name or session.input_names[at].decode("utf-8", "surrogateescape")
        feeds.setdefault(name, tensor)
    return feeds


def _file_number(path: str, dialect: Dialect) -> int:
    name = path.rpartition("/")[2]
    number = c_long(name[: name.rindex(".")].rpartition("_")[2])
    if number is None:
        raise PerfTestError(f"{dialect.where['file_number']}parse file name failed\n")
    return number


def _sorted(paths: list[str], dialect: Dialect) -> list[str]:
    if len(paths) <= 1:
        return paths
    numbered = sorted((_file_number(path, dialect), path) for path in paths)
    paths = [path for _, path in numbered]
    if [number for number, _ in numbered] != list(range(len(paths))):
        raise PerfTestError(f"{dialect.where['file_name']}illegal input file name:{' '.join(paths)}\n")
    return paths


def _as_value(api: Api, inputs: Inputs, tensor: TensorProto) -> c_void_p:
    if tensor.element == STRING:
        value = api.tensor(tensor.dims, STRING)
        api.fill_strings(value, tensor.strings)
        return value
    buffer = (c_char * max(1, len(tensor.data))).from_buffer_copy(tensor.data or b"\0")
    inputs.keep(buffer)
    return api.tensor_over(buffer, len(tensor.data), tensor.dims, tensor.element)


def generate(api: Api, session: Session, seed: int, output: Output, dialect: Dialect) -> Inputs:
    """One data set of zeros, or of numbers from a seed ≥ 0; free dimensions are 1.

    Where the dialect starts from memory as it comes, so do the inputs.
    """
    inputs = Inputs()
    tensors = []
    for at in range(len(session.input_names)):
        kind = session.input_type(at)
        if kind is None:
            raise DiesBySegfault
        dims = [1 if dim == -1 else dim for dim in kind.dims]
        tensor = api.tensor(dims, kind.element)
        count = 1
        for dim in dims:
            count *= dim
        if kind.element != STRING:
            if kind.element not in _ELEMENT_BYTES:
                where = dialect.where["tensor_fill"]
                raise PerfTestError(f"{where}Unsupported tensor data type: {kind.element}\n")
            if dialect.zeroed_inputs:
                _fill(api.data_address(tensor), kind.element, count, seed, output)
        tensors.append(tensor)
    if not tensors:
        raise DiesBySegfault
    inputs.sets.append(tensors)
    return inputs


def _fill(address: int, element: int, count: int, seed: int, output: Output) -> None:
    if count:
        memset(address, 0, count * _ELEMENT_BYTES[element])
    if seed < 0:
        return
    if element == _FLOAT:
        fill_floats(address, count, seed)
    elif element in (_INT8, _UINT8):
        fill_bytes(address, count, seed, 127 if element == _INT8 else 255)
    else:
        output.line(" this type of data won't be random initialized")


def fill_floats(address: int, count: int, seed: int) -> None:
    """U[0, 5) as libstdc++'s default engine and `uniform_real_distribution<float>` draw it."""
    numbers = (c_float * count).from_address(address)
    state = seed % _MODULUS or 1
    rounded = c_float()
    for at in range(count):
        state = state * _MULTIPLIER % _MODULUS
        rounded.value = state - 1
        numbers[at] = min(rounded.value / _RANGE_AS_FLOAT, _BELOW_ONE) * _MAX_FLOAT


def fill_bytes(address: int, count: int, seed: int, largest: int) -> None:
    """Whole numbers in [0, largest] as libstdc++'s default engine and `uniform_int_distribution<int>` draw them."""
    numbers = (c_ubyte * count).from_address(address)
    state = seed % _MODULUS or 1
    scaling = _RANGE // (largest + 1)
    past = scaling * (largest + 1)
    for at in range(count):
        while True:
            state = state * _MULTIPLIER % _MODULUS
            if state - 1 < past:
                break
        numbers[at] = (state - 1) // scaling
