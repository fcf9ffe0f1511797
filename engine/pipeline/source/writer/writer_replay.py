"""Protection of a repeated write against producing twice.

Spark may run the same partition of the same micro-batch more than once: a task that failed is started again, and a
query that was killed between sending and its own commit repeats its last micro-batch. So each message carries a
property::

    SPARK_TXN = name of the query / micro-batch / partition / fingerprint of the row

Before it sends anything, a try that may not be the first searches the end of the topic's queues for its own name,
micro-batch and partition, and leaves out what is stored. It compares the contents of rows (and the queue they request),
not their positions: equal rows are interchangeable, so nothing is lost when a repetition brings them in another order.
It keeps one entry of about 100 bytes per stored row.

The position where the search begins is noted at the broker, in the form of a consumer group's offsets, so the search
neither misses anything after another producer's flood nor reads more than it must. Each query has one such group, and
so has each batch write with a name of its own. Numbered writes share their name's two groups, the second of which says
which of them the note is about: however many there are, no more than that is left at the broker.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from typing import NamedTuple

from pyspark import TaskContext

from engine.pipeline.source.cluster.cluster import Cluster
from engine.pipeline.source.cluster.errors import RocketMQError
from engine.pipeline.source.cluster.node_client import NOTHING_FOUND_CODES, refusal
from engine.pipeline.source.cluster.queue_offsets import QueueKey
from engine.pipeline.source.decoding.stored_batch import StoredBatch
from engine.pipeline.source.writer.writer_options import ReplayCheck, WriteOptions
from engine.pipeline.source.writer.writer_rows import PROPERTY_SPARK_TRANSACTION
from engine.protocol.body.question import group_offset, store_group_offset
from engine.protocol.command.pull_message_headers import PullMessageResponseHeader
from engine.protocol.message.message_properties import PROPERTY_UNIQUE_KEY
from engine.protocol.response_code import ResponseCode

#: Groups with this prefix have no consumers, only offsets.
NOTES_GROUP_PREFIX = "SPARK_SINK_"
_NUMBER_SUFFIX = "_NUMBER"
_PULL_MESSAGES = 1_000
#: Where Spark gives a task the ids of its query and micro-batch.
_QUERY_ID = "sql.streaming.queryId"
_BATCH_ID = "streaming.sql.batchId"
_RUN_ID = "spark.jobGroup.id"
_BATCH_WRITE_ID = "spark.sql.execution.query.id"
_SPECULATION = "spark.speculation"

#: Run of a query -> the first micro-batch of it that this process worked for. Only the first micro-batch of a run can
#: be a repetition, so a later one needs no search.
_FIRST_BATCH_OF_RUN: dict[str, int] = {}
_RUNS_REMEMBERED = 100


@dataclass(frozen=True, slots=True)
class WriteIdentity:
    """Identity of a task's write: query, micro-batch and partition.

    :ivar name: 16 hex digits that identify the query, or the name of a batch write.
    :ivar batch: number of the micro-batch, or of the batch write among those with its name.
    :ivar may_repeat: whether an earlier try may have stored some of it.
    :ivar is_noted: whether the start of the search is noted at the broker.
    :ivar is_numbered: whether a note applies to one ``batch`` only, and names it.
    """

    name: str
    batch: int
    partition: int
    may_repeat: bool
    is_noted: bool
    is_numbered: bool = False

    @property
    def prefix(self) -> str:
        """Return the transaction without the fingerprint."""
        return f"{self.name}/{self.batch}/{self.partition}/"


def identify(options: WriteOptions, *, is_stream: bool) -> WriteIdentity:
    """Return Spark's identity of the task in this process. Raises :class:`RocketMQError` for speculative copies of
    tasks.
    """
    context = TaskContext.get()
    assert context is not None, "Spark writes in tasks"
    if (context.getLocalProperty(_SPECULATION) or "").lower() == "true":
        raise RocketMQError(
            "ROCKETMQ_SEND_FAILED",
            "spark.speculation is on: two copies of a task would send the same messages at once; switch it off",
        )
    if is_stream:
        named, number = context.getLocalProperty(_QUERY_ID), int(context.getLocalProperty(_BATCH_ID) or 0)
        is_repeatable = _may_be_first_of_run(context.getLocalProperty(_RUN_ID) or "", number)
    else:
        named, number = options.transaction_id, options.transaction_number or 0
        is_repeatable = named is not None
    may_repeat = is_repeatable or context.attemptNumber() > 0
    if options.replay_check is not ReplayCheck.AUTO:
        may_repeat = options.replay_check is ReplayCheck.ALWAYS
    query_id = context.getLocalProperty(_BATCH_WRITE_ID) if named is None else named
    assert query_id is not None, "Spark names every execution"
    return WriteIdentity(
        # Short, as every message carries it.
        name=blake2b(query_id.encode(), digest_size=8).hexdigest(),
        batch=number,
        partition=context.partitionId(),
        may_repeat=may_repeat,
        is_noted=may_repeat and named is not None,
        is_numbered=not is_stream and options.transaction_number is not None,
    )


def _may_be_first_of_run(run_id: str, batch: int) -> bool:
    if run_id not in _FIRST_BATCH_OF_RUN:
        if len(_FIRST_BATCH_OF_RUN) >= _RUNS_REMEMBERED:
            del _FIRST_BATCH_OF_RUN[next(iter(_FIRST_BATCH_OF_RUN))]
        _FIRST_BATCH_OF_RUN[run_id] = batch
    return batch <= _FIRST_BATCH_OF_RUN[run_id]


# --- existing data ---------------------------------------------------------------------------------------------------


class SentMessage(NamedTuple):
    """The fields of a message that a search reads.

    :ivar transaction: the property ``SPARK_TXN``; empty if it has none.
    """

    queue_offset: int
    unique_id: str | None
    transaction: str


@dataclass(slots=True)
class EarlierMessages:
    """The messages that earlier tries stored.

    :ivar fingerprints: fingerprints of its rows, each as often as it is stored.
    :ivar firsts: its lowest offset in each queue that has any of it.
    :ivar firsts_of_write: the same of all partitions, and of writes of this name with a higher number.
    """

    fingerprints: Counter[str]
    firsts: dict[QueueKey, int]
    firsts_of_write: dict[QueueKey, int]


def find_earlier(
    cluster: Cluster,
    identity: WriteIdentity,
    queues: Sequence[QueueKey],
    planned: Mapping[QueueKey, int],
    lookback: int,
) -> EarlierMessages:
    """Search the end of ``queues`` for messages of this very partition and micro-batch.

    The search begins at the noted or planned offset, else ``lookback`` messages before the end. A missing note is
    written now for later tries: however many messages others send until then, what this task sends comes after it.
    """
    # Before the notes: another task of this write sends only after its note, so past these ends.
    ends = cluster.max_offsets(queues)
    if identity.is_noted and identity.is_numbered:
        return _find_numbered(cluster, identity, ends, lookback)
    known = {**planned, **(read_notes(cluster, identity.name, queues) if identity.is_noted else {})}
    begins = {queue: begin_of_search(known.get(queue), end, lookback) for queue, end in ends.items()}
    changed = {queue: begin for queue, begin in begins.items() if begin != known.get(queue)}
    if identity.is_noted and changed:
        write_notes(cluster, identity.name, changed)
    return _search(cluster, identity, begins)


def _find_numbered(
    cluster: Cluster, identity: WriteIdentity, ends: Mapping[QueueKey, int], lookback: int
) -> EarlierMessages:
    """Search as :func:`find_earlier` does, for a write with a number.

    A note says: from ``lookback`` messages before the end to this offset there was nothing with this number or a higher
    one. So it also serves a write with a higher number, which can skip what it has no part in; but such a write must
    search nevertheless: a broker that was killed may have lost its note and kept its messages.
    """
    # Numbers first: whatever other tasks of this write note at this moment, the offset is then true for this write.
    numbers = read_notes(cluster, identity.name + _NUMBER_SUFFIX, list(ends))
    offsets = read_notes(cluster, identity.name, list(ends))
    begins: dict[QueueKey, int] = {}
    unnoted: list[QueueKey] = []
    for queue, end in ends.items():
        number, noted = numbers.get(queue), offsets.get(queue)
        if number == identity.batch and noted is not None and noted <= end:
            begins[queue] = noted
            continue
        unnoted.append(queue)
        is_lower = number is not None and number < identity.batch
        begins[queue] = max(begin_of_search(noted if is_lower else None, end, lookback), end - lookback)
    found = _search(cluster, identity, begins)
    new = {queue: min(ends[queue], found.firsts_of_write.get(queue, ends[queue])) for queue in unnoted}
    _note_numbered(cluster, identity, new, numbers)
    return found


def _note_numbered(
    cluster: Cluster, identity: WriteIdentity, offsets: Mapping[QueueKey, int], numbers: Mapping[QueueKey, int]
) -> None:
    """Note offsets and the number they are about; ``numbers`` are the present ones.

    It takes two requests, and a broker may be killed between them. Its state must be true at any point: the offset of a
    lower number is true for a higher one, but not the reverse.
    """
    number_name = identity.name + _NUMBER_SUFFIX
    rising = {queue: offset for queue, offset in offsets.items() if numbers.get(queue, identity.batch) < identity.batch}
    others = {queue: offset for queue, offset in offsets.items() if queue not in rising}
    write_notes(cluster, number_name, dict.fromkeys(rising, identity.batch))
    write_notes(cluster, identity.name, offsets)
    write_notes(cluster, number_name, dict.fromkeys(others, identity.batch))


def _search(cluster: Cluster, identity: WriteIdentity, begins: Mapping[QueueKey, int]) -> EarlierMessages:
    found = EarlierMessages(Counter(), {}, {})
    of_name, prefix = f"{identity.name}/", identity.prefix
    ends = cluster.max_offsets(list(begins))
    for queue, begin in begins.items():
        for message in sent_messages(cluster, queue, begin, ends[queue]):
            if not message.transaction.startswith(of_name):
                continue
            if message.transaction.startswith(prefix):
                found.fingerprints[message.transaction.removeprefix(prefix)] += 1
                found.firsts.setdefault(queue, message.queue_offset)
            if _number_of(message.transaction) >= identity.batch:
                found.firsts_of_write.setdefault(queue, message.queue_offset)
    return found


def _number_of(transaction: str) -> int:
    """Return the number of the micro-batch or write; -1 if the text of another program has none."""
    number = transaction.split("/", 2)[1]
    return int(number) if number.isdecimal() and len(number) < 20 else -1


def sent_messages(cluster: Cluster, queue: QueueKey, begin: int, end: int) -> Iterator[SentMessage]:
    """Yield the existing messages of a queue between two offsets. Raises :class:`RocketMQError`."""
    for data in stored_messages(cluster, queue, begin, end):
        batch = StoredBatch(data)
        offsets = batch.number("queue_offset").tolist()
        unique_ids = batch.properties.value_of(PROPERTY_UNIQUE_KEY).to_pylist()
        transactions = batch.properties.value_of(PROPERTY_SPARK_TRANSACTION).to_pylist()
        for offset, unique_id, transaction in zip(offsets, unique_ids, transactions, strict=True):
            if offset < end:
                yield SentMessage(offset, unique_id, transaction or "")


def stored_messages(cluster: Cluster, queue: QueueKey, begin: int, end: int) -> Iterator[bytes]:
    """Yield the messages as the broker stores them, some at a time; possibly a few beyond the end."""
    while begin < end:
        answer = cluster.pull(queue, begin, _PULL_MESSAGES)
        if answer.code == ResponseCode.SUCCESS:
            yield answer.body
        elif answer.code not in NOTHING_FOUND_CODES:
            raise refusal(queue.topic, cluster.master(queue.broker_name), answer)
        following = PullMessageResponseHeader.decode(answer.ext_fields).next_begin_offset
        if following <= begin:
            return
        begin = following


# --- start of the search ---------------------------------------------------------------------------------------------


def begin_of_search(known: int | None, end: int, lookback: int) -> int:
    """Return where to begin in a queue that ends at ``end``: at ``known``, else ``lookback`` messages before its end.

    A queue that ends before ``known`` was deleted and created again: nothing is known about it.
    """
    return known if known is not None and known <= end else max(0, end - lookback)


def read_notes(cluster: Cluster, name: str, queues: Sequence[QueueKey]) -> dict[QueueKey, int]:
    """Return the noted offset of each queue that has one.

    For an unknown group a broker answers 0 if the whole queue is in memory; so an offset is noted as one more than it
    is, and 0 means that there is no note.
    """
    # After a refusal (an account may have no right to the group) the search is by number of messages.
    noted = cluster.ask_queues(queues, partial(group_offset, NOTES_GROUP_PREFIX + name), without=None)
    return {queue: offset - 1 for queue, offset in noted.items() if offset > 0}


def write_notes(cluster: Cluster, name: str, offsets: Mapping[QueueKey, int]) -> None:
    """Note an offset for each queue; if a broker refuses one, readers find it missing."""
    group = NOTES_GROUP_PREFIX + name
    cluster.ask_queues(offsets, lambda queue: store_group_offset(group, queue, offsets[queue] + 1), without=None)
