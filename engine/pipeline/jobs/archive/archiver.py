"""The archiver: puts micro-batches into the archive, each exactly once and each business key exactly once.

Exactly-once rests on three things, none of which is Spark's state store. Spark plans a micro-batch before it runs it,
so after a crash it delivers the same offsets under the same batch id. The archive's commit records that id with the
files, so a committed batch is skipped when it is delivered again. And keys are compared with the archive itself, so
even an archive whose checkpoint was lost takes nothing twice.

(``dropDuplicatesWithinWatermark`` would be quicker, but it *drops* what is late: while a backlog is read, the queues
are hours apart, and everything from the slower ones is older than the watermark.)
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - the name that all of Spark's users know

from engine.pipeline.errors import JobFailed
from engine.pipeline.jobs.archive.deduplication import with_keys, with_kinds
from engine.pipeline.jobs.archive.state import ArchiveState, place_in_archive, topic_and_day
from engine.pipeline.jobs.committed_folder import CommitTaken, CommittedFolder, Stage
from engine.pipeline.jobs.job import persisted
from engine.texts import Text

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

#: Most tries of a batch, which is repeated if another job archived into the same folder meanwhile.
TRIES_MAX = 10

_KEY_SCHEMA = "topic string, business_key string, body_hash bigint, store_timestamp timestamp"


@dataclass(frozen=True, slots=True)
class Archiver:
    """Archive micro-batches; ``foreachBatch`` calls it.

    :ivar query_id: returns the id of the query, the same after each restart from its checkpoint; called in a batch.
    :ivar archived: called with the new state after each batch.
    :ivar key: what identifies a message: ``keys``, ``unique_id`` or ``property:NAME``.
    :ivar dedup_window_ms: a copy is recognised if the first was stored at most this long before it; 0: no limit.
    :ivar max_messages_per_file: a larger batch is divided.
    """

    folder: CommittedFolder
    query_id: Callable[[], str]
    archived: Callable[[ArchiveState], None]
    key: str
    dedup_window_ms: int
    max_messages_per_file: int

    def add_batch(self, batch: DataFrame, batch_id: int) -> None:
        """Archive a micro-batch unless it is archived already."""
        query_id = self.query_id()
        for _ in range(TRIES_MAX):
            base = self.folder.latest()
            state = ArchiveState.from_json(base.state)
            if state.has(query_id, batch_id):
                break
            stage = self._stage(batch, state)
            state = state.after(query_id, batch_id, stage.files)
            with suppress(CommitTaken):
                self.folder.commit(base, stage, state.to_json(), place_in_archive)
                break
        else:
            raise JobFailed(Text("job.error.other_archiver", times=TRIES_MAX))
        self.archived(state)

    def _stage(self, batch: DataFrame, state: ArchiveState) -> Stage:
        # Read from the brokers only once; keys and bodies are both taken from this copy, which may go to disk.
        with persisted(with_keys(batch, self.key)) as messages:
            count, oldest_ms, topics = messages.agg(
                F.count("*"), F.min(F.unix_millis("store_timestamp")), F.collect_set("topic")
            ).collect()[0]
            judged = with_kinds(messages, self._archived_keys(batch, state, topics, oldest_ms))
            files = max(1, -(-count // self.max_messages_per_file))
            return self.folder.stage(judged.coalesce(files), ("kind", "topic", "day"), self.max_messages_per_file)

    def _archived_keys(
        self, batch: DataFrame, state: ArchiveState, topics: list[str], oldest_ms: int | None
    ) -> DataFrame | None:
        """Return the keys that copies in the batch may have: of its topics and of the days within the window."""
        window_ms = self.dedup_window_ms
        since_ms = max(0, oldest_ms - window_ms) if oldest_ms is not None and window_ms else 0
        places = [
            place
            for place, (topic, day) in ((place, topic_and_day(place)) for place in state.days)
            if topic in topics and day >= _day_of(since_ms) and state.days[place].messages
        ]
        if not places:
            return None
        reader = batch.sparkSession.read.schema(_KEY_SCHEMA).option("basePath", self.folder.files.root)
        # Only a merge deletes files, after its commit: their keys are in its file, or this batch's commit is taken.
        reader = reader.option("ignoreMissingFiles", "true")
        keys = reader.parquet(*(self.folder.files.uri(place) for place in places))
        return keys.where(F.unix_millis("store_timestamp") >= since_ms) if since_ms else keys


def _day_of(instant_ms: int) -> str:
    return datetime.fromtimestamp(instant_ms / 1000, UTC).date().isoformat()


def query_id_of(checkpoint_metadata: str) -> str:
    """Return the id that Spark wrote into the file ``metadata`` of a checkpoint."""
    return str(json.loads(checkpoint_metadata.strip())["id"])
