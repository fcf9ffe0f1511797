"""How a consumer's listener behaves in a scenario."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class ListenerResult(StrEnum):
    """How a call of a consumer's listener ends."""

    SUCCESS = "success"
    #: RECONSUME_LATER.
    LATER = "later"
    THROWS = "throws"
    #: The call never ends.
    HANGS = "hangs"
    #: SUSPEND_CURRENT_QUEUE_A_MOMENT. As LATER: each counts as the other where the listener has no such word.
    SUSPEND = "suspend"
    #: Orderly, with auto-commit off. Else it counts as SUCCESS.
    COMMIT = "commit"
    #: Orderly, with auto-commit off. Else as RocketMQ takes it: SUCCESS.
    ROLLBACK = "rollback"


@dataclass(frozen=True, slots=True)
class ListenerSpec:
    """How a consumer's listener behaves.

    :ivar duration_ms: how long a call takes.
    :ivar result: how a call with a matching message ends.
    :ivar fails_first: None: matching messages always end with ``result``. A number: so many deliveries of each
        matching message fail (with ``result``, or ``later`` when that is ``success``), the next one succeeds.
    :ivar only_keys: the messages that match; empty: all.
    :ivar commit_every: orderly: None: auto-commit. A number: auto-commit is off, and so many messages of a queue in a
        row are committed together, with the last of them.
    :ivar suspend_ms: orderly: how long the queue rests after a failure; None: as the consumer is configured.
    """

    duration_ms: int = 10
    result: ListenerResult = ListenerResult.SUCCESS
    fails_first: int | None = None
    only_keys: tuple[str, ...] = ()
    commit_every: int | None = None
    suspend_ms: int | None = None

    def result_of(self, key: str, reconsume_times: int) -> ListenerResult:
        """How the delivery of a message ends that was redelivered ``reconsume_times`` times."""
        if self.only_keys and key not in self.only_keys:
            return ListenerResult.SUCCESS
        if self.fails_first is None:
            return self.result
        if reconsume_times >= self.fails_first:
            return ListenerResult.SUCCESS
        return ListenerResult.LATER if self.result is ListenerResult.SUCCESS else self.result
