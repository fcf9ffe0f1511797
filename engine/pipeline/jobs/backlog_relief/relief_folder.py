"""The folder of messages that were moved aside: Parquet by topic and day, and in its newest commit a state that records
what is moved aside, up to where, and what of it was sent again.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import msgspec
from pyspark.sql import DataFrame, SparkSession

from engine.pipeline.errors import JobFailed
from engine.pipeline.jobs.committed_folder import Commit, CommittedFolder, Stage
from engine.pipeline.source.cluster.queue_offsets import QueueKey, parse_label
from engine.pipeline.source.decoding.schema import spark_schema
from engine.texts import Text

#: Subfolders of it, one per sending, hold the messages that no broker accepts.
NOT_SENT = "_not_sent"


@dataclass(frozen=True, slots=True)
class MovedRange:
    """The range of one queue. All messages of low priority in ``start <= offset < end`` are in the folder.

    :ivar in_range: how many there are in the range.
    :ivar moved: messages moved aside in all ranges that the queue has had.
    :ivar kept: messages that were read and left to the group.
    """

    start: int
    end: int
    in_range: int = 0
    moved: int = 0
    kept: int = 0


@dataclass(frozen=True, slots=True)
class MovedBatch:
    """The messages that one commit stored.

    :ivar files: their names in the folder.
    :ivar rows: how many messages.
    :ivar sent: how many of them were sent again.
    :ivar not_sent: how many of them no broker accepts.
    :ivar sent_up_to: queue -> offset below which its messages were sent again.
    """

    files: tuple[str, ...]
    rows: int
    sent: int = 0
    sent_up_to: Mapping[str, int] = field(default_factory=dict)
    not_sent: int = 0

    @property
    def waiting(self) -> int:
        """Return the number of messages that are left to send."""
        return self.rows - self.sent - self.not_sent


@dataclass(frozen=True, slots=True)
class Sending:
    """A sending in progress, decided before the first message is sent, so that a restart sends exactly the same.

    :ivar number: number of this sending in this folder; part of its transaction's name.
    :ivar batch: the commit with its messages.
    :ivar ranges: queue -> first and last offset.
    """

    number: int
    batch: int
    topic: str
    ranges: Mapping[str, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class ReliefState:
    """The state of the folder of a backlog-relief job.

    :ivar identity: identifies the folder in transactions; created with it.
    :ivar rule: the priority rule, as text.
    :ivar ranges: the examined range of each queue, and what was moved out of it.
    :ivar batches: commit -> what it stored; completed ones are left out.
    :ivar sending: the last sending, unless it is known to be complete.
    """

    identity: str
    group: str
    rule: str
    ranges: Mapping[QueueKey, MovedRange] = field(default_factory=dict)
    batches: Mapping[int, MovedBatch] = field(default_factory=dict)
    sending: Sending | None = None
    sendings: int = 0
    sent: int = 0
    not_sent: int = 0

    @classmethod
    def from_json(cls, state: Mapping[str, Any], folder: str, group: str, rule: str) -> ReliefState:
        """Decode what :meth:`to_json` returned. Raises :class:`JobFailed` if the folder belongs to another group or
        rule.
        """
        if (state["group"], state["rule"]) != (group, rule):
            raise JobFailed(
                Text(
                    "job.error.other_relief",
                    folder=folder,
                    its_group=state["group"],
                    its_rule=state["rule"],
                    group=group,
                    rule=rule,
                )
            )
        ranges = msgspec.convert(state["ranges"], dict[str, MovedRange])
        kept = msgspec.convert({**state, "ranges": {}}, cls, str_keys=True)
        # The topic, a space and the label, as a key prints itself; no topic contains a space.
        return replace(kept, ranges={parse_label(*name.split(" ", 1)): moved for name, moved in ranges.items()})

    def to_json(self) -> dict[str, Any]:
        """Encode the state for the commit."""
        ranges = {str(queue): asdict(moved) for queue, moved in self.ranges.items()}
        return {**asdict(replace(self, ranges={})), "ranges": ranges}

    def begin(self, batch: int, topic: str, ranges: Mapping[str, tuple[int, int]]) -> ReliefState:
        """Return the state after the next sending is decided."""
        return replace(self, sending=Sending(self.sendings, batch, topic, ranges), sendings=self.sendings + 1)

    def finish(self, sent: int, not_sent: int) -> ReliefState:
        """Return the state after brokers have stored ``sent`` messages of the sending; no broker accepts the others."""
        assert self.sending is not None, "something was being sent"
        number = self.sending.batch
        old = self.batches[number]
        up_to = {**old.sent_up_to, **{name: last + 1 for name, (_, last) in self.sending.ranges.items()}}
        batch = replace(old, sent=old.sent + sent, sent_up_to=up_to, not_sent=old.not_sent + not_sent)
        batches = {**self.batches, number: batch}
        if batch.waiting <= 0:
            del batches[number]
        return replace(self, batches=batches, sending=None, sent=self.sent + sent, not_sent=self.not_sent + not_sent)


@dataclass(frozen=True, slots=True)
class ReliefFolder:
    """A folder of messages that were moved aside.

    :ivar rule: the priority rule, as text.
    """

    spark: SparkSession
    files: CommittedFolder
    group: str
    rule: str

    def latest(self) -> tuple[Commit, ReliefState]:
        """Return the newest commit and its state."""
        commit = self.files.latest()
        if not commit.version:
            return commit, ReliefState(uuid.uuid4().hex, self.group, self.rule)
        return commit, ReliefState.from_json(commit.state, self.files.files.root, self.group, self.rule)

    def commit(self, base: Commit, stage: Stage | None, state: ReliefState) -> Commit:
        """Commit files and state, as :meth:`CommittedFolder.commit` does."""
        return self.files.commit(base, stage, state.to_json())

    def read(self, names: Sequence[str], below: str = "") -> DataFrame:
        """Return the messages in some files of the folder."""
        files = self.files.files
        reader = self.spark.read.schema(spark_schema()).option("basePath", files.uri(below) if below else files.root)
        return reader.parquet(*(files.uri(name) for name in names))

    def keep_not_sent(self, rows: DataFrame, sending: int) -> int:
        """Store the messages of a sending that no broker accepts; return how many. Repeating it has no further
        effect.
        """
        folder = self.files.files.uri(f"{NOT_SENT}/{sending:08d}")
        rows.write.mode("overwrite").parquet(folder)
        return self.spark.read.schema(rows.schema).parquet(folder).count()

    def not_sent(self) -> DataFrame:
        """Return all messages that :meth:`keep_not_sent` stored; there must be some."""
        return self.spark.read.parquet(self.files.files.uri(f"{NOT_SENT}/*"))
