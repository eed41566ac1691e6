"""Fetches onnxruntime's shared library out of its wheel: `python tests/fetch_ort_library.py 1.21.0 OUTDIR`.

A true onnxruntime_perf_test of a shared build needs the library of exactly its own version, under the name
libonnxruntime.so. The wheel comes through pip's own index settings.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

WHEEL_PYTHON = "3.11"
"""A Python for which every version from 1.19.2 on has a wheel: the library is the same in all of them."""

SHA256 = {"1.21.0": "a0df84fae0f09d9eca3d6919f685ba435f1ae6cb628e128b69bcf2a2b965504c"}
"""Linux x86_64 libraries whose content is known."""


def fetch(version: str, directory: Path) -> Path:
    """Put `libonnxruntime.so` of a version into a folder and return its path; an existing right one is kept.

    Raises `subprocess.CalledProcessError` when pip finds no wheel, `ValueError` for content that is not the known one.
    """
    target = directory / "libonnxruntime.so"
    known = SHA256.get(version)
    if known and target.is_file() and hashlib.sha256(target.read_bytes()).hexdigest() == known:
        return target
    with tempfile.TemporaryDirectory() as folder:
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
        wanted = [f"--python-version={WHEEL_PYTHON}", "--dest", folder, f"onnxruntime=={version}"]
        subprocess.run([*pip, *wanted], check=True)
        (wheel,) = Path(folder).glob("onnxruntime-*.whl")
        with zipfile.ZipFile(wheel) as archive:
            content = archive.read(f"onnxruntime/capi/libonnxruntime.so.{version}")
    found = hashlib.sha256(content).hexdigest()
    if known and found != known:
        raise ValueError(f"libonnxruntime.so {version} has sha256 {found}, not {known}")
    directory.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(".libonnxruntime.so.part")
    temporary.write_bytes(content)
    temporary.chmod(0o755)
    return temporary.replace(target)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: fetch_ort_library.py VERSION OUTDIR")
    print(fetch(sys.argv[1], Path(sys.argv[2])))
