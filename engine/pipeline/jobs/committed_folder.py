"""A folder of Parquet files that grows by commits: a batch is added completely or not at all, and only once.

::

    FOLDER/topic=Orders/day=2026-11-22/part-00000012-0.parquet   what everybody reads: plain Parquet
    FOLDER/_commits/00000012.json                                what commit 12 added, and the state after it
    FOLDER/_staging/...                                          what is not committed yet

A commit has three steps: write the files into ``_staging``; create ``_commits/N.json``, which names them and holds the
new state; rename the files to their final places. The second step decides. A crash before it leaves files that no
reader sees; after it, the next reader completes the commit, since the commit says where each file belongs. No file is
ever seen half-written or seen twice. A job may delete files whose rows are in a later one, as the archive's compaction
does.

``N`` is one more than the commit on which the work was based, and its file can be created only once. If two jobs work
on one folder, one of them finds the name taken; it must read the new state and repeat its batch.

Names that begin with ``_`` are hidden from Spark's and Arrow's readers.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from operator import attrgetter
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from engine.pipeline.errors import JobFailed
from engine.pipeline.jobs.shared_files import SharedFiles
from engine.texts import Text

_COMMITS = "_commits"
_STAGING = "_staging"
#: Older commits are removed: the newest holds the whole state. Some are kept for inspection.
COMMITS_KEPT = 100
_OWN_PLACE = attrgetter("place")


class CommitTaken(Exception):
    """Another job has committed meanwhile: what was staged is based on an old state."""


@dataclass(frozen=True, slots=True)
class StagedFile:
    """A file that was written but is not yet part of the folder.

    :ivar name: relative to the folder.
    :ivar place: the path of its partitions, such as ``topic=Orders/day=2026-11-22``.
    """

    name: str
    place: str
    rows: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Stage:
    """The files of one batch before its commit."""

    folder: str
    files: tuple[StagedFile, ...]


@dataclass(frozen=True, slots=True)
class Commit:
    """State of the folder after one commit.

    :ivar version: 0 is the empty folder.
    :ivar moves: staged name -> final name of each file that this commit added.
    :ivar state: the job's own state as JSON.
    """

    version: int = 0
    staging: str = ""
    moves: Mapping[str, str] = field(default_factory=dict)
    state: Mapping[str, Any] = field(default_factory=dict)


class CommittedFolder:
    """One writer's view of the folder.

    :ivar files: all files below it.
    """

    def __init__(
        self, spark: SparkSession, folder: str, writer: str, reached: Callable[[str], None] = lambda _point: None
    ) -> None:
        """Open a folder.

        :param writer: a name that no other writer uses; what an earlier process of it staged is removed.
        :param reached: called with the name of each step when it is done; tests crash there.
        """
        self.files = SharedFiles(spark, folder)
        self._writer = writer
        self._reached = reached
        self._remove_leftovers()

    def latest(self) -> Commit:
        """Return the newest commit. Completes it if its writer died or has not completed it yet."""
        names = self._commit_names()
        if not names:
            return Commit()
        commit = Commit(**json.loads(self.files.read(f"{_COMMITS}/{names[-1]}")))
        self._publish(commit)
        return commit

    def stage(self, frame: DataFrame, partition_columns: tuple[str, ...], max_rows_per_file: int) -> Stage:
        """Write a batch into a staging folder, as one Spark job."""
        folder = f"{_STAGING}/{self._writer}-{uuid.uuid4().hex}"
        writer = frame.write.option("maxRecordsPerFile", max_rows_per_file).partitionBy(*partition_columns)
        writer.parquet(self.files.uri(folder))
        self._reached("staged")
        files = [self._staged_file(folder, name) for name in self.files.files_below(folder, ".parquet")]
        return Stage(folder, tuple(files))

    def commit(
        self,
        base: Commit,
        stage: Stage | None,
        state: Mapping[str, Any],
        place_of: Callable[[StagedFile], str] = _OWN_PLACE,
    ) -> Commit:
        """Add the staged files and the new state, and move the files to their places.

        Raises :class:`CommitTaken` if ``base`` is no longer the newest commit; nothing was changed then.
        """
        version = base.version + 1
        name = f"{_COMMITS}/{version:08d}.json"
        moves = final_names(base, stage, place_of) if stage else {}
        commit = Commit(version, stage.folder if stage else "", moves, state)
        made = self.files.write_new(name, json.dumps(asdict(commit), ensure_ascii=False))
        # If the writer was very slow, the name may be free again because its commit has been removed.
        if made and self._commit_names()[-1] >= f"{version + COMMITS_KEPT:08d}.json":
            self.files.delete(name)
            made = False
        if not made:
            if stage:
                self.files.delete(stage.folder)
            raise CommitTaken(f"somebody else made commit {version} of {self.files.root}")
        self._reached("committed")
        self._publish(commit)
        self._reached("published")
        for old in self._commit_names()[:-COMMITS_KEPT]:
            self.files.delete(f"{_COMMITS}/{old}")
        return commit

    def _commit_names(self) -> list[str]:
        return [name for name in self.files.names(_COMMITS) if not name.startswith(".")]

    def _publish(self, commit: Commit) -> None:
        if not commit.staging or not self.files.exists(commit.staging):
            return
        for staged, name in commit.moves.items():
            if not self.files.exists(name) and not self.files.move(staged, name) and not self.files.exists(name):
                raise JobFailed(
                    Text("job.error.damaged_folder", folder=self.files.root, staged=staged, version=commit.version)
                )
            self._reached("moved a file")
        self.files.delete(commit.staging)

    def _remove_leftovers(self) -> None:
        kept = self.latest().staging
        for name in self.files.names(_STAGING):
            if name.startswith(f"{self._writer}-") and f"{_STAGING}/{name}" != kept:
                self.files.delete(f"{_STAGING}/{name}")

    def _staged_file(self, folder: str, name: str) -> StagedFile:
        place = name[len(folder) + 1 :].rpartition("/")[0]
        return StagedFile(name, place, self.files.parquet_rows(name), self.files.size(name))


def final_names(base: Commit, stage: Stage, place_of: Callable[[StagedFile], str] = _OWN_PLACE) -> dict[str, str]:
    """Return staged name -> final name of each file if the stage is committed on top of ``base``."""
    return {
        file.name: f"{place_of(file)}/part-{base.version + 1:08d}-{number}.parquet"
        for number, file in enumerate(stage.files)
    }
