"""Folders for what lanes pull: a dead process's go, a living one's stay."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from orchestrator.app.scratch import make_scratch, remove_scratch, scratch_in
from orchestrator.home import Home

_HOLDS = """
import sys
from pathlib import Path
from orchestrator.app.scratch import make_scratch
from orchestrator.home import Home
folder = make_scratch(Home(Path(sys.argv[1])))
(folder / "phone").mkdir()
(folder / "phone" / "stdout").write_text("half of it")
print(folder, flush=True)
sys.stdin.read()
"""


def test_what_a_killed_process_left_is_removed_by_the_next(tmp_path: Path) -> None:
    other = subprocess.Popen(
        [sys.executable, "-c", _HOLDS, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with other:
        assert other.stdout is not None
        theirs = Path(other.stdout.readline().strip())
        ours = make_scratch(Home(tmp_path))
        assert (theirs / "phone" / "stdout").exists(), "its process lives"
        assert not remove_scratch(theirs)
        other.kill()
    third = make_scratch(Home(tmp_path))
    assert sorted(tmp_path.iterdir()) == sorted([ours, third])


def test_a_folder_goes_with_what_it_was_for(tmp_path: Path) -> None:
    with scratch_in(Home(tmp_path)) as folder:
        (folder / "file").touch()
    assert not list(tmp_path.iterdir())
