"""What no line of the packages may do, looked for in the code itself."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
MODULES = [path for package in ("android_runner", "orchestrator") for path in sorted((ROOT / package).rglob("*.py"))]
CALLS = frozenset(
    {"eval", "exec", "compile", "__import__", "pull_dir", "system", "popen", "getoutput", "getstatusoutput", "mktemp"}
)
"""By their last name, whatever they hang on: adbutils' `pull_dir` writes where the phone says."""
IMPORTS = frozenset(
    {"pickle", "shelve", "marshal", "yaml", "dill", "joblib", "cloudpickle", "requests", "urllib", "http"}
)
SPEAK_WITH_NOBODY = frozenset({"urllib.parse"})
OWN_PROGRAM = ROOT / "android_runner/virtual/perf_test/build.py"
"""Packs the stand-in for perf_test out of this repository's own modules, compiled, into one file."""
HARMLESS = {("re", "compile"), ("ast", "compile"), ("platform", "system")}
"""What hangs on these is another thing of the same name."""
PRIVATE_KEY = re.compile(rb"-----BEGIN [A-Z ]*PRIVATE KEY-----\s+[A-Za-z0-9+/=]{40}")
NOT_OURS = {
    ".git",
    ".venv",
    "build",
    "orch-runs",
    ".hypothesis",
    "__pycache__",
    ".mypy_cache",
    ".ruff_cache",
    ".pytest_cache",
}


def found(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and name of each call and import that is not wanted."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield from ((node.lineno, said) for said in _unwanted(node))
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
            names = [name for name in names if name not in SPEAK_WITH_NOBODY]
            yield from ((node.lineno, name) for name in names if name.split(".")[0] in IMPORTS)


def _unwanted(call: ast.Call) -> Iterator[str]:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    of = getattr(call.func.value, "id", "") if isinstance(call.func, ast.Attribute) else ""
    if name in CALLS and (of, name) not in HARMLESS:
        yield name
    for keyword in call.keywords:
        true = isinstance(keyword.value, ast.Constant) and keyword.value.value is True
        if keyword.arg in ("shell", "allow_pickle") and true:
            yield f"{keyword.arg}=True"


@pytest.mark.parametrize(
    "text",
    [
        "eval(x)",
        "import pickle",
        "from yaml import load",
        "subprocess.run(x, shell=True)",
        "np.load(x, allow_pickle=True)",
        "device.sync.pull_dir(a, b)",
        "os.system(x)",
        "compile(x)",
    ],
)
def test_what_is_looked_for_is_found(text: str) -> None:
    assert list(found(ast.parse(text)))


def test_no_dangerous_call() -> None:
    assert len(MODULES) > 300
    seen = {
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path in MODULES
        if path != OWN_PROGRAM
        for line, name in found(ast.parse(path.read_text(encoding="utf-8")))
    }
    assert seen == set()


def test_no_key_lies_in_the_repository() -> None:
    holding = [
        str(path.relative_to(ROOT))
        for path in ROOT.rglob("*")
        if path.is_file()
        and not NOT_OURS & set(path.relative_to(ROOT).parts)
        and path.stat().st_size < 1_000_000
        and (
            path.name in ("adbkey", "adbkey.pub") or path.suffix == ".adb_key" or PRIVATE_KEY.search(path.read_bytes())
        )
    ]
    assert holding == []
