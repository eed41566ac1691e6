"""Dynamic dimensions: named ones, unnamed ones by INPUT.AXIS, and what is said when one is open."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.errors import UsageError
from orchestrator.variants.dims import fixed_shape, free_dims, resolve_dims, unknown_dims
from orchestrator.variants.inspect import load_model
from orchestrator.variants.recipe import Model
from tests.unit.variants import nets


@pytest.fixture
def model(tmp_path: Path) -> Model:
    net = nets.conv_relu(("batch", 1, None, -1), out=("batch", 2, None, None))
    return load_model(nets.save(net, tmp_path / "net.onnx"))


def test_every_open_dimension_is_named_with_its_flag(model: Model) -> None:
    assert free_dims(model) == {"batch": ("x axis 0",), "x.2": ("x axis 2",), "x.3": ("x axis 3",)}
    with pytest.raises(UsageError) as caught:
        resolve_dims(model, {"x.2": 8, "batch": 0})
    lines = [problem.line() for problem in caught.value.problems]
    assert lines == [
        f"{model.path}: dimension batch=0 (1 to 2147483647)",
        f"{model.path}: dynamic dimension x.3 (x axis 3) (give --dim x.3=N)",
    ]


def test_only_the_model_s_own_dimensions_count(model: Model) -> None:
    dims = resolve_dims(model, {"x.3": 9, "x.2": 8, "batch": 2, "sequence": 5})
    assert dims == (("batch", 2), ("x.2", 8), ("x.3", 9))
    assert fixed_shape(model.inputs[0], dims) == (2, 1, 8, 9)


def test_a_dimension_that_no_model_has_is_a_problem(model: Model) -> None:
    (near, far) = unknown_dims([model], {"bacth": 1, "batch": 1, "sequence": 5})
    assert near.line() == "--dim bacth=1: no model has this dimension (did you mean batch?)"
    assert "dimensions are: batch, x.2, x.3" in far.line()


def test_loading_with_dims_checks_them(model: Model) -> None:
    with pytest.raises(UsageError, match="--dim batch=N"):
        load_model(model.path, dims={})
    assert load_model(model.path, dims={"batch": 1, "x.2": 8, "x.3": 8}) == model
