"""Watches the registry while a run lasts: a phone that somebody holds, puts in quarantine or retires is taken out."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from types import TracebackType

from android_runner.deadline import Clock
from orchestrator.errors import StoreError
from orchestrator.farm.protocol import PhoneTaken
from orchestrator.store.phone_book import PhoneBook

LOOK_EVERY_S = 2.0


class TakenWatch:
    """As long as it is entered, posts `PhoneTaken` once for each of these phones that people take."""

    def __init__(
        self, book: PhoneBook, phones: Collection[str], post: Callable[[PhoneTaken], object], clock: Clock
    ) -> None:
        self.book = book
        self.post = post
        self.clock = clock
        self._left = set(phones)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="phones taken", daemon=True)

    def __enter__(self) -> TakenWatch:
        self._thread.start()
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()

    def look(self) -> None:
        """Look once. Raises StoreError."""
        now = self.clock.now()
        for phone, known in self.book.all().items():
            if phone not in self._left:
                continue
            if known.retired is not None:
                why = f"retired by {known.retired.by}"
            elif (hold := known.held(now)) is not None:
                why = f"held by {hold.by}" + (f": {hold.why}" if hold.why else "")
            elif (quarantine := known.kept_out(now)) is not None:
                why = f"in quarantine: {quarantine.reason}"
            else:
                continue
            self._left.discard(phone)
            self.post(PhoneTaken(phone, why))

    def _watch(self) -> None:
        while not self._over.wait(LOOK_EVERY_S):
            try:
                self.look()
            except StoreError:
                continue  # a ledger that can't be read ends the run by itself, where it is written
