"""Phones as a plan sees them: real and living virtual ones as they are, others from their device profiles."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from android_runner.facts import PhoneFacts
from android_runner.profile import ProfileError
from android_runner.virtual.heat.scenario import ScenarioError
from android_runner.virtual.host_tools import android_tools
from android_runner.virtual.spec import Wanted
from orchestrator.app.choosing import chosen_phones
from orchestrator.app.phones import virtual_phones
from orchestrator.errors import Problem, UsageError
from orchestrator.home import Home
from orchestrator.plan.pools import pools_of, spares
from orchestrator.plan.select import VirtualWish, parse_devices


def described_phones(
    options: Sequence[str], home: Home, adb_port: int, say: Callable[[str], object]
) -> list[PhoneFacts]:
    """The facts of the phones that a run with these options would use; starts none. `say` as in `chosen_phones`.

    Raises UsageError and NoUsableDevice as `chosen_phones` does.
    """
    expressions, wishes = parse_devices(options)
    living = [phone.facts for phone in virtual_phones(home) if phone.facts is not None] if wishes else []
    facts = [one for wish in wishes for one in _virtual(wish, living)[: 1 if wish.one else None]]
    if expressions or not wishes:
        named = [expression.text for expression in expressions]
        phones = chosen_phones(named, home, adb_port, 0, say)
        found = pools_of(named, [one.candidate() for one in phones])
        idle = {*found.superfluous, *spares(found.pools)}
        facts += [one.facts for one in phones if one.facts is not None and one.identity not in idle]
    return facts


def _virtual(wish: VirtualWish, living: Sequence[PhoneFacts]) -> list[PhoneFacts]:
    wanted = Wanted(profile=wish.profile, scenario=wish.scenario).resolved()
    try:
        wanted.loaded()
    except (ProfileError, ScenarioError) as error:
        raise UsageError(Problem("--device virtual", str(error))) from error
    own = [facts for facts in living if (facts.profile, facts.scenario) == (wish.profile, wanted.scenario)]
    missing = range(len(own) + 1, wish.count + 1)
    return [*own[: wish.count], *(_from_profile(wanted, number) for number in missing)]


def _from_profile(wanted: Wanted, number: int) -> PhoneFacts:
    profile, _ = wanted.loaded()
    cores = sum(cluster.count for cluster in profile.clusters)
    return PhoneFacts(
        identity=f"{wanted.base_name()}-{number}",
        device_model=profile.device_model,
        manufacturer=profile.manufacturer,
        fingerprint=profile.fingerprint,
        soc=profile.soc,
        api_level=profile.api_level,
        abis=tuple(profile.abis),
        exec_abis=("linux-x86_64",),
        cores=cores,
        max_freq_khz=tuple(cluster.max_khz for cluster in profile.clusters for _ in range(cluster.count)),
        memory_bytes=profile.memory_bytes,
        rooted=profile.rooted,
        virtual=True,
        confinement="",
        shell="",
        tools=tuple(one for one in android_tools(profile.api_level) if one not in profile.missing_tools),
        launcher="",
        profile=profile.name,
        free_bytes=0,
        scenario=wanted.scenario,
    )
