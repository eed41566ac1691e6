"""A phone's root without a phone: what the stand-in reads of it, and a way to run the stand-in there."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from android_runner.profile import load_profile
from android_runner.virtual.nnapi.prepare import DESCRIPTION
from android_runner.virtual.platform_file import PLATFORM_FILE, find_preparing, platform_text


@dataclass(frozen=True)
class RootedPhone:
    """`root` stands for the phone's `/`, `binaries` has the stand-in and its library."""

    root: Path
    binaries: Path

    @classmethod
    def of(cls, profile: str, root: Path, binaries: Path) -> RootedPhone:
        for folder in ("vendor/etc", "data/system"):
            (root / folder).mkdir(parents=True)
        text = platform_text(load_profile(profile), find_preparing(), confined=False)
        (root / PLATFORM_FILE).write_text(text, encoding="utf-8")
        return cls(root, binaries)

    def perf_test(self, *words: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        env = {**os.environ, "ORCH_ROOT": str(self.root), "LD_LIBRARY_PATH": str(self.binaries)}
        program = str(self.binaries / "onnxruntime_perf_test")
        return subprocess.run(
            [program, *words], capture_output=True, text=True, env=env, cwd=cwd, check=False, timeout=60
        )

    def nnapi(self, model: Path, *words: str, flags: str = "") -> subprocess.CompletedProcess[str]:
        """Three runs with generated inputs; all threads are one."""
        given = ("-i", flags) if flags else ()
        return self.perf_test(
            "-e", "nnapi", *given, "-m", "times", "-r", "3", "-I", "-S", "1", "-x", "1", *words, str(model)
        )

    @property
    def log(self) -> str:
        path = self.root / "data/system/log"
        return path.read_text(encoding="utf-8") if path.exists() else ""

    @property
    def kept(self) -> list[Path]:
        """What has been prepared, the newest last."""
        found = self.root.glob(f"data/vendor/nnapi-cache/[0-9a-f]*/{DESCRIPTION}")
        return sorted((path.parent for path in found), key=lambda folder: folder.stat().st_mtime)
