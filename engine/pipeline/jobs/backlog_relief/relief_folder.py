"""The folder of what was moved aside: Parquet by topic and day, and a state that knows what was sent again."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from engine.pipeline.jobs.backlog_relief.relief_state import ReliefState
from engine.pipeline.jobs.committed_folder import Commit, CommittedFolder, Stage
from engine.pipeline.source.decoding.schema import spark_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


#: Below it, one folder per sending: the messages of it that no broker takes.
NOT_SENT = "_not_sent"


class ReliefFolder:
    """:param rule: what matters less, as text.
    :ivar files: the folder with its commits.
    """

    def __init__(
        self,
        spark: SparkSession,
        folder: str,
        group: str,
        rule: str,
        writer: str,
        reached: Callable[[str], None] = lambda _point: None,
    ) -> None:
        self._spark = spark
        self.files = CommittedFolder(spark, folder, writer, reached)
        self.group = group
        self._rule = rule

    def latest(self) -> tuple[Commit, ReliefState]:
        """The newest commit, and its state."""
        commit = self.files.latest()
        if not commit.version:
            return commit, ReliefState(uuid.uuid4().hex, self.group, self._rule)
        return commit, ReliefState.from_json(commit.state, self.files.files.root, self.group, self._rule)

    def commit(self, base: Commit, stage: Stage | None, state: ReliefState) -> Commit:
        """See :meth:`CommittedFolder.commit`."""
        return self.files.commit(base, stage, state.to_json())

    def read(self, names: Sequence[str], below: str = "") -> DataFrame:
        """The messages in some of its files."""
        files = self.files.files
        reader = self._spark.read.schema(spark_schema()).option("basePath", files.uri(below) if below else files.root)
        return reader.parquet(*(files.uri(name) for name in names))

    def keep_not_sent(self, rows: DataFrame, sending: int) -> int:
        """Write down which messages of a sending no broker takes; how many. Done again it does the same."""
        folder = self.files.files.uri(f"{NOT_SENT}/{sending:08d}")
        rows.write.mode("overwrite").parquet(folder)
        return self._spark.read.schema(rows.schema).parquet(folder).count()

    def not_sent(self) -> DataFrame:
        """All that was kept so; there is some."""
        return self._spark.read.parquet(self.files.files.uri(f"{NOT_SENT}/*"))
