"""What a daemon is told of one phone, and its form in the daemon's SPEC.json."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from android_runner.profile import DeviceProfile, load_profile
from android_runner.virtual.heat.scenario import Scenario, load_scenario


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A phone that is asked for: a device profile and a scenario (empty: none), names or paths ending in `.toml`."""

    profile: str
    scenario: str = ""

    def loaded(self) -> tuple[DeviceProfile, Scenario | None]:
        """Both, read. Raises `ProfileError` and `ScenarioError`."""
        return load_profile(self.profile), load_scenario(self.scenario) if self.scenario else None

    def base_name(self) -> str:
        """What its serial number begins with; a count follows. Raises as `loaded` does."""
        profile, scenario = self.loaded()
        return f"virtual-{profile.name}" + (f"-{scenario.name}" if scenario is not None else "")

    def resolved(self) -> Wanted:
        """The same from wherever it is read."""
        return Wanted(profile=_anywhere(self.profile), scenario=_anywhere(self.scenario))


@dataclass(frozen=True, slots=True, kw_only=True)
class PhoneSpec:
    """What a daemon is told of one phone.

    `slots_matter`: there are fewer computing slots than phones. `confine` False forces the unconfined mode. `scenario`
    is the one that it lives, with the words it was asked for by; `seed` draws its nature, together with its name.
    """

    serialno: str
    profile: DeviceProfile
    slots_matter: bool
    confine: bool
    scenario: Scenario | None = None
    scenario_words: str = ""
    seed: int = 0

    @property
    def own_seed(self) -> str:
        """The seed of this very phone."""
        return f"{self.seed}/{self.serialno}"


def spec_as_json(
    serialno: str, wanted: Wanted, *, slots_matter: bool, confine: bool, seed: int
) -> dict[str, str | int | bool]:
    """One phone's part of SPEC.json."""
    return {
        "serialno": serialno,
        "profile": wanted.profile,
        "scenario": wanted.scenario,
        "seed": seed,
        "slots_matter": slots_matter,
        "confine": confine,
    }


def spec_from_json(item: Mapping[str, object]) -> PhoneSpec:
    """Read it again. Raises `ProfileError` and `ScenarioError`."""
    wanted = Wanted(profile=str(item["profile"]), scenario=str(item["scenario"]))
    profile, scenario = wanted.loaded()
    return PhoneSpec(
        serialno=str(item["serialno"]),
        profile=profile,
        slots_matter=bool(item["slots_matter"]),
        confine=bool(item["confine"]),
        scenario=scenario,
        scenario_words=wanted.scenario,
        seed=int(str(item["seed"])),
    )


def _anywhere(name_or_path: str) -> str:
    return str(Path(name_or_path).resolve()) if name_or_path.endswith(".toml") else name_or_path
