"""The folder of messages that were moved aside: Parquet by topic and day, and a state that records what was sent
again.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

from engine.pipeline.jobs.backlog_relief.relief_state import ReliefState
from engine.pipeline.jobs.committed_folder import Commit, CommittedFolder, Stage
from engine.pipeline.source.decoding.schema import spark_schema

#: Subfolders of it, one per sending, hold the messages that no broker accepts.
NOT_SENT = "_not_sent"


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
