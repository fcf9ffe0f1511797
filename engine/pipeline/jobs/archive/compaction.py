"""Compaction: merges small files of a topic and day, of which every micro-batch makes at least one.

A merge is a commit: the files are read and staged as one; the commit names the new file and, in its state, the files
that it replaces; the new file is moved to its place; the replaced ones are deleted. A crash before the commit changes
nothing; after it, the next start moves and deletes the rest. Between the move and the deletions a reader of the folder
sees rows twice; :func:`current_files` leaves out what is replaced.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - the name that all of Spark's users know

from engine.pipeline.jobs.archive.deduplication import KEPT
from engine.pipeline.jobs.archive.state import ArchiveState, place_in_archive, topic_and_day
from engine.pipeline.jobs.committed_folder import Commit, CommitTaken, CommittedFolder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: Most files of one merge.
MERGED_FILES_MAX = 500


def current_files(folder: CommittedFolder) -> list[str]:
    """Return the files that hold each archived message once, also in the middle of a merge."""
    while True:
        commit = folder.latest()
        state = ArchiveState.from_json(commit.state)
        names = [name for place in state.days for name in folder.files.files_below(place, ".parquet")]
        if folder.latest().version == commit.version:
            return [name for name in names if name not in state.replaced]


@dataclass(frozen=True, slots=True)
class Compaction:
    """Merge files of an archive.

    :ivar files_min: fewer small files of a topic and day are not merged; 0: none are.
    :ivar max_messages_per_file: a file with more than half of it is not small.
    :ivar reached: called after each deletion; tests crash there.
    """

    spark: SparkSession
    folder: CommittedFolder
    files_min: int
    max_messages_per_file: int
    reached: Callable[[str], None] = lambda _point: None
    #: File -> its rows; files never change.
    _rows: dict[str, int] = field(default_factory=dict)

    def finish(self) -> None:
        """Delete the files that the last merge replaced, as far as they still exist."""
        for name in ArchiveState.from_json(self.folder.latest().state).replaced:
            if self.folder.files.exists(name):
                self.folder.files.delete(name)
                self.reached("deleted a file")

    def merge(self) -> ArchiveState | None:
        """Merge files of one topic and day. Return the new state, or None if nothing was merged."""
        if not self.files_min:
            return None
        base = self.folder.latest()
        days = ArchiveState.from_json(base.state).days
        for place in sorted(days, key=lambda place: days[place].files, reverse=True):
            if days[place].files < self.files_min:
                break
            if names := self._small_files(place):
                # Before the commit forgets them.
                self.finish()
                return self._merge(base, place, names)
        return None

    def _small_files(self, place: str) -> list[str]:
        """Return the smallest files that fit into one; none if these are too few."""
        names = self.folder.files.files_below(place, ".parquet")
        for name in names:
            if name not in self._rows:
                self._rows[name] = self.folder.files.parquet_rows(name)
        small: list[str] = []
        rows = 0
        for name in sorted(names, key=self._rows.__getitem__)[:MERGED_FILES_MAX]:
            rows += self._rows[name]
            if rows > self.max_messages_per_file or self._rows[name] > self.max_messages_per_file // 2:
                break
            small.append(name)
        return small if len(small) >= max(2, self.files_min) else []

    def _merge(self, base: Commit, place: str, names: list[str]) -> ArchiveState | None:
        topic, day = topic_and_day(place)
        frame = self.spark.read.parquet(*map(self.folder.files.uri, names)).coalesce(1)
        frame = frame.withColumns({"kind": F.lit(KEPT), "topic": F.lit(topic), "day": F.lit(day)})
        stage = self.folder.stage(frame, ("kind", "topic", "day"), self.max_messages_per_file)
        replaced = {name: self.folder.files.size(name) for name in names}
        state = ArchiveState.from_json(base.state).after_merge(place, replaced, stage.files)
        with suppress(CommitTaken):
            self.folder.commit(base, stage, state.to_json(), place_in_archive)
            self.finish()
            return state
        return None
