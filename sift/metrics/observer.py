"""The observer that counts for Prometheus."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from sift.metrics.board import Board
from sift.metrics.families import OTHER, outcome_label
from sift.observe import Spared


class Metrics:
    """Counts events, once `begin` was called: before that it is nobody's process, or that of a master.

    It is an `Observer` and, for the calls that were spared, a `Usage`.
    sources: names of the sources. now: Unix time.
    """

    def __init__(self, sources: Sequence[str], version: str, now: Callable[[], float] = time.time) -> None:
        self._sources = tuple(sources)
        self._version = version
        self._now = now
        self._lock = threading.Lock()
        self._board: Board | None = None
        self.directory: Path | None = None
        """Where the numbers of all workers are; None before the beginning."""

    def begin(self, directory: Path, slot: int) -> None:
        """Count from now on, in files of this process. Raises OSError. slot: as in `Board`."""
        self._board = Board(directory, slot, self._sources, self._version)
        self.directory = directory

    def call_ended(self, source: str, outcome: str, seconds: float, credits: int, detail: str = "") -> None:
        """Count a vendor call and its duration, and note whether it was answered."""
        board = self._board
        if board is None or source not in board.call_seconds:
            return
        with self._lock:
            board.counts[board.calls[source, outcome_label(outcome)]] += 1
            board.call_seconds[source].add(seconds)
            board.lowest[board.up[source]] = float(outcome == "ok")

    def call_skipped(self, source: str, reason: str) -> None:
        """Count a source that was not asked."""
        board = self._board
        if board is not None and (place := board.calls.get((source, outcome_label(reason)))):
            self._count(board, place)

    def search_ended(self, caller_class: str, cache: str, seconds: float, *, answered: bool) -> None:
        """Count a search and its duration."""
        board = self._board
        if board is None:
            return
        with self._lock:
            board.counts[board.searches[caller_class, cache, answered]] += 1
            board.search_seconds[cache].add(seconds)

    def breaker_changed(self, source: str, state: str) -> None:
        """Note whether a source is skipped; while it is tried again it still is, but for one call."""
        board = self._board
        if board is not None and source in board.breaker_open:
            board.highest[board.breaker_open[source]] = float(state != "closed")

    def work_began(self) -> None:
        """Count what is under way."""
        self._work(1)

    def work_ended(self) -> None:
        """Count what is no longer under way."""
        self._work(-1)

    def fetch_ended(self, state: str, cache: str, seconds: float) -> None:
        """Count a fetch and its duration."""
        board = self._board
        if board is None:
            return
        with self._lock:
            place = board.fetches.get((state, cache), board.fetches[OTHER, cache])
            board.counts[place] += 1
            board.fetch_seconds[cache].add(seconds)

    def batch_items_ended(self, state: str, count: int) -> None:
        """Count the items of a batch."""
        board = self._board
        if board is not None and (place := board.batch_items.get(state)):
            with self._lock:
                board.counts[place] += count

    def batch_items_waiting(self, count: int) -> None:
        """Note how many items wait, and when that was so: of several workers the last one to look is right."""
        board = self._board
        if board is not None:
            with self._lock:
                numbers = board.newest
                numbers[board.batch_waiting] = count
                numbers[board.batch_waiting + 1] = self._now()

    def cache_resized(self, entries: int) -> None:
        """Note how many answers are kept."""
        board = self._board
        if board is not None:
            board.summed[board.cache_entries] = entries

    def auth_failed(self) -> None:
        """Count a refused key."""
        if (board := self._board) is not None:
            self._count(board, board.auth_failures)

    def line_dropped(self) -> None:
        """Count a line that was dropped."""
        if (board := self._board) is not None:
            self._count(board, board.lines_dropped)

    def calling(self, source: str) -> None:
        """Ignore a call: `call_ended` counts it."""

    def not_called(self, source: str) -> None:
        """Ignore that there was none."""

    def refused(self, source: str, calls: int) -> None:
        """Ignore calls without a credit: `call_skipped` counts them."""

    def spared(self, calls: Spared, *, shared: bool) -> None:
        """Count the calls that were not needed."""
        board = self._board
        if board is None:
            return
        with self._lock:
            numbers = board.counts
            for source, count in calls:
                if place := board.saved.get(source):
                    numbers[place] += count

    def _count(self, board: Board, place: int) -> None:
        with self._lock:
            board.counts[place] += 1

    def _work(self, change: int) -> None:
        board = self._board
        if board is not None:
            with self._lock:
                board.summed[board.in_flight] += change
