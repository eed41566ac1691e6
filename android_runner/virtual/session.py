"""What one service of a virtual phone has at hand while its stream lasts; its bytes meet the faults that hold here."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Protocol

from android_runner.virtual.fault_steps import Medium, Step
from android_runner.virtual.faults import NO_FAULTS, DropKind, FaultMeter, FaultPlan
from android_runner.virtual.packets import HEADER
from android_runner.virtual.stream import Stream, StreamClosed

_DRIPS_A_SECOND = 5
_BROKEN = b"\xff" * HEADER.size


class FaultSource(Protocol):
    """Who knows what goes wrong on a phone."""

    async def operation(self, step: Step, medium: Medium) -> FaultPlan:
        """An operation of this step begins: what goes wrong with it. Deeds that belong to it are done by then."""
        ...


class Transport(Protocol):
    """What a session can do to the transport of its stream."""

    def drop(self) -> None:
        """End it at once."""
        ...

    def write(self, data: bytes) -> None:
        """Hand bytes to it."""
        ...


@dataclass(slots=True)
class Session:
    """A stream, the faults that hold for the operation that it carries now, and its transport."""

    stream: Stream
    faults: FaultSource
    meter: FaultMeter
    transport: Transport
    plan: FaultPlan = NO_FAULTS
    _passed_bytes: dict[DropKind, int] = field(default_factory=dict)
    _total_bytes: int = 0
    _cut_at_bytes: int | None = None
    _stall_at_bytes: int | None = None

    async def begin(self, step: Step, medium: Medium) -> None:
        """An operation begins; raise `StreamClosed` where it gets no answer (after waiting for the host's patience)."""
        self.plan = plan = await self.faults.operation(step, medium)
        if plan.bad_magic:
            self.transport.write(_BROKEN)
        if plan.hang or plan.bad_magic:
            await self.stream.gone()
            raise StreamClosed
        if plan.closed:
            raise StreamClosed
        if plan.cut_after_bytes is not None:
            self._cut_at_bytes = self._total_bytes + plan.cut_after_bytes
        if plan.stall_after_bytes is not None:
            self._stall_at_bytes = self._total_bytes + plan.stall_after_bytes
        if plan.cut_after_bytes == 0:
            self.drop_transport()
            raise StreamClosed

    def drop_transport(self) -> None:
        """End the stream's transport at once."""
        self.transport.drop()

    def unhindered(self, kind: DropKind) -> bool:
        """Whether nothing can go wrong with the bytes of that kind now."""
        limits = (self.meter.drop_limit(kind), self._cut_at_bytes, self._stall_at_bytes, self.plan.drip_bytes_s)
        return all(limit is None for limit in limits)

    async def send(self, kind: DropKind | None, data: bytes | bytearray | memoryview) -> None:
        """Send to the host what the faults let pass (`kind` None: neither a file's data nor a shell's output).

        Raises `StreamClosed` where one of them ends it.
        """
        view = memoryview(data)
        rate = self.plan.drip_bytes_s
        piece = len(view) if rate is None else max(1, rate // _DRIPS_A_SECOND)
        while len(view) > 0:
            part, view = view[:piece], view[piece:]
            allowed = self.allowance(kind, len(part))
            if allowed:
                await self.stream.send(part[:allowed])
            await self.passed(kind, allowed, len(part))
            if rate is not None and len(view) > 0:
                await asyncio.sleep(1.0 / _DRIPS_A_SECOND)

    def allowance(self, kind: DropKind | None, wanted: int) -> int:
        """How many of `wanted` bytes may still pass."""
        rooms = [wanted]
        if kind is not None and (limit := self.meter.drop_limit(kind)) is not None:
            rooms.append(limit - self._passed_bytes.get(kind, 0))
        rooms += [at - self._total_bytes for at in (self._cut_at_bytes, self._stall_at_bytes) if at is not None]
        return max(0, min(rooms))

    async def passed(self, kind: DropKind | None, count: int, wanted: int) -> None:
        """Note `count` bytes; where fewer than `wanted` may pass, do what was planned and raise `StreamClosed`."""
        if kind is not None:
            self._passed_bytes[kind] = self._passed_bytes.get(kind, 0) + count
        self._total_bytes += count
        if count == wanted:
            return
        if self._stall_at_bytes is not None and self._total_bytes >= self._stall_at_bytes:
            await self.stream.gone()
        else:
            if self._cut_at_bytes is None or self._total_bytes < self._cut_at_bytes:
                self.meter.dropped()
            self.drop_transport()
        raise StreamClosed
