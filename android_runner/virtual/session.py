"""What one service of a virtual phone has at hand while its stream lasts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from android_runner.virtual.faults import DropKind, FaultMeter, FaultPlan
from android_runner.virtual.stream import Stream, StreamClosed


@dataclass(slots=True)
class Session:
    """A stream, the faults that hold for it, and the way to drop its transport."""

    stream: Stream
    plan: FaultPlan
    meter: FaultMeter
    drop_transport: Callable[[], None]
    _passed_bytes: dict[DropKind, int] = field(default_factory=dict)

    def allowance(self, kind: DropKind, wanted: int) -> int:
        """How many of `wanted` bytes may still pass before the planned drop."""
        limit = self.meter.drop_limit(kind)
        if limit is None:
            return wanted
        return max(0, min(wanted, limit - self._passed_bytes.get(kind, 0)))

    def passed(self, kind: DropKind, count: int, wanted: int) -> None:
        """Note `count` bytes; where fewer than `wanted` may pass, drop the transport and raise `StreamClosed`."""
        self._passed_bytes[kind] = self._passed_bytes.get(kind, 0) + count
        if count < wanted:
            self.meter.dropped()
            self.drop_transport()
            raise StreamClosed
