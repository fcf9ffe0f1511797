"""The report of a start of the store: what it found and repaired, for people and for tests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

#: The maximum number of lines of one kind; a broken disk should not fill the log.
MAX_LINES_OF_A_KIND = 20
#: Far more than arrive between two recovery points (10 s); without one the whole log is in doubt.
MAX_SUCCESSORS = 1_000_000


@dataclass(slots=True)
class RecoveryReport:
    """The outcome of :meth:`engine.store.message_store.MessageStore.load`.

    :ivar was_clean: the last run ended with a normal shutdown (or this is the first one).
    :ivar commit_log_min_offset, commit_log_max_offset: the bounds of the log now.
    :ivar messages_checked: messages read from the log and checked.
    :ivar messages_dispatched: of these, the ones whose consume-queue entries had to be written.
    :ivar bytes_cut: bytes at the end of the log that were not a whole message and were removed.
    :ivar log_bytes_lost: how much of the log had been on disk and is missing now.
    :ivar damaged_ranges: ``(start, end)`` in the log with whole messages after them; they are left out.
    :ivar messages_put_right: messages with a wrong queue offset whose right one is known; it was corrected.
    :ivar messages_left_out: whole messages with a queue offset that cannot be theirs.
    :ivar entries_beyond_log: consume-queue entries whose messages are missing in the log: accepted, but lost.
    :ivar shortened_queues: (topic, queue id) -> new max offset of the queues that had such entries. Consumer offsets
        beyond it must be set back to it, or the consumer would skip the messages that come next.
    :ivar unfinished_deletions: topics whose deletion a crash interrupted: what files still say about them is out of
        date.
    :ivar rebuilt_queues: (topic, queue id) of consume queues built again from the log.
    :ivar in_doubt_offset: the position in the log after which a crash may have torn messages.
    :ivar successors: commit-log offset of a message -> offset of a message in doubt that was made from it: of a half
        message that was committed, or a delayed one that was delivered (``prepared_transaction_offset``). At most
        :data:`MAX_SUCCESSORS`, the newest.
    :ivar lines: everything unexpected, in sentences.
    """

    was_clean: bool = True
    commit_log_min_offset: int = 0
    commit_log_max_offset: int = 0
    messages_checked: int = 0
    messages_dispatched: int = 0
    bytes_cut: int = 0
    log_bytes_lost: int = 0
    damaged_ranges: list[tuple[int, int]] = field(default_factory=list)
    messages_put_right: int = 0
    messages_left_out: int = 0
    entries_beyond_log: int = 0
    shortened_queues: dict[tuple[str, int], int] = field(default_factory=dict)
    unfinished_deletions: list[str] = field(default_factory=list)
    rebuilt_queues: list[tuple[str, int]] = field(default_factory=list)
    in_doubt_offset: int = 0
    successors: dict[int, int] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)

    @property
    def has_repaired(self) -> bool:
        """Return whether anything that had been on disk was missing or wrong; dispatching messages again does not
        count.
        """
        return bool(
            self.log_bytes_lost
            or self.damaged_ranges
            or self.messages_put_right
            or self.messages_left_out
            or self.shortened_queues
            or self.rebuilt_queues
        )

    def note_successor(self, predecessor: int, successor: int) -> None:
        """Note that the message at ``successor`` was made from the one at ``predecessor``."""
        self.successors[predecessor] = successor
        if len(self.successors) > MAX_SUCCESSORS:
            del self.successors[next(iter(self.successors))]

    def say(self, line: str) -> None:
        """Add a sentence to the report."""
        self.lines.append(line)

    def explain_losses(self, lengths_before: Mapping[tuple[str, int], int]) -> None:
        """Report which queues became shorter than ``lengths_before``, and why."""
        if not self.shortened_queues:
            return
        why = (
            "the commit log was damaged or cut from outside"
            if self.was_clean or self.log_bytes_lost
            else "they had been accepted, but the commit log with them had not reached the disk"
        )
        self.say(
            f"{counted(self.entries_beyond_log, 'entry', 'entries')} of "
            f"{counted(len(self.shortened_queues), 'consume queue', 'consume queues')} pointed beyond the log; "
            f"removed: {why}"
        )
        lines = []
        for (topic, queue_id), max_offset in self.shortened_queues.items():
            before = lengths_before.get((topic, queue_id), 0)
            lines.append(
                f"consume queue {topic}/{queue_id} now ends at offset {max_offset}"
                + (f" (before: {before})" if before > max_offset else "")
                + "; consumers that were further are set back to it"
            )
        self.lines += limited(lines, "consume queues")


def counted(number: int, singular: str, plural: str) -> str:
    """Return a number with its noun: ``1 entry``, ``2 entries``."""
    return f"{number} {singular if number == 1 else plural}"


def limited(lines: list[str], what: str) -> list[str]:
    """Return ``lines``, but not more than people read; the last one says how many more ``what`` there are."""
    rest = len(lines) - MAX_LINES_OF_A_KIND
    return [*lines[:MAX_LINES_OF_A_KIND], f"... and {rest} more {what}"] if rest > 0 else lines
