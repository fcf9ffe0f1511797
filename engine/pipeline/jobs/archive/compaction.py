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
from functools import lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - the name that all of Spark's users know

from engine.pipeline.errors import JobFailed
from engine.pipeline.jobs.archive.deduplication import KEPT
from engine.pipeline.jobs.archive.state import ArchiveState, place_in_archive, topic_and_day
from engine.pipeline.jobs.committed_folder import CommitTaken, CommittedFolder, Stage
from engine.texts import Text

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: Most files of one merge.
MERGED_FILES_MAX = 500
#: Most files whose number of rows is remembered.
ROWS_REMEMBERED_MAX = 100_000


def current_files(spark: SparkSession, folder: str) -> list[str]:
    """Return the URIs of the files that hold each archived message once, also in the middle of a merge.

    Completes the newest commit if its writer died; changes nothing else.
    """
    archive = CommittedFolder(spark, folder, "reader")
    while True:
        commit = archive.latest()
        state = ArchiveState.from_json(commit.state)
        names = [name for place in state.days for name in archive.files.files_below(place, ".parquet")]
        if archive.latest().version == commit.version:
            return [archive.files.uri(name) for name in names if name not in state.replaced]


@dataclass(slots=True)
class Compaction:
    """Merge files of an archive.

    :ivar files_min: merge only if there are at least this many small files of a topic and day; 0 = never.
    :ivar max_messages_per_file: a file with more than half of it is not small.
    :ivar reached: called after each deletion; tests crash there.
    """

    spark: SparkSession
    folder: CommittedFolder
    files_min: int
    max_messages_per_file: int
    reached: Callable[[str], None] = lambda _point: None
    #: Returns the rows of a file; files never change.
    _rows: Callable[[str], int] = field(init=False)
    #: Place -> the number of files below which it has too few small ones.
    _files_needed: dict[str, int] = field(init=False, default_factory=dict)
    #: What this object has deleted last.
    _deleted: tuple[str, ...] = field(init=False, default=())

    def __post_init__(self) -> None:
        """Begin to remember."""
        self._rows = lru_cache(ROWS_REMEMBERED_MAX)(self.folder.files.parquet_rows)

    def finish(self) -> None:
        """Delete the files that the last merge replaced, as far as they still exist."""
        self._delete(ArchiveState.from_json(self.folder.latest().state).replaced)

    def merge(self) -> ArchiveState | None:
        """Merge files of one topic and day. Return the new state, or None if nothing was merged."""
        if not self.files_min:
            return None
        base = self.folder.latest()
        state = ArchiveState.from_json(base.state)
        # The commit of the next merge forgets them.
        if not self._delete(state.replaced):
            return None
        try:
            merged = self._stage(state)
        except Exception:
            # Files are gone because another job has merged them.
            if self.folder.latest().version != base.version:
                return None
            raise
        if merged is None:
            return None
        stage, state = merged
        with suppress(CommitTaken):
            self.folder.commit(base, stage, state.to_json(), place_in_archive)
            self._delete(state.replaced)
            return state
        return None

    def _delete(self, replaced: tuple[str, ...]) -> bool:
        """Delete replaced files. Return whether none is left."""
        if replaced and replaced != self._deleted:
            place = replaced[0].rpartition("/")[0]
            if names := self._existing(place, replaced):
                # A power failure must not undo the move of the file that has their rows.
                self.folder.files.flush(place)
                for name in names:
                    self.folder.files.delete(name)
                    self.reached("deleted a file")
                if self._existing(place, replaced):
                    return False
            self._deleted = replaced
        return True

    def _existing(self, place: str, names: tuple[str, ...]) -> list[str]:
        return sorted(set(names).intersection(self.folder.files.files_below(place, ".parquet")))

    def _stage(self, state: ArchiveState) -> tuple[Stage, ArchiveState] | None:
        """Stage the file of the next merge. Return it with the state after the merge; None: nothing to merge."""
        for place in sorted(state.days, key=lambda place: state.days[place].files, reverse=True):
            files = state.days[place].files
            if files < self.files_min:
                break
            if files >= self._files_needed.get(place, 0) and (names := self._small_files(place, files)):
                replaced = {name: self.folder.files.size(name) for name in names}
                stage = self._stage_merged(place, names)
                return stage, state.after_merge(place, replaced, stage.files)
        return None

    def _small_files(self, place: str, files: int) -> list[str]:
        """Return the smallest files that fit into one; none if there are too few small ones."""
        rows = {name: self._rows(name) for name in self.folder.files.files_below(place, ".parquet")}
        small = sorted((name for name in rows if rows[name] <= self.max_messages_per_file // 2), key=rows.__getitem__)
        missing = max(2, self.files_min) - len(small)
        if missing > 0:
            self._files_needed[place] = files + missing
            return []
        sums = accumulate(rows[name] for name in small[:MERGED_FILES_MAX])
        return [name for name, total in zip(small, sums, strict=False) if total <= self.max_messages_per_file]

    def _stage_merged(self, place: str, names: list[str]) -> Stage:
        topic, day = topic_and_day(place)
        # Files of several versions differ in their columns.
        reader = self.spark.read.option("mergeSchema", "true")
        frame = reader.parquet(*map(self.folder.files.uri, names)).coalesce(1)
        frame = frame.withColumns({"kind": F.lit(KEPT), "topic": F.lit(topic), "day": F.lit(day)})
        stage = self.folder.stage(frame, ("kind", "topic", "day"), self.max_messages_per_file)
        rows, merged = sum(map(self._rows, names)), sum(file.rows for file in stage.files)
        if merged != rows:
            self.folder.files.delete(stage.folder)
            raise JobFailed(Text("job.error.merged_rows", place=place, rows=rows, merged=merged))
        for file in stage.files:
            self.folder.files.flush(file.name)
        return stage
