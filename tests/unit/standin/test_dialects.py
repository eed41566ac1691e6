"""Each dialect's command line, held to what its generation takes and refuses: exit code, stream, words."""

from __future__ import annotations

import json
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from android_runner.capabilities import Capabilities, CommandDialect, parse_usage, wants_help
from android_runner.perf_report import OutputDialect, figures, iteration_lines, parse_stdout
from android_runner.result_file import parse_result_file
from android_runner.virtual.perf_test.standin import abseil_line, new
from android_runner.virtual.perf_test.standin.abseil_words import hints
from android_runner.virtual.perf_test.standin.options import Usage
from tests.unit.standin.bench import Bench, build_bench, write_models
from tests.unit.standin.differences import figures_masked

CORPUS = Path(__file__).parents[2] / "corpus"
ABSEIL = json.loads((CORPUS / "command_line" / "abseil.json").read_text())
USAGE = {
    CommandDialect.OLD: (CORPUS / "command_line" / "usage-1.8.txt").read_text(),
    CommandDialect.MID: (CORPUS / "perf_test-1.21" / "help" / "stdout").read_text(),
}
OLD, MID, NEW = CommandDialect.OLD, CommandDialect.MID, CommandDialect.NEW
SEE_HELP = "See 'onnxruntime_perf_test --help'."
MODEL = "m/mnist.onnx"
SHORT = ("-I", "-m", "times", "-r", "2")


@dataclass(frozen=True)
class Ended:
    status: int
    stdout: str
    stderr: str


@pytest.fixture(scope="module")
def benches(tmp_path_factory: pytest.TempPathFactory) -> dict[CommandDialect, Bench]:
    models = tmp_path_factory.mktemp("models")
    write_models(models)
    folder = tmp_path_factory.mktemp("dialects")
    return {dialect: build_bench(folder / dialect.value, models, dialect=dialect) for dialect in CommandDialect}


def run(bench: Bench, *words: str, folder: Path | None = None) -> Ended:
    environment = {"LD_LIBRARY_PATH": str(bench.directory / "bin"), "PATH": os.defpath}
    done = subprocess.run(
        [bench.directory / "perf", *words],
        cwd=folder or bench.directory,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return Ended(done.returncode, done.stdout, done.stderr)


RUNS = "runs"
"""Measures, exit code 0."""
REFUSED = "refused"
"""Usage on stdout and 255 (getopt), or the hint on stderr and 255 (Abseil)."""
INVALID = "invalid"
"""The same after getopt's own words on stderr."""


def unknown(flag: str) -> str:
    return f"ERROR: Unknown command line flag '{flag}'"


LINES: list[tuple[tuple[str, ...], str, str, str]] = [
    # what is put before `-I -m times -r 2 model`, and what comes of it in old, mid and new
    ((), RUNS, RUNS, RUNS),
    (("-x", "1"), RUNS, RUNS, RUNS),
    (("-x1",), RUNS, RUNS, unknown("x1")),
    (("--x", "1"), INVALID, INVALID, RUNS),
    (("-x=1",), RUNS, RUNS, RUNS),
    (("-x", "-1"), REFUSED, REFUSED, REFUSED),
    (("-x", "one"), RUNS, RUNS, "ERROR: Illegal value 'one' specified for flag 'x'"),
    (("-IP",), RUNS, RUNS, unknown("IP")),
    (("-I", "-P"), RUNS, RUNS, RUNS),
    (("--noP",), INVALID, INVALID, RUNS),
    (("-P=false",), INVALID, INVALID, RUNS),
    (("-h",), REFUSED, REFUSED, RUNS),
    (("-m", "often"), REFUSED, REFUSED, RUNS),
    (("-e", "nosuch"), REFUSED, REFUSED, REFUSED),
    (("-e", "xnnpack"), REFUSED, "Xnnpack is not supported in this build", "Xnnpack is not supported in this build"),
    (("-e", "nuphar"), "Nuphar is not supported in this build", REFUSED, REFUSED),
    (("-e", "rocm"), REFUSED, "ROCM is not supported in this build", REFUSED),
    (("-o", "0"), RUNS, RUNS, RUNS),
    (("-o", "3"), REFUSED, REFUSED, RUNS),
    (("-o", "5"), REFUSED, REFUSED, REFUSED),
    (("-o", "100"), RUNS, RUNS, RUNS),
    (("-c", "0"), REFUSED, REFUSED, REFUSED),
    (("-b", "ort"), RUNS, INVALID, unknown("b")),
    (("-b", "tf"), "tf is not supported", INVALID, unknown("b")),
    (("-S", "7"), INVALID, RUNS, RUNS),
    (("-T", ""), INVALID, RUNS, RUNS),
    (("-D",), INVALID, RUNS, RUNS),
    (("-Z",), INVALID, RUNS, RUNS),
    (("-C", "a.b|1"), INVALID, RUNS, RUNS),
    (("-n",), INVALID, RUNS, RUNS),
    (("-l",), INVALID, RUNS, RUNS),
    (("-X",), INVALID, INVALID, "-X is not modelled by this stand-in"),
    (("-A", "-M"), RUNS, RUNS, RUNS),
    (("--noA", "--noM"), INVALID, INVALID, RUNS),
    (("-f", "N:1"), RUNS, RUNS, RUNS),
    (("-f", "N"), REFUSED, REFUSED, REFUSED),
    (("-f", "N:0"), REFUSED, REFUSED, REFUSED),
    (("-f", "N:x"), REFUSED, REFUSED, "Error parsing free dimension override value: x, stoll"),
    (("-f", "N:1 M:2"), RUNS, RUNS, RUNS),
    (("--shrink_arena_between_runs", "cpu:0"), INVALID, INVALID, "--shrink_arena_between_runs is not modelled"),
    (("--spin_duration_us", "1"), INVALID, INVALID, unknown("spin_duration_us")),
    (("a", "b"), REFUSED, REFUSED, REFUSED),
]


@pytest.mark.parametrize("dialect", CommandDialect)
@pytest.mark.parametrize("line", LINES, ids=lambda line: " ".join(line[0]) or "plain")
def test_a_command_line(
    line: tuple[tuple[str, ...], str, str, str], dialect: CommandDialect, benches: dict[CommandDialect, Bench]
) -> None:
    words, *outcomes = line
    expected = outcomes[list(CommandDialect).index(dialect)]
    ended = run(benches[dialect], *words, *SHORT, MODEL)
    if expected == RUNS:
        assert (ended.status, "Session creation time cost:" in ended.stdout) == (0, True), ended
        return
    if expected == INVALID:
        assert re.match(r"\S+perf: invalid option -- '.'\n$", ended.stderr), ended
    if expected in (REFUSED, INVALID) and dialect is not NEW:
        assert (ended.status, ended.stdout) == (255, USAGE[dialect])
    elif expected == REFUSED:
        assert ended == Ended(255, "", SEE_HELP)
    else:
        assert expected in ended.stderr
        assert (ended.status, ended.stdout) == (1 if expected.startswith("ERROR: ") else 255, "")


def test_what_abseil_takes_for_a_value_and_getopt_does_not(benches: dict[CommandDialect, Bench]) -> None:
    said = "Setting intra_op_num_threads to 1\n"
    found = {dialect: said in run(benches[dialect], "-x=1", *SHORT, MODEL).stdout for dialect in CommandDialect}
    assert found == {OLD: False, MID: False, NEW: True}


@pytest.mark.parametrize("dialect", CommandDialect)
def test_started_without_words(dialect: CommandDialect, benches: dict[CommandDialect, Bench]) -> None:
    ended = run(benches[dialect])
    assert ended == (Ended(255, "", SEE_HELP) if dialect is NEW else Ended(255, USAGE[dialect], ""))


def test_help_and_version_of_abseil(benches: dict[CommandDialect, Bench]) -> None:
    help_text = (CORPUS / "command_line" / "help-1.24.txt").read_text().replace("onnxruntime_perf_test:", "perf:", 1)
    assert run(benches[NEW], "--help") == Ended(1, help_text, "")
    assert run(benches[NEW], "-x", "4", "-help", MODEL) == Ended(1, help_text, "")
    assert run(benches[NEW], "--version", MODEL) == Ended(0, "perf\n", "")
    only = run(benches[NEW], "--help=session configuration").stdout
    assert re.findall(r"^    --(\w+)", only, flags=re.MULTILINE) == ["C"]


def test_c_that_cannot_be_read(benches: dict[CommandDialect, Bench]) -> None:
    words = "Error parsing session configuration entries: "
    mid, late = (run(benches[dialect], "-C", "a", *SHORT, MODEL) for dialect in (MID, NEW))
    assert (mid.status, mid.stdout, mid.stderr.startswith(words)) == (255, USAGE[MID], True)
    assert (late.status, late.stdout, late.stderr.startswith(words)) == (255, "", True)
    assert late.stderr.endswith(SEE_HELP)


@pytest.mark.parametrize("row", ABSEIL, ids=lambda row: " ".join(row["words"]))
def test_flags_are_read_as_abseil_reads_them(row: dict[str, object]) -> None:
    """Recorded from Abseil 20220623, which gives no hints yet and warns of a text that looks like a flag."""
    words = row["words"]
    assert isinstance(words, list)
    if row["status"] != 0 or "values" not in row:
        with pytest.raises(Usage) as caught:
            abseil_line.parse("./perf", words, new.DIALECT)
        without_hints = re.sub(r"\. Did you mean: [^?\n]+ \?", "", caught.value.complaint)
        assert (caught.value.status, without_hints) == (row["status"], row["stderr"])
        return
    line = abseil_line.Line(words)
    start = abseil_line.Line([]).values
    assert (line.errors, line.others) == ([], row["positional"])
    changed = {name: value for name, value in line.values.items() if value != start.get(name)}
    changed.pop("undefok", None)
    assert changed == row["values"]


@pytest.mark.parametrize(
    ("words", "by_times", "repetitions", "duration_s"),
    [
        (["-r", "10"], True, 10, 600),
        (["--r", "10"], True, 10, 600),
        (["-r=10"], False, 1000, 600),
        (["-r", "10", "-t", "2"], False, 10, 2),
        (["-t", "2", "-r", "10"], False, 10, 2),
        (["-m", "times", "-r=10"], True, 1000, 600),
    ],
)
def test_repetitions_are_seen_only_as_a_word_of_their_own(
    words: list[str], by_times: bool, repetitions: int, duration_s: int
) -> None:
    options = abseil_line.parse("./perf", [*words, MODEL], new.DIALECT)
    assert (options.by_times, options.repetitions, options.duration_s) == (by_times, repetitions, duration_s)


def test_dimensions_are_read_again_from_the_words() -> None:
    options = abseil_line.parse("./perf", ["-f", "a:1 b:2", "--f", "c:3", "-F", "d:4", MODEL], new.DIALECT)
    assert (options.dims_by_name, options.dims_by_denotation) == ({"a": 1, "b": 2, "c": 3}, {"d": 4})
    assert abseil_line.parse("./perf", ["-f=a:1", MODEL], new.DIALECT).dims_by_name == {}
    with pytest.raises(Usage, match="-f should be followed by a key-value pair"):
        abseil_line.parse("./perf", ["-f", "-v", MODEL], new.DIALECT)


def test_hints_are_those_of_abseil() -> None:
    """The cases of Abseil's own `parse_test.cc`."""
    flags = [("legacy_bool", True), ("legacy_int", False), ("legacy_str", False)]
    assert hints("legacy_boo", flags) == ["legacy_bool"]
    assert hints("nolegacy_itn", flags) == ["legacy_int"]
    assert hints("nolegacy_int1", flags) == ["legacy_int"]
    assert hints("nolegacy_int", flags) == ["legacy_int"]
    assert hints("nolegacy_ino", flags) == ["nolegacy_bool", "legacy_int"]
    assert hints("nothing_alike", flags) == []


SAMPLES = {OLD: "old-1.8.txt", MID: "mid-1.15.txt", NEW: "new-1.24.txt"}
AVERAGE = re.compile(r"(?<=^Average inference time cost total: )\d+\.\d{6}(?= ms$)")


def masked(text: str) -> list[str]:
    lines = (AVERAGE.sub("#", figures_masked(line)) for line in text.split("\n"))
    return [line for line in lines if not line.startswith(("Setting ", "Disabling ", "Total inference req", "Runs:"))]


@pytest.mark.parametrize("dialect", CommandDialect)
def test_output_has_the_lines_of_its_generation(
    dialect: CommandDialect, benches: dict[CommandDialect, Bench], tmp_path: Path
) -> None:
    ended = run(benches[dialect], *SHORT, MODEL)
    assert masked(ended.stdout) == masked((CORPUS / "perf_report" / SAMPLES[dialect]).read_text())
    report = parse_stdout(ended.stdout.encode())
    assert report.dialect is {OLD: OutputDialect.OLD, MID: OutputDialect.MID, NEW: OutputDialect.NEW}[dialect]
    assert (report.iterations, report.first_inference_s is None) == (2, dialect is OLD)


@pytest.mark.parametrize("dialect", CommandDialect)
def test_single_latencies_are_read_from_both_places(
    dialect: CommandDialect, benches: dict[CommandDialect, Bench], tmp_path: Path
) -> None:
    rows = tmp_path / "rows.csv"
    ended = run(benches[dialect], *SHORT, "-v", MODEL, str(rows))
    from_lines, from_file = iteration_lines(ended.stdout.encode()), parse_result_file(rows.read_bytes())
    assert from_lines.tolist() == from_file.tolist()
    assert figures(parse_stdout(ended.stdout.encode()), from_file).iterations == 2


def test_old_inputs_are_what_memory_holds_and_hidden_folders_no_data(
    benches: dict[CommandDialect, Bench], tmp_path: Path
) -> None:
    for dialect, said in ((OLD, "there is no test data for model set\n"), (MID, "there is no test input data for")):
        folder = benches[dialect].fresh(tmp_path / dialect.value)
        (folder / "set" / ".hidden").mkdir(parents=True)
        os.link(folder / "m" / "mnist.onnx", folder / "set" / "model.onnx")
        ended = run(benches[dialect], "-m", "times", "-r", "1", "set/model.onnx", folder=folder)
        assert (ended.status, ended.stdout.startswith(said)) == (255, True), ended


@pytest.mark.parametrize("dialect", CommandDialect)
def test_a_model_that_fails_in_its_runs(dialect: CommandDialect, benches: dict[CommandDialect, Bench]) -> None:
    """1.8 does not look at its first inference; the next one ends it in the same words."""
    ended = run(benches[dialect], "-I", "-m", "times", "-r", "2", "m/runfail.onnx")
    assert ended.status == 255
    assert ended.stdout.startswith("Run failed:PerformanceRunner::RunOneIteration caught exception: ")


def asked(bench: Bench) -> Capabilities:
    """As the probe asks: without arguments, then for help where that was the answer."""
    ended = run(bench)
    if wants_help(ended.stdout, ended.stderr):
        ended = run(bench, "--help")
    return parse_usage(ended.stdout, ended.stderr, ended.status)


@pytest.mark.parametrize("dialect", CommandDialect)
def test_the_probe_knows_each_dialect(dialect: CommandDialect, benches: dict[CommandDialect, Bench]) -> None:
    found = asked(benches[dialect])
    assert found.dialect is dialect
    assert (found.layout_level, found.inverted_switches) == (dialect is NEW, False)
    assert (found.session_config, found.seeded_inputs, found.nnapi_flags) == (dialect is not OLD,) * 3
    assert "nnapi" in found.eps
    assert ("xnnpack" in found.eps) == (dialect is not OLD)
