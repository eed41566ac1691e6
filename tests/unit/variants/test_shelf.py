"""The shelf: built once, found without the runtime, whole or not there."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from android_runner.ort import ModelFormat, OptimizationLevel, OptimizationStyle, TargetPlatform
from orchestrator.errors import StoreError, VariantError
from orchestrator.variants import notation
from orchestrator.variants.crew import Ahead
from orchestrator.variants.host_cpu import host_cpu
from orchestrator.variants.inspect import load_model
from orchestrator.variants.recipe import Model, Recipe, Variant
from orchestrator.variants.rules import AS_IS, ONNX, all_recipes
from orchestrator.variants.shelf import Result, Shelf, build_variants, variant_id_of
from tests.unit.variants import nets

BASIC = Recipe(format=ModelFormat.ORT, level=OptimizationLevel.BASIC, style=OptimizationStyle.FIXED)


def built(results: list[Result]) -> list[Variant]:
    for result in results:
        assert isinstance(result, Variant), result
    return [result for result in results if isinstance(result, Variant)]


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path / "shelf")


@pytest.fixture
def net(tmp_path: Path) -> Path:
    return nets.save(nets.conv_relu(), tmp_path / "net.onnx")


def settle(path: Path) -> None:
    """Make a file look as old as users' files are: what is just being written is not remembered."""
    old = time.time() - 60
    os.utime(path, (old, old))
    time.sleep(0.08)  # the time of change of the inode can't be set


def test_what_is_built_comes_back_as_it_was(shelf: Shelf, net: Path) -> None:
    model = load_model(net, shelf=shelf)
    told: list[Result] = []
    requests = [(model, recipe, ()) for recipe in all_recipes()]
    first = built(build_variants(requests, shelf, on_built=told.append))
    assert {variant.variant_id for variant in told if isinstance(variant, Variant)} == {v.variant_id for v in first}
    assert [variant.recipe for variant in first] == [recipe for _, recipe, _ in requests]
    assert build_variants(requests, shelf) == first
    assert shelf.get(first[0].variant_id) == first[0]
    assert all(variant.path.stat().st_size == variant.size_bytes for variant in first)
    assert list((shelf.root / "tmp").iterdir()) == []


def test_cached_variants_need_neither_onnx_nor_onnxruntime(shelf: Shelf, net: Path) -> None:
    settle(net)
    build_variants([(load_model(net, shelf=shelf), recipe, ()) for recipe in all_recipes()], shelf)
    script = (
        "import sys; from pathlib import Path\n"
        "from orchestrator.variants.inspect import load_model\n"
        "from orchestrator.variants.rules import all_recipes\n"
        "from orchestrator.variants.shelf import Shelf, build_variants\n"
        "shelf = Shelf(Path(sys.argv[1])); model = load_model(Path(sys.argv[2]), shelf=shelf)\n"
        "print(len(build_variants([(model, r, ()) for r in all_recipes()], shelf)))\n"
        "print(sorted({'onnx', 'onnxruntime', 'numpy', 'google.protobuf'} & set(sys.modules)))\n"
    )
    out = subprocess.run(
        [sys.executable, "-c", script, str(shelf.root), str(net)], check=True, capture_output=True, text=True
    ).stdout
    assert out.splitlines() == ["9", "[]"]


def test_an_unchanged_file_is_not_read_again_and_a_changed_one_is(shelf: Shelf, net: Path) -> None:
    settle(net)
    first = load_model(net, shelf=shelf)
    record = next((shelf.root / "models").iterdir())
    data = json.loads(record.read_text())
    record.write_text(json.dumps(data | {"operators": [["Remembered", 1]]}))
    assert shelf.inspect(net).operators == (("Remembered", 1),)
    nets.save(nets.conv_relu(out=(1, 2, 6, 6)), net)
    nets.save(nets.quantized(), net)
    assert load_model(net, shelf=shelf) != first


def test_a_file_that_may_still_be_changing_is_not_remembered(shelf: Shelf, net: Path) -> None:
    net.touch()
    load_model(net, shelf=shelf)
    assert not (shelf.root / "seen").exists()


def test_external_data_counts_for_the_digest_and_for_remembering(shelf: Shelf, tmp_path: Path) -> None:
    net = nets.external(tmp_path / "source")
    weights = net.parent / "weights.bin"
    for path in (net, weights):
        settle(path)
    first = load_model(net, shelf=shelf)
    assert first.size_bytes == net.stat().st_size + weights.stat().st_size
    weights.write_bytes(bytes(reversed(weights.read_bytes())))
    assert load_model(net, shelf=shelf).digest != first.digest


def test_same_bytes_under_two_names_are_built_once(shelf: Shelf, net: Path) -> None:
    other = net.with_name("other name;$(x).onnx")
    other.write_bytes(net.read_bytes())
    models = [load_model(path, shelf=shelf) for path in (net, other)]
    told: list[Result] = []
    first, second = built(build_variants([(model, BASIC, ()) for model in models], shelf, on_built=told.append))
    assert len(told) == 1
    assert (first.path, first.variant_id) == (second.path, second.variant_id)
    assert (first.model.name, second.model.name) == ("net", "other_name___x_")


def test_one_bad_variant_costs_only_itself(shelf: Shelf, net: Path, tmp_path: Path) -> None:
    broken = nets.conv_relu()
    broken.graph.node[1].op_type = "NoSuchOperator"
    models = [load_model(path, shelf=shelf) for path in (net, nets.save(broken, tmp_path / "broken.onnx"))]
    results = build_variants([(model, recipe, ()) for model in models for recipe in (BASIC, ONNX, AS_IS)], shelf)
    assert [isinstance(result, VariantError) for result in results] == [False, False, True, True, False, True]
    assert "NoSuchOperator" in str(results[3])
    assert list((shelf.root / "tmp").iterdir()) == []
    assert len(list((shelf.root / "variants").iterdir())) == 3


def test_a_model_that_changes_between_reading_and_building_is_refused(shelf: Shelf, net: Path) -> None:
    model = load_model(net, shelf=shelf)
    nets.save(nets.quantized(), net)
    (result,) = build_variants([(model, BASIC, ())], shelf)
    assert "has changed" in str(result)


def test_dimensions_are_part_of_what_is_asked(shelf: Shelf, tmp_path: Path) -> None:
    net = nets.save(nets.conv_relu(("batch", 1, 8, 8), out=("batch", 2, 6, 6)), tmp_path / "net.onnx")
    model = load_model(net, shelf=shelf)
    one, two = built(build_variants([(model, BASIC, (("batch", 1),)), (model, BASIC, (("batch", 2), ("n", 1)))], shelf))
    assert (one.dims, two.dims) == ((("batch", 1),), (("batch", 2),))
    assert one.variant_id != two.variant_id
    assert one.graph_digest != two.graph_digest
    (open_,) = build_variants([(model, BASIC, ())], shelf)
    assert "--dim batch=N" in str(open_)


@pytest.mark.parametrize("damage", ["cut", "gone", "json", "folder"])
def test_a_damaged_entry_is_built_anew(shelf: Shelf, net: Path, damage: str) -> None:
    model = load_model(net, shelf=shelf)
    (variant,) = built(build_variants([(model, BASIC, ())], shelf))
    entry = variant.path.parents[1] / "variant.json"
    if damage == "cut":
        variant.path.write_bytes(variant.path.read_bytes()[:-1])
    elif damage == "gone":
        variant.path.unlink()
    elif damage == "json":
        entry.write_text("{")
    else:
        entry.unlink()
    assert shelf.find(model, BASIC, ()) is None
    with pytest.raises(StoreError, match="not on the shelf"):
        shelf.get(variant.variant_id)
    (again,) = built(build_variants([(model, BASIC, ())], shelf))
    assert again.graph_digest == variant.graph_digest
    assert again.path.stat().st_size == again.size_bytes


def test_who_comes_second_waits_and_takes_what_the_first_made(shelf: Shelf, net: Path) -> None:
    model = load_model(net, shelf=shelf)
    variant_id = variant_id_of(model, BASIC, ())
    results: list[Result] = []
    second = threading.Thread(target=lambda: results.extend(build_variants([(model, BASIC, ())], shelf)))
    with shelf.building(variant_id) as work:
        second.start()
        second.join(1.5)
        assert second.is_alive(), "it waits for the lock"
        (work / "files").mkdir()
        (work / "files" / "model.ort").write_bytes(b"made by the first")
        shelf.put(
            work,
            {
                "variant_id": variant_id, "model_digest": model.digest, "model_name": "n", "model_path": "p",
                "recipe": notation.recipe_to_plain(BASIC), "dims": [], "converter_version": "", "main": "model.ort",
                "files": [["model.ort", 17]], "sha256": "first", "graph_digest": "g", "operators_before": [],
                "operators_after": [], "ort_format": 6, "build_ms": 1,
            },
        )  # fmt: skip
    second.join(20)
    assert [variant.sha256 for variant in built(results)] == ["first"]


def test_two_processes_at_once_build_once(shelf: Shelf, models: Path) -> None:
    script = (
        "import sys; from pathlib import Path\n"
        "from orchestrator.variants.inspect import load_model\n"
        "from orchestrator.variants.rules import all_recipes\n"
        "from orchestrator.variants.shelf import Shelf, build_variants\n"
        "shelf = Shelf(Path(sys.argv[1])); model = load_model(Path(sys.argv[2]), shelf=shelf)\n"
        "sys.stdin.readline()\n"
        "built = build_variants([(model, r, ()) for r in all_recipes()], shelf)\n"
        "print({v.variant_id: v.path.stat().st_ino for v in built})\n"
    )
    command = [sys.executable, "-c", script, str(shelf.root), str(models / "squeezenet.onnx")]
    both = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    for process in both:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    answers = [process.communicate(timeout=60)[0] for process in both]
    assert [process.returncode for process in both] == [0, 0]
    now = {path.parents[1].name: path.stat().st_ino for path in (shelf.root / "variants").glob("*/files/model.*")}
    assert len(now) == 9
    assert [eval(answer) for answer in answers] == [now, now], "no file was replaced after one had seen it"
    assert list((shelf.root / "tmp").iterdir()) == []


def job(shelf: Shelf, model: Model, recipe: Recipe) -> str:
    plain = notation.recipe_to_plain(recipe)
    fields = {"shelf": str(shelf.root), "path": str(model.path), "digest": model.digest, "recipe": plain, "dims": []}
    return json.dumps(fields) + "\n"


def test_a_worker_killed_at_any_moment_leaves_nothing_half_written(shelf: Shelf, models: Path) -> None:
    seed = random.randrange(1 << 30)
    print(f"seed {seed}")
    rng = random.Random(seed)
    model = load_model(models / "squeezenet.onnx", shelf=shelf)
    jobs = "".join(job(shelf, model, recipe) for recipe in all_recipes())
    for _ in range(12):
        worker = subprocess.Popen(
            [sys.executable, "-m", "orchestrator.variants.worker"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
        )
        assert worker.stdin is not None
        worker.stdin.write(jobs.encode())
        worker.stdin.flush()
        time.sleep(rng.uniform(0.1, 0.9))
        worker.kill()
        worker.wait()
        worker.stdin.close()
        for entry in (shelf.root / "variants").glob("*"):
            shelf.get(entry.name)
    results = built(build_variants([(model, recipe, ()) for recipe in all_recipes()], shelf))
    shelf.sweep()
    assert len(results) == 9
    assert list((shelf.root / "tmp").iterdir()) == []


def test_a_worker_that_dies_is_the_reason_and_the_rest_goes_on(
    shelf: Shelf, net: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(
        "import os, sys, signal\n"
        f"flag = {str(tmp_path / 'died')!r}\n"
        "if 'orchestrator.variants.worker' in ' '.join(sys.orig_argv) and not os.path.exists(flag):\n"
        "    open(flag, 'w').close(); os.write(2, b'out of something\\n'); os.kill(os.getpid(), signal.SIGSEGV)\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"))
    model = load_model(net, shelf=shelf)
    results = build_variants([(model, recipe, ()) for recipe in (ONNX, BASIC)], shelf, processes=1)
    failed = [result for result in results if isinstance(result, VariantError)]
    assert len(failed) == 1
    assert "killed by signal 11: out of something" in str(failed[0])
    assert len(built(build_variants([(model, recipe, ()) for recipe in (ONNX, BASIC)], shelf))) == 2


def test_ending_early_ends_the_workers(shelf: Shelf, models: Path) -> None:
    model = load_model(models / "squeezenet.onnx", shelf=shelf)

    def stop(_result: Result) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        build_variants([(model, recipe, ()) for recipe in all_recipes()], shelf, on_built=stop)
    children = [child for task in Path("/proc/self/task").glob("*/children") for child in task.read_text().split()]
    commands = [Path(f"/proc/{child}/cmdline").read_bytes() for child in children]
    assert not [command for command in commands if b"variants.worker" in command], "although its frames still live"
    assert caught.tb is not None
    shelf.sweep()
    assert list((shelf.root / "tmp").iterdir()) == []


def test_an_amd64_variant_is_one_for_each_kind_of_host(tmp_path: Path) -> None:
    for name, flags in (("a", "avx avx2 fma"), ("b", "avx avx2 avx512f fma"), ("c", "lm avx fma avx2")):
        (tmp_path / name).write_text(f"processor : 0\nflags : fpu {flags}\n")
    told = {name: host_cpu(tmp_path / name) for name in "abc"}
    assert told["a"] == told["c"] != told["b"]
    assert told["b"].endswith(" avx avx2 avx512f fma")
    assert " " not in host_cpu(tmp_path / "nowhere")
    source = load_model(nets.save(nets.conv_relu(), tmp_path / "net.onnx"))
    ids = {
        platform: variant_id_of(source, replace(BASIC, platform=platform), ()) for platform in (None, *TargetPlatform)
    }
    assert len(set(ids.values())) == 3


def children() -> set[str]:
    """Processes that a thread of this one has started and that are not gone."""
    return {pid for file in Path("/proc/self/task").glob("*/children") for pid in file.read_text().split()}


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc, to see child processes")
def test_a_worker_started_ahead_builds_and_one_that_nobody_took_is_ended(shelf: Shelf, net: Path) -> None:
    before = children()
    with Ahead() as ahead:
        ahead.start()
        ahead.start()
        (started,) = children() - before
        request = load_model(net), BASIC, ()
        serving: list[set[str]] = []
        built(build_variants([request], shelf, on_built=lambda _: serving.append(children() - before), ahead=ahead))
        assert serving in ([{started}], [set()])  # it is ended when nothing is left to build
    with Ahead() as ahead:
        ahead.start()
        assert len(children() - before) == 1
    assert children() == before
