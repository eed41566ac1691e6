"""What faults cost in real time: phones whose links, or which themselves, go and come, beside phones that are well.

One third of the phones is out of reach for 30 s on the average after 120 s on the average, by a pulled cable or a key
that is not accepted; one third is off for as long, and boots anew; both times are exponential, unscaled. All of them
sleep through the same trials in one run of the real command line. What is counted is what ended on the phones within
the same half hour (`ORCH_LINKS_S` seconds).
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from dataclasses import dataclass

from android_runner.virtual import lifecycle
from android_runner.virtual.fault_kinds import FaultKind
from android_runner.virtual.fault_life import happened
from android_runner.virtual.fault_schedule import FaultSchedule, RandomFaults, write_schedule
from android_runner.virtual.perf_test.sleeping import sleeping_perf_test
from android_runner.virtual.state import Places
from benchmarks.lab import Lab, lab, mnist, write_plan
from benchmarks.row import Row

PHONES = 8
"""Of each sort."""
SLEEP_S = 5.0
LASTS_S = float(os.environ.get("ORCH_LINKS_S", "1800"))
UP_S, DOWN_S = 120.0, 30.0
SEED = 6
PROFILE = "pixel-8"
MATRIX = '[[matrix]]\nrecipe = ["onnx", "basic", "all", "all runtime"]\n'
START_S, END_S = 120.0, 300.0


@dataclass(frozen=True, slots=True)
class Weather:
    """What goes wrong with a third of the phones, and the share of the throughput that it must leave."""

    name: str
    kinds: tuple[FaultKind, ...]
    goal: float

    @property
    def schedule(self) -> FaultSchedule:
        """Drawn by phone; the means are the same for all kinds."""
        return FaultSchedule(random=(RandomFaults(kinds=self.kinds, mean_up_s=UP_S, mean_down_s=DOWN_S),))


LINKS = Weather("links", (FaultKind.UNPLUG, FaultKind.UNAUTHORIZED), 0.95)
STOPS = Weather("phones that stop", (FaultKind.POWER_OFF,), 0.70)


def run() -> list[Row]:
    """Two rows: the share of the throughput that link faults leave, and that which stopping phones leave."""
    with lab() as place:
        names = [f"virtual-{PROFILE}-{number}" for number in range(1, 3 * PHONES + 1)]
        plan = write_plan(
            place, "links", model=mnist(place.files / "models"), rounds=int(LASTS_S / SLEEP_S / 4) + 20,
            iterations=50, matrix=MATRIX,
        )  # fmt: skip
        binary = sleeping_perf_test(place.files, SLEEP_S)
        place.phones(f"{PROFILE}x{len(names)}", slots=len(names))
        words = (
            "run", plan, "--device", f"virtual:{PROFILE}x{len(names)}", "--perf-test", binary,
            "--virtual-slots", str(len(names)), "--yes",
        )  # fmt: skip
        well, sick = names[: 2 * PHONES : 2], {LINKS: names[1 : 2 * PHONES : 2], STOPS: names[2 * PHONES :]}
        with subprocess.Popen(
            place.command(*words), env=place.env(), cwd=place.files, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        ) as process:  # fmt: skip
            until = time.monotonic() + START_S
            while not all(_ended(place, [name], 0.0, float("inf")) for name in names) and time.monotonic() < until:
                time.sleep(0.5)
            begin_s = time.clock_gettime(time.CLOCK_BOOTTIME)
            for weather, phones in sick.items():
                _weather(place, phones, weather.schedule)
            time.sleep(LASTS_S)
            end_s = time.clock_gettime(time.CLOCK_BOOTTIME)
            faults = {weather: _downs_s(place, phones) for weather, phones in sick.items()}
            for phones in sick.values():
                _weather(place, phones, None)
            process.send_signal(signal.SIGINT)
            process.wait(END_S)
        usual = _ended(place, well, begin_s, end_s) / PHONES
        return [
            _row(weather, _ended(place, phones, begin_s, end_s) / PHONES, usual, faults[weather])
            for weather, phones in sick.items()
        ]


def _row(weather: Weather, ill: float, well: float, downs_s: list[float]) -> Row:
    share = ill / well
    return Row(
        name=weather.name,
        goal=f"≥ {weather.goal:.0%} of the trials of phones without faults",
        figure=f"{share:.1%}",
        met=share >= weather.goal,
        detail=(
            f"{PHONES} phones with {len(downs_s)} faults of {sum(downs_s) / max(1, len(downs_s)):.0f} s on the average "
            f"(down {sum(downs_s) / PHONES / LASTS_S:.0%} of the time) measured {ill:.1f} trials of {SLEEP_S:g} s each "
            f"in {LASTS_S:.0f} s, {PHONES} without faults {well:.1f}"
        ),
    )


def _downs_s(place: Lab, names: list[str]) -> list[float]:
    """How long each fault lasted within the time that is looked at."""
    places = Places(place.home.resolve())
    return [min(one.until_s, LASTS_S) - one.begun_s for name in names for one in happened(places.phone(name))]


def _weather(place: Lab, names: list[str], schedule: FaultSchedule | None) -> None:
    places = Places(place.home.resolve())
    for name in names:
        write_schedule(places.phone(name), schedule, seed=SEED)
        lifecycle.poke(place.home, name)


def _ended(place: Lab, names: list[str], begin_s: float, end_s: float) -> int:
    """How many timed trials ended well on these phones between two uptimes."""
    if not (place.home / "ledger.sqlite").exists():
        return 0
    marks = ", ".join("?" * len(names))
    query = (
        "SELECT count(*) FROM attempt WHERE purpose = 'time' AND exit_code = 0 AND ended_uptime_s BETWEEN ? AND ? "
        f"AND phone IN ({marks})"
    )
    return int(place.rows(query, begin_s, end_s, *names)[0][0])
