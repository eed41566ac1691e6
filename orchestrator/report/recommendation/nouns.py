"""Pure nouns of a recommendation. Latencies in seconds; ratios as `orchestrator.report.stats.Ratio` has them."""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator.report.stats import Ratio
from orchestrator.report.summary import SettingRow
from orchestrator.tuning.fleet import FleetChoice


@dataclass(frozen=True, slots=True, kw_only=True)
class Ahead:
    """The winner beside another setting: how many times as fast it is, and the chance that it is truly faster.

    `confidence` is None where there are too few rounds for an interval.
    """

    other: SettingRow
    ratio: Ratio | None
    confidence: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PhoneAdvice:
    """One model on one phone. `winner` is None where nothing can be recommended; `reason` says why, or why it wins.

    `how_sure` are the report's words; `tied` are the settings that can't be told from the winner. `without_nnapi` is
    the best setting that does not need NNAPI, where the winner does, and `nnapi_note` what is to be known of NNAPI.
    """

    phone: str
    name: str
    virtual: bool
    winner: SettingRow | None
    vs_default: Ratio | None
    runner_up: Ahead | None
    how_sure: str
    tied: tuple[str, ...]
    reason: str
    without_nnapi: Ahead | None = None
    nnapi_note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAdvice:
    """A model: its phones, and the setting for all of them. `fleet` is None where no setting has figures on all.

    `fleet_virtual`: it is over virtual phones, as no real one has figures. `silent` are phones without any.
    """

    model: str
    phones: tuple[PhoneAdvice, ...]
    fleet: FleetChoice | None
    fleet_virtual: bool
    fleet_sentence: str
    silent: tuple[str, ...]
