"""What NNAPI took comes out of the report by itself: the tuning guide's MNIST story, and two nets that differ."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.orch_cli import Orch

pytestmark = pytest.mark.xdist_group("nnapi-story")  # one run for all

PHONES = {"pixel-8": 34, "pixel-3": 28, "redmi-go": 27}
FLAGS = ("fp16", "nchw", "cpu_disabled", "cpu_only")
MNIST_BASIC = ["Conv", "Relu", "MaxPool", "Conv", "Relu", "MaxPool", "Reshape", "Gemm"]
NHWC, NCHW = (), ("nchw",)


def conv_net(path: Path, between: str) -> Path:
    """Two convolutions with one operator between them."""
    dice = np.random.default_rng(3)
    weights = [
        numpy_helper.from_array(dice.standard_normal((4, channels, 3, 3)).astype(np.float32), name)
        for name, channels in (("w1", 3), ("w2", 4))
    ]
    nodes = [
        helper.make_node("Conv", ["x", "w1"], ["a"], "first", pads=[1, 1, 1, 1]),
        helper.make_node(between, ["a"], ["b"], "between"),
        helper.make_node("Conv", ["b", "w2"], ["y"], "second", pads=[1, 1, 1, 1]),
    ]
    graph = helper.make_graph(
        nodes,
        path.stem,
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 16, 16])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4, 16, 16])],
        weights,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.checker.check_model(model)
    onnx.save(model, path)
    return path


class Story:
    """The report's JSON, asked for what NNAPI did on a phone."""

    def __init__(self, orch: Orch) -> None:
        self.orch = orch
        report = json.loads(orch("report", "--format", "json").out)
        self._models = {model["model"]: model for model in report["models"]}

    def phone(self, model: str, profile: str) -> dict[str, Any]:
        phones = self._models[model]["phones"]
        return next(phone for phone in phones if phone["api_level"] == PHONES[profile])

    def predicted(self, model: str, profile: str, recipe: str, flags: tuple[str, ...] = NHWC) -> list[list[str]]:
        """The operators of each partition; with flags that change nothing, what there is without."""
        rows = self.phone(model, profile)["nnapi"]["predictions"]
        found = {
            tuple(row["flags"]): row["partitions"] for row in rows if any(recipe in names for names in row["graphs"])
        }
        return found.get(flags, found[NHWC])

    def dropped(self, model: str) -> dict[str, str]:
        return {row["row"]: row["reason"] for row in self._models[model]["dropped"]}

    def variants(self, model: str) -> dict[str, dict[str, Any]]:
        return {row["recipe"]: row for row in self._models[model]["variants"]}


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory, mnist: Path) -> Iterator[Story]:
    """One run of the default preset on three phones."""
    folder = tmp_path_factory.mktemp("story")
    orch = Orch(folder / "home")
    nets = [conv_net(folder / "elu.onnx", "Elu"), conv_net(folder / "hard.onnx", "HardSigmoid")]
    phones = [word for profile in PHONES for word in ("--device", f"virtual:{profile}")]
    try:
        ended = orch("run", mnist, *nets, *phones, "--rounds", "3", "--iterations", "20", timeout_s=400)
        assert ended.code == 0, ended
        yield Story(orch)
    finally:
        orch.end()


@pytest.mark.timeout(500)
def test_mnist_loses_four_nodes_at_basic_and_two_more_to_fusion(story: Story) -> None:
    variants = story.variants("mnist")
    before = dict(variants["basic"]["nodes_before"])
    basic, extended = (dict(variants[name]["nodes_after"]) for name in ("basic", "extended"))
    assert (sum(before.values()), sum(basic.values()), sum(extended.values())) == (12, 8, 6)
    assert basic == {"Conv": 2, "Relu": 2, "MaxPool": 2, "Reshape": 1, "Gemm": 1}
    assert extended == {"com.microsoft:FusedConv": 2, "MaxPool": 2, "Reshape": 1, "Gemm": 1}
    assert set(variants["extended"]["twins"]) == {"layout", "all"}


@pytest.mark.parametrize("profile", ["pixel-8", "pixel-3"])
def test_nnapi_takes_mnist_whole_at_basic_and_in_two_at_extended(story: Story, profile: str) -> None:
    assert story.predicted("mnist", profile, "basic") == [MNIST_BASIC]
    for recipe in ("extended", "layout", "all"):
        assert story.predicted("mnist", profile, recipe) == [["MaxPool"], ["MaxPool", "Reshape", "Gemm"]]


def test_nchw_and_old_android_cut_mnist_into_pieces(story: Story) -> None:
    assert story.predicted("mnist", "pixel-3", "basic", NCHW) == [["Relu"], ["Relu"], ["Reshape", "Gemm"]]
    assert story.predicted("mnist", "redmi-go", "basic") == [["Relu"], ["Relu"]]
    assert story.predicted("mnist", "redmi-go", "extended") == []


def test_two_other_nets_have_stories_of_their_own(story: Story) -> None:
    whole, halves = [["Conv", "Elu", "Conv"]], [["Conv"], ["Conv"]]
    assert [story.predicted("elu", profile, "basic") for profile in PHONES] == [whole, halves, []]
    assert [story.predicted("hard", profile, "basic") for profile in PHONES] == [halves, halves, []]
    rows = story.phone("hard", "pixel-8")["nnapi"]["predictions"]
    reasons = {operator: reason for row in rows for operator, reason, _ in row["not_taken"]}
    assert "HardSigmoid" in reasons


@pytest.mark.parametrize("profile", PHONES)
@pytest.mark.parametrize("model", ["mnist", "elu", "hard"])
def test_what_the_phone_reports_is_what_the_rules_say(story: Story, model: str, profile: str) -> None:
    nnapi = story.phone(model, profile)["nnapi"]
    assert nnapi["cases"]
    for case in nnapi["cases"]:
        assert case["known"], case
        assert case["as_predicted"], case
        assert len(case["partition_s"]) == case["partitions"]
        assert (case["time_share"] or 0.0) <= 1.0


def test_who_won_is_said_or_that_nobody_did(story: Story) -> None:
    for profile in PHONES:
        phone = story.phone("mnist", profile)
        assert phone["verdict"]["sureness"] in ("sure", "tie")
        assert all(row["half_width_s"] is not None for row in phone["rows"])


def test_flags_that_mean_nothing_are_dropped_with_their_reason(story: Story) -> None:
    dropped = story.dropped("mnist")
    assert {row for row in dropped if "fp16" in row} == {"nnapi basic fp16", "nnapi all runtime fp16"}
    assert all("below API 28" in reason for reason in dropped.values())


@pytest.mark.timeout(300)
def test_all_twelve_flag_sets_are_measured(orch: Orch, models: Path, tmp_path: Path) -> None:
    sets = [[flag for at, flag in enumerate(FLAGS) if number >> at & 1] for number in range(16)]
    valid = [one for one in sets if not {"cpu_disabled", "cpu_only"} <= set(one)]
    assert len(valid) == 12
    plan = tmp_path / "flags.toml"
    plan.write_text(
        f"models = {[str(one) for one in sorted(models.glob('*.onnx'))]}\nrounds = 1\niterations = 3\n"
        f'[[matrix]]\nrecipe = ["basic"]\nep = ["nnapi"]\nnnapi_flags = {json.dumps(valid)}\n'
    )
    ended = orch("run", plan, "--device", "virtual:pixel-8", timeout_s=250)
    assert ended.code == 0, ended
    report = json.loads(orch("report", "--format", "json").out)
    for model in report["models"]:
        (phone,) = model["phones"]
        assert len(phone["rows"]) == 12
        assert all(row["n"] == 1 for row in phone["rows"]), ended


@pytest.mark.timeout(300)
def test_an_accelerator_that_lacks_an_operator_is_a_finding(orch: Orch, models: Path, tmp_path: Path) -> None:
    """The device profile's accelerator has no Softmax: with CPU_DISABLED nobody is left to run it."""
    plan = tmp_path / "disabled.toml"
    plan.write_text(
        f'models = ["{models / "squeezenet.onnx"}"]\nrounds = 1\niterations = 3\n'
        '[[matrix]]\nrecipe = ["basic"]\nep = ["nnapi"]\nnnapi_flags = [[], ["cpu_disabled"]]\n'
    )
    ended = orch("run", plan, "--device", "virtual:pixel-6-rooted", timeout_s=250)
    assert ended.code == 0, ended
    report = json.loads(orch("report", "--format", "json").out)
    (phone,) = report["models"][0]["phones"]
    rows = {row["row"]: row for row in phone["rows"]}
    assert rows["nnapi basic"]["n"] == 1
    refused = rows["nnapi basic cpu_disabled"]["reason"]
    assert "The model cannot run using the current set of target devices" in refused
    assert "google-edgetpu" in refused
    assert phone["nnapi"]["devices"] == [["google-edgetpu", "accelerator"], ["nnapi-reference", "cpu"]]


def test_its_page_draws_what_nnapi_takes(story: Story) -> None:
    page = next(story.orch.home.glob("*/report.html")).read_text()
    data = json.loads(page.split('id="page-data">')[1].split("</script>")[0])
    drawn = [nodes for name, nodes in data["graphs"].items() if name.endswith("/34/")]
    counts = {(len(nodes), sum(one["partition"] is not None for one in nodes)) for nodes in drawn}
    assert {(8, 8), (6, 4)} <= counts
    assert any(cell["partitions"] and cell["operators"] and cell["rounds"] for cell in data["cells"].values())


def test_the_traces_of_all_phones_are_one_file(story: Story, tmp_path: Path) -> None:
    ended = story.orch("trace", "--out", tmp_path / "all.json")
    assert ended.code == 0, ended
    events = json.loads((tmp_path / "all.json").read_text())["traceEvents"]
    lanes = [one["args"]["name"] for one in events if one["name"] == "process_name"]
    assert len([lane for lane in lanes if lane.endswith("vitals")]) == len(PHONES)
    assert any("Pixel 8 (virtual) · mnist nnapi basic" in lane for lane in lanes)
    assert {one["name"] for one in events if one["ph"] == "C"} >= {"battery °C", "clock MHz"}
    one = story.orch("trace", "@last/virtual-pixel-8-1/mnist nnapi basic", "--out", tmp_path / "one.json")
    assert one.code == 0, one
    events = json.loads((tmp_path / "one.json").read_text())["traceEvents"]
    assert len([one for one in events if one["name"] == "process_name"]) == 2
    assert sum(one["name"].startswith("NnapiExecutionProvider") for one in events) > 1


def test_a_row_without_a_trace_and_a_place_that_takes_no_file_are_said(story: Story, tmp_path: Path) -> None:
    none = story.orch("trace", "@last/virtual-pixel-8-1/no such row", "--out", tmp_path / "none.json")
    assert (none.code, none.out) == (2, "")
    assert "nothing of it was traced" in none.err
    (tmp_path / "file").write_text("")
    bad = story.orch("trace", "--out", tmp_path / "file" / "all.json")
    assert bad.code == 2
    assert "can't be written" in bad.err
    assert list(tmp_path.iterdir()) == [tmp_path / "file"]
