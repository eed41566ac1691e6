"""Pure: phones on which a search for the best setting goes on: each round is asked for when the one before is over."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from orchestrator.farm.blocks import Lane, LaneState
from orchestrator.farm.protocol import AskRound, Command

_LIVING = (LaneState.DOWN, LaneState.IDLE, LaneState.RUNNING)


class Hunting:
    """Which phones may get another round, and of which one was asked for that has not come yet."""

    def __init__(self, phones: Iterable[str] = ()) -> None:
        self._phones = set(phones)
        self._asked: set[str] = set()

    def ask(self, lane: Lane, commands: list[Command]) -> None:
        """A phone has nothing left to do: ask for its next round, once."""
        if lane.phone in self._phones - self._asked:
            self._asked.add(lane.phone)
            commands.append(AskRound(lane.phone))

    def told(self, phone: str, *, more: bool) -> None:
        """The answer came: a round, or that there is none any more."""
        self._asked.discard(phone)
        if not more:
            self._phones.discard(phone)

    def goes_on(self, lanes: Mapping[str, Lane]) -> bool:
        """Whether some phone that lives may get another round."""
        own = (lanes[phone] for phone in self._phones if phone in lanes)
        return any(lane.state in _LIVING and not lane.taken for lane in own)
