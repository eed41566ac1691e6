"""Frames of a run as the store gives them, made from a short description. Figures come from a seeded generator."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pandas as pd

START = datetime(2026, 4, 12, 2, 14, tzinfo=UTC)


@dataclass
class Frames:
    """A frame an attribute."""

    runs: pd.DataFrame
    phones: pd.DataFrame
    variants: pd.DataFrame
    trials: pd.DataFrame
    attempts: pd.DataFrame
    dropped: pd.DataFrame
    predictions: pd.DataFrame = field(default_factory=pd.DataFrame)
    placements: pd.DataFrame = field(default_factory=pd.DataFrame)
    partitions: pd.DataFrame = field(default_factory=pd.DataFrame)
    checks: pd.DataFrame = field(default_factory=pd.DataFrame)
    searches: tuple = ()
    cold_starts: pd.DataFrame = field(default_factory=pd.DataFrame)
    incidents: pd.DataFrame = field(default_factory=pd.DataFrame)
    operators: pd.DataFrame = field(default_factory=pd.DataFrame)
    nodes: pd.DataFrame = field(default_factory=pd.DataFrame)
    unread: tuple = ()


@dataclass
class Made:
    """Rows on their way to frames."""

    seed: int = 7
    rounds: int = 5
    phones: list[dict] = field(default_factory=list)
    variants: list[dict] = field(default_factory=list)
    trials: list[dict] = field(default_factory=list)
    attempts: list[dict] = field(default_factory=list)
    dropped: list[dict] = field(default_factory=list)
    run: dict = field(default_factory=dict)

    def __post_init__(self):
        self.dice = random.Random(self.seed)

    def phone(self, phone, label, device_model, *, virtual=False, api_level=34):
        self.phones.append(
            {
                "phone": phone,
                "label": label,
                "serial": phone,
                "device_model": device_model,
                "api_level": api_level,
                "virtual": virtual,
                "confinement": "namespace" if virtual else "",
                "shell": "mksh",
                "soc": "soc",
                "cores": 8,
                "fingerprint": f"maker/{phone}:14/U/1:user/release-keys",
            }
        )
        return phone

    def _is_virtual(self, phone):
        return any(row["phone"] == phone and row["virtual"] for row in self.phones)

    def case(
        self, phone, model, row, ms, *, also=(), noise=0.01, fails=(), skips=(), twin_of="", rounds=None, p50s=None
    ):
        """A case with one trial a round; `fails` maps rounds to (kind, message), `skips` rounds to a reason."""
        fails, skips = dict(fails), dict(skips)
        words = row.split()
        recipe = "onnx" if row == "default" else " ".join(words[1:2])
        for number in range(1, (rounds or self.rounds) + 1):
            trial = f"t{len(self.trials):04d}"
            common = {
                "run": "0412-quick-7k2f",
                "trial": trial,
                "case": f"case-{model}-{row}",
                "phone": phone,
                "label": phone,
                "model": model,
                "row": row,
                "also": tuple(also),
                "twin_of": twin_of,
                "purpose": "time",
                "round": number,
            }
            state, kind, message, reason = "measured", None, None, None
            if number in fails:
                state = "failed"
                kind, message = fails[number]
            elif number in skips:
                state, reason = "skipped", skips[number]
            self.trials.append({**common, "state": state, "kind": kind, "message": message, "reason": reason})
            if state == "skipped":
                continue
            p50 = p50s[number - 1] / 1e3 if p50s else ms / 1e3 * math.exp(self.dice.gauss(0, noise))
            measured = state == "measured"
            self.attempts.append(
                {
                    **common,
                    "attempt": f"a{len(self.attempts):04d}",
                    "number": 1,
                    "position": len(self.attempts),
                    "outcome": state,
                    "counted": measured,
                    "kind": kind,
                    "blame": "model" if kind else None,
                    "retry": "never" if kind else None,
                    "message": message,
                    "recipe": recipe,
                    "variant": f"variant-{model}-{recipe}",
                    "format": "onnx" if recipe == "onnx" else "ort",
                    "virtual": self._is_virtual(phone),
                    "tuned": False,
                    "iterations": 200 if measured else None,
                    "p50_s": p50 if measured else math.nan,
                    "p90_s": p50 * 1.06 if measured else math.nan,
                    "session_creation_s": 0.02 + p50 if measured else math.nan,
                    "first_inference_below_s": (math.floor(p50 * 2e3) + 1) / 1e3 if measured else math.nan,
                    "peak_working_set_bytes": 56_377_344 if measured else None,
                    "page_cache": "warm" if number > 1 else None,
                    "recorded_at": START + timedelta(seconds=6 * (len(self.attempts) + 1)),
                    "battery_c_before": 30.0,
                    "battery_c_after": 31.5,
                    "slot_wait_s": 0.0,
                }
            )

    def variant(self, model, recipe, graph, size_bytes, before, after, fmt="ort", **numerics):
        """A variant; `numerics` are the columns on how far it is from its source."""
        self.variants.append(
            {
                "variant": f"variant-{model}-{recipe}",
                "model": model,
                "model_digest": "ab" * 32,
                "recipe": recipe,
                "format": fmt,
                "converter_version": "1.23.2" if fmt == "ort" else "",
                "graph_digest": graph,
                "size_bytes": size_bytes,
                "ort_format": 6 if fmt == "ort" else math.nan,
                "nodes_before": before,
                "nodes_after": after,
                **numerics,
            }
        )

    def drop(self, phone, model, row, reason):
        self.dropped.append({"phone": phone, "model": model, "row": row, "reason": reason})

    def frames(self):
        run = {
            "run": "0412-quick-7k2f",
            "created_at": START,
            "state": "finished",
            "plan_name": "quick",
            "plan_digest": "1f" * 32,
            "seed": 4711,
            "rounds": self.rounds,
            "note": "",
            "tags": (),
            "binary_name": "onnxruntime_perf_test",
            "binary_digest": "2e" * 32,
            "binary_ort_version": "1.23.2",
            "script_digest": "3d" * 32,
            "orch_version": "0.1.0",
            "host": "lab1",
            "user": "nina",
            **self.run,
        }

        def frame(rows, *columns):
            return pd.DataFrame(rows, columns=None if rows else list(columns))

        return Frames(
            runs=frame([run]),
            phones=frame(self.phones, "phone", "label"),
            variants=frame(self.variants, "variant", "model"),
            trials=frame(self.trials, "trial", "case", "phone", "model", "purpose", "state"),
            attempts=frame(self.attempts, "trial", "attempt", "outcome"),
            dropped=frame(self.dropped, "model", "phone", "row", "reason"),
        )


CONV = {"Conv": 26, "Relu": 26, "MaxPool": 3, "Concat": 8, "Dropout": 1, "GlobalAveragePool": 1, "Softmax": 1}
FUSED = {"com.microsoft:FusedConv": 26, "MaxPool": 3, "Concat": 8, "GlobalAveragePool": 1, "Softmax": 1}


def lab():
    """Two models on two real phones and a virtual one, with everything that goes otherwise than planned."""
    made = Made()
    b3 = made.phone("R58N30ABCDE", "B3", "Pixel 8")
    a1 = made.phone("6d1f9e0a", "A1", "Redmi 9", api_level=29)
    v1 = made.phone("orch-v1", "V1", "Pixel 4 (virtual)", virtual=True, api_level=33)
    for phone, scale in ((b3, 1.0), (a1, 4.0), (v1, 0.3)):
        light = "squeezenet"
        also = ("cpu basic", "cpu extended", "cpu layout")
        made.case(phone, light, "default", 9.5 * scale)
        made.case(
            phone,
            light,
            "cpu all",
            7.8 * scale,
            also=also,
            fails={3: ("timed_out", "over 68 s")} if phone == a1 else (),
        )
        made.case(phone, light, "cpu extended", 7.8 * scale, twin_of="cpu all")
        made.case(phone, light, "cpu all runtime", 7.83 * scale, noise=0.02)
        made.case(
            phone, light, "cpu all 4t", 4.1 * scale if phone != a1 else 30.9, skips={4: "deadline", 5: "deadline"}
        )
        refused = dict.fromkeys(range(1, 6), ("model_refused", "Load model from m.onnx failed:\nsecond line"))
        made.case(phone, light, "cpu onnx basic", 9.0, fails=refused)
        made.case(phone, light, "cpu all no-arena", 8.9 * scale, skips=dict.fromkeys((1, 2, 3), "phone lost"))
        made.drop(phone, light, "cpu all denormals-zero", "set_denormal_as_zero acts on x86 only")
    made.drop(a1, light, "cpu all 16t", "16 intra-op threads: this phone has 8 cores")
    for phone in (b3, v1):
        made.case(phone, "mnist", "default", 0.031)
        made.case(phone, "mnist", "cpu all", 0.0312)
    made.drop(a1, "mnist", "default", "the binary takes no .onnx")
    for model, before, after in (
        ("squeezenet", CONV, FUSED),
        ("mnist", {"Conv": 2, "Relu": 2}, {"Conv": 2, "Relu": 2}),
    ):
        near = {"verdict": "within", "precision": "float32", "error": 2.43e-7, "cosine": 1.0, "top1_same": True}
        itself = {"verdict": "the source itself", "error": 0.0, "cosine": 1.0}
        made.variant(model, "onnx", "g0", 4_950_000, before, before, "onnx", **itself)
        made.variant(model, "basic", "g1", 4_990_000, before, after, **near)
        made.variant(model, "all", "g1", 4_990_000, before, after, **near)
        unknown = {"verdict": "not compared", "verdict_reason": "model.ort can't be run here: no kernel"}
        made.variant(model, "all runtime", "g2", 5_020_000, before, before, **unknown)
    return made.frames()
