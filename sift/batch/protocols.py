"""The protocol of the store that batches need from outside."""

from __future__ import annotations

from typing import Protocol

from sift.batch.model import (
    PAGE_BYTES,
    BatchStatus,
    Claim,
    Ended,
    Only,
    Outcome,
    PlaceResult,
    Receipt,
    ResultPage,
    Submission,
)


class Jobs(Protocol):
    """Batches, kept for all processes that share a store (contract: Store).

    Every method raises StoreError when the store cannot be read or written within its time; what it was to do may
    then have been done. Another caller's batch, an expired one and one that never was are alike: there is none.
    """

    def submit(self, submission: Submission) -> Receipt:
        """Keep a batch, or return the receipt of the one that the caller's key already made.

        Raises BatchLimitError when the caller has too many under way, IdempotencyError when the key is another body's.
        """

    def status(self, caller: str, id: str) -> BatchStatus | None:
        """Return a batch's numbers, None if there is none."""

    def page(
        self, caller: str, id: str, *, offset: int = 0, limit: int = 20, only: Only = "", size: int = PAGE_BYTES
    ) -> ResultPage | None:
        """Return places of a batch in the order of the request, None if there is none.

        offset, limit: counted among those that are in state `only`, if given. size: bytes of results at most; the
        first place is there whatever its size.
        """

    def errors(self, caller: str, id: str) -> tuple[PlaceResult, ...] | None:
        """Return the places that failed, in the order of the request; None if there is no such batch."""

    def list(self, caller: str) -> tuple[BatchStatus, ...]:
        """Return the caller's batches, the newest first."""

    def cancel(self, caller: str, id: str) -> bool:
        """End what is left of a batch; return whether there is one. A batch that is through stays as it is."""

    def purge(self, caller: str, id: str) -> bool:
        """Delete a batch with all its URLs and texts; return whether there was one."""

    def claim(self, owner: str) -> Claim | None:
        """Take a free host and the first item that waits for it; None when there is none now.

        owner: one thread that has no other claim.
        """

    def renew(self, owner: str, host: str) -> bool:
        """Extend the lease of a claim; return False when its item is no longer wanted, or the host another's."""

    def finish(self, claim: Claim, outcome: Outcome) -> bool:
        """Record the outcome and let the host go; return False, recording nothing, when the claim is no longer held."""

    def retry(self, claim: Claim, not_before: float, *, delay: float | None = None) -> bool:
        """Let the item wait for its next attempt and the host go; return whether the claim was still held.

        not_before: seconds from now, 60 at most. delay: as in an Outcome.
        """

    def give_back(self, claim: Claim) -> bool:
        """Undo a claim whose work was not done, as at a stop; the attempt does not count."""

    def due(self) -> float | None:
        """Return the seconds until an item can be claimed, as far as is known now; None when none waits."""

    def waiting(self) -> int:
        """Return how many items wait for their next attempt, of all callers."""

    def ended(self) -> tuple[Ended, ...]:
        """Return the batches that have ended, each of them once and to one caller of this method only."""

    def sweep(self) -> None:
        """End batches whose time is over, delete expired ones, and set right what a clock that jumped has left."""
