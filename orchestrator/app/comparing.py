"""Holding a run's variants against their sources while the phones work.

What the shelf knows is in the ledger from the start; the rest is computed beside the run, by one worker that only gets
what time nobody else wants, since a virtual phone measures this computer. Nobody waits for it but the answer.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Generator, Iterable, Sequence

from orchestrator.app.prepare import Workshop
from orchestrator.app.site import Site
from orchestrator.errors import FarmError
from orchestrator.farm.loop import Farm
from orchestrator.report.numbers import plural
from orchestrator.store.records import RunContents
from orchestrator.variants.converter import converter_version
from orchestrator.variants.numerics_shelf import Pair, numerics_of
from orchestrator.variants.recipe import Variant
from orchestrator.variants.shelf import Shelf
from orchestrator.variants.tolerance import Numerics, problem

WAIT_S = 120.0
"""How long the answer waits for figures that are not there when the last trial has ended."""
_SLICE_S = 0.2
_SAID_AFTER_S = 1.0


def pairs_of(variants: Iterable[Variant], workshop: Workshop) -> list[Pair]:
    """Variants with the inputs of their models."""
    inputs = {model.digest: one for model, one in workshop.models}
    return [(variant, inputs[variant.model.digest]) for variant in variants]


class Comparing:
    """What a run's ledger does not know yet of its variants' numerics, and the thread that has it computed."""

    def __init__(
        self,
        contents: RunContents,
        farm: Farm,
        site: Site,
        refuse: Callable[[str], None],
        custom_ops: Sequence[str] = (),
    ) -> None:
        self._custom_ops = custom_ops
        self._site = site
        self._run_id = contents.run.run_id
        self._refuse = refuse
        self._names = {one.variant_id: f"{one.model_name} {one.recipe}" for one in contents.variants}
        self._pairs = _unknown_pairs(contents, farm)
        self._missing = {variant.variant_id: inputs.digest for variant, inputs in self._pairs}
        self._lock = threading.Lock()
        self._over = False
        self._thread = threading.Thread(target=self._work, name="comparing", daemon=True)

    def start(self) -> None:
        """Begin, where there is anything to do."""
        if self._pairs:
            self._thread.start()

    def finish(self, *, wait: bool) -> None:
        """Wait until all is known, for `WAIT_S` at most; what is not known then stands as not compared.

        Without `wait`, and after a Ctrl-C, what is missing stays open for `orch resume`.
        """
        waited = wait and self._wait()
        with self._lock:
            self._over = True
            missing = dict(self._missing)
        if waited and missing:
            why = f"not done {WAIT_S:.0f} s after the last trial"
            self._site.ledger.set_numerics(
                self._run_id, {one: _not_known(digest, why) for one, digest in missing.items()}
            )

    def _wait(self) -> bool:
        """Whether it was waited to the end, or as long as is waited for anything."""
        begun_s, said = time.monotonic(), False
        try:
            while self._thread.is_alive() and time.monotonic() < begun_s + WAIT_S:
                self._thread.join(_SLICE_S)
                if not said and time.monotonic() > begun_s + _SAID_AFTER_S:
                    said = True
                    self._site.say(f"comparing {plural(len(self._missing), 'variant')} with the sources")
        except KeyboardInterrupt:
            return False
        return True

    def _work(self) -> None:
        shelf = Shelf(self._site.home.shelf)
        try:
            with contextlib.closing(self._answers(shelf)) as answers:
                for variant_id, numerics in answers:
                    if not self._keep(variant_id, numerics):
                        return
        except (FarmError, OSError) as error:
            for variant_id, digest in dict(self._missing).items():
                self._keep(variant_id, _not_known(digest, str(error)))

    def _answers(self, shelf: Shelf) -> Generator[tuple[str, Numerics], None, None]:
        return numerics_of(self._pairs, shelf, processes=1, idle=True, custom_ops=self._custom_ops)

    def _keep(self, variant_id: str, numerics: Numerics) -> bool:
        """Write an answer down; whether more are wanted."""
        with self._lock:
            if self._over:
                return False
            self._site.ledger.set_numerics(self._run_id, {variant_id: numerics})
            self._missing.pop(variant_id, None)
        words = problem(numerics)
        if words:
            self._refuse(variant_id)
            self._site.say(f"{self._names[variant_id]} is out of tolerance and can't win: {words}")
        return True


def _unknown_pairs(contents: RunContents, farm: Farm) -> list[Pair]:
    lane = next(iter(farm.lanes.values()), None)
    if lane is None:
        return []
    materials = lane.kit.materials
    models = {record.variant_id: record.model_digest for record in contents.variants}
    inputs = {models[case.variant_id]: case.inputs_digest for case in contents.cases if case.variant_id in models}
    return [
        (materials.variants[record.variant_id], materials.inputs[inputs[record.model_digest]])
        for record in contents.variants
        if record.numerics is None and record.model_digest in inputs
    ]


def _not_known(inputs: str, why: str) -> Numerics:
    return Numerics(inputs=inputs, runtime=converter_version(), unknown=why)
