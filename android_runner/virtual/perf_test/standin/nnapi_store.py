"""What was prepared for NNAPI, kept on the phone as a driver keeps its compilations: one folder for each question.

A folder's name is a digest of the model's bytes and of everything that decides on its partitions. It appears whole, by
a rename; the least recently used go when all together are too large.

`json` and `_blake2` are imported where they are used: this module is loaded by every trial.
"""

from __future__ import annotations

import os

from android_runner.virtual.perf_test.standin.failure import PerfTestError
from android_runner.virtual.perf_test.standin.options import Options
from android_runner.virtual.perf_test.standin.phone import Phone

CACHE = "/data/vendor/nnapi-cache"
MAX_CACHE_BYTES = 1 << 30
_MODULE = "android_runner.virtual.nnapi.prepare"
_CHUNK_BYTES = 1 << 20
_MAX_WORDS_BYTES = 4096


class Description:
    """What the preparing process has written; its module says what each is."""

    def __init__(self, text: str) -> None:
        """Raises ValueError and KeyError for anything else."""
        from json import loads  # noqa: PLC0415

        found = loads(text)
        self.model: str = found["model"]
        self.refusal: str = found["refusal"]
        self.unloadable: str = found["unloadable"]
        self.failure: str = found["failure"]
        self.partitions: list[dict[str, object]] = found["partitions"]
        self.rest: int = found["rest"]
        self.before: list[tuple[str, str, str, str]] = found["before"]
        self.after: list[tuple[str, str, str, str]] = found["after"]


class Store:
    """The prepared folder for one model on one phone with one command line."""

    def __init__(self, phone: Phone, options: Options, flags: list[str]) -> None:
        """Find the folder, or have it made; raises `PerfTestError` where it can't be."""
        from _blake2 import blake2b  # noqa: PLC0415
        from json import dumps  # noqa: PLC0415

        self._phone = phone
        self._folder = f"{phone.root}{CACHE}"
        question = {
            "model": options.model,
            "model_hash": "",
            "api_level": phone.api_level,
            "flags": flags,
            "devices": phone.devices,
            "level": options.level,
            "dims_by_name": options.dims_by_name,
            "dims_by_denotation": options.dims_by_denotation,
            "config": options.config,
            "custom_ops": options.custom_ops,
        }
        content = _content_digest(options.model)
        question["model_hash"] = str(int.from_bytes(content[:8], "little"))
        asked = dumps({**question, "model": os.path.splitext(options.model)[1]}, sort_keys=True).encode()
        key = blake2b(content + asked + phone.converter.encode(), digest_size=16).hexdigest()
        made = f"{self._folder}/{key}"
        description = _read(made)
        if description is None:
            _remove(made)  # an entry that a power cut has damaged
            try:
                self._prepare(dumps(question), made)
                self._evict(keep=key)
            except OSError as error:
                raise PerfTestError(f"virtual NNAPI: {error}") from error
            description = _read(made)
        if description is None:
            raise PerfTestError("virtual NNAPI: what was prepared can't be read")
        os.utime(made)
        self.description = description
        self.model = f"{made}/{description.model}" if description.model else ""

    def _prepare(self, request: str, made: str) -> None:
        """Run the preparing process in a folder of its own, then give the folder its name."""
        if not self._phone.python:
            raise PerfTestError("virtual NNAPI: this host has no onnxruntime and onnx for Python to take a graph apart")
        os.makedirs(self._folder, exist_ok=True)
        self._sweep()
        scratch = f"{self._folder}/.{os.getpid()}"
        os.mkdir(scratch)
        try:
            with open(f"{scratch}/request.json", "w", encoding="utf-8") as file:
                file.write(request)
            self._run(scratch)
            try:
                os.rename(scratch, made)
            except OSError:
                if _read(made) is None:
                    raise
        finally:
            _remove(scratch)

    def _run(self, scratch: str) -> None:
        words = f"{scratch}/words"
        environment = {**os.environ, "PYTHONPATH": self._phone.python_path, "OPENBLAS_NUM_THREADS": "1"}
        environment.pop("LD_LIBRARY_PATH", None)
        new_file = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        pid = os.posix_spawn(
            self._phone.python,
            [self._phone.python, "-sBP", "-m", _MODULE, scratch, str(os.getpid())],
            environment,
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
                (os.POSIX_SPAWN_OPEN, 1, words, new_file, 0o644),
                (os.POSIX_SPAWN_DUP2, 1, 2),
            ],
        )
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        if status:
            with open(words, "rb") as file:
                said = file.read()[-_MAX_WORDS_BYTES:].decode("utf-8", "replace").strip()
            last = said.rpartition("\n")[2]
            raise PerfTestError(f"virtual NNAPI: preparing the model failed with status {status}: {last}")

    def _sweep(self) -> None:
        """Remove what killed processes have left."""
        for name in os.listdir(self._folder):
            if name.startswith(".") and not os.path.exists(f"/proc/{name[1:]}"):
                _remove(f"{self._folder}/{name}")

    def _evict(self, keep: str) -> None:
        """Remove the least recently used folders until the rest fits; never the one that is about to be loaded."""
        kept = []
        for name in os.listdir(self._folder):
            if not name.startswith("."):
                try:
                    kept.append((os.stat(f"{self._folder}/{name}").st_mtime, name, _bytes(f"{self._folder}/{name}")))
                except FileNotFoundError:
                    continue
        total = sum(size for _, _, size in kept)
        for _, name, size in sorted(kept):
            if total <= MAX_CACHE_BYTES:
                break
            if name != keep:
                _remove(f"{self._folder}/{name}")
                total -= size


def _content_digest(model: str) -> bytes:
    """Of the model's bytes and, for what may be external data, of its neighbours' names, sizes and times."""
    from _blake2 import blake2b  # noqa: PLC0415

    digest = blake2b(digest_size=16)
    buffer = bytearray(_CHUNK_BYTES)
    view = memoryview(buffer)
    try:
        with open(model, "rb", buffering=0) as file:
            while count := file.readinto(buffer):
                digest.update(view[:count])
    except OSError:
        return digest.digest()  # the session says in onnxruntime's words what is wrong with the file
    if model.endswith(".onnx"):
        with os.scandir(os.path.dirname(model) or ".") as entries:
            files = sorted((entry.name, entry.stat()) for entry in entries if entry.is_file())
        for name, found in files:
            digest.update(f"{name}\0{found.st_size}\0{found.st_mtime_ns}\0".encode("utf-8", "surrogateescape"))
    return digest.digest()


def _read(folder: str) -> Description | None:
    try:
        with open(f"{folder}/description.json", encoding="utf-8") as file:
            return Description(file.read())
    except (OSError, ValueError, KeyError):
        return None


def _bytes(folder: str) -> int:
    with os.scandir(folder) as entries:
        return sum(entry.stat().st_size for entry in entries)


def _remove(folder: str) -> None:
    try:
        for name in os.listdir(folder):
            os.unlink(f"{folder}/{name}")
        os.rmdir(folder)
    except OSError:
        return  # gone already, or in another's hands
