"""Small files become one; a process that dies in the middle neither loses a row nor leaves it there twice."""

from __future__ import annotations

import os
from contextlib import suppress

import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as F  # noqa: N812 - the name that all of Spark's users know

from engine.pipeline.errors import JobFailed
from engine.pipeline.jobs.archive import compaction as compaction_module
from engine.pipeline.jobs.archive.compaction import Compaction, current_files
from engine.pipeline.jobs.archive.deduplication import KEPT
from engine.pipeline.jobs.archive.state import ArchiveState, place_in_archive
from engine.pipeline.jobs.committed_folder import CommittedFolder
from engine.pipeline.jobs.shared_files import SharedFiles

DAY = "2026-11-22"
#: Of the files: two messages each.
NUMBERS = [(0, 1), (2, 3), (4, 5)]
EVERYTHING = [0, 1, 2, 3, 4, 5]


class Killed(Exception):
    """Stands for the end of the process."""


class Archive:
    """An archive of numbers."""

    def __init__(self, spark, folder):
        self.spark, self.path = spark, folder

    def open(self, reached=lambda _point: None):
        return CommittedFolder(self.spark, str(self.path), "tester", reached)

    def compaction(self, files_min=3, max_messages_per_file=1_000, reached=lambda _point: None):
        return Compaction(self.spark, self.open(reached), files_min, max_messages_per_file, reached)

    def add(self, *numbers, topic="%RETRY%g", **more_columns):
        """One micro-batch."""
        folder = self.open()
        base = folder.latest()
        rows = [(number, KEPT, topic, DAY) for number in numbers]
        frame = self.spark.createDataFrame(rows, "number int, kind string, topic string, day string").coalesce(1)
        frame = frame.withColumns({name: F.lit(value) for name, value in more_columns.items()})
        stage = folder.stage(frame, ("kind", "topic", "day"), 1_000)
        state = ArchiveState.from_json(base.state).after("query", base.version, stage.files)
        folder.commit(base, stage, state.to_json(), place_in_archive)

    def plain(self):
        """What a reader sees that knows nothing of commits."""
        return sorted(pq.read_table(self.path)["number"].to_pylist())

    def current(self):
        files = current_files(self.spark, str(self.path))
        rows = self.spark.read.option("basePath", str(self.path)).parquet(*files).select("topic", "number").collect()
        return sorted(number for _topic, number in rows)

    def files(self):
        return sorted(self.path.glob("topic=*/day=*/*.parquet"))


@pytest.fixture
def archive(spark, tmp_path):
    archive = Archive(spark, tmp_path / "archive")
    for numbers in NUMBERS:
        archive.add(*numbers)
    return archive


def test_the_small_files_of_a_topic_and_day_become_one(archive):
    archive.add(7, 8, topic="Orders")
    state = archive.compaction().merge()

    assert archive.plain() == archive.current() == [0, 1, 2, 3, 4, 5, 7, 8]
    merged, other = archive.files()
    assert merged.parent.parent.name == "topic=%25RETRY%25g" and pq.read_metadata(merged).num_rows == 6
    assert sorted(row[2:] for row in state.table()) == sorted(
        [rows, 0, 0, 1, file.stat().st_size] for rows, file in ((6, merged), (2, other))
    )
    assert archive.compaction().merge() is None
    assert archive.compaction(files_min=1).merge() is None, "a file alone stays as it is"
    assert not list((archive.path / "_staging").iterdir())


def test_without_the_option_nothing_is_merged(archive):
    assert archive.compaction(files_min=0).merge() is None
    assert len(archive.files()) == 3


STEPS = ["staged", "committed", "moved a file", "published", "deleted a file"]


@pytest.mark.parametrize("step", STEPS)
def test_a_process_that_dies_at_any_step_loses_nothing_and_leaves_nothing_twice(archive, step):
    def dies_at(point):
        def reach(reached):
            if reached == point:
                raise Killed

        return reach

    with pytest.raises(Killed):
        archive.compaction(reached=dies_at(step)).merge()
    assert set(archive.plain()) == set(EVERYTHING)
    assert archive.current() == EVERYTHING
    # The next start, which itself dies after its first deletion.
    with suppress(Killed):
        archive.compaction(reached=dies_at("deleted a file")).finish()
    assert archive.current() == EVERYTHING
    # A batch of another job, which knows nothing of the merge, keeps what is still to be deleted.
    archive.add(6)
    compaction = archive.compaction(files_min=2)
    compaction.finish()
    assert archive.plain() == archive.current() == [*EVERYTHING, 6]
    compaction.merge()
    assert archive.plain() == archive.current() == [*EVERYTHING, 6]
    assert len(archive.files()) == 1
    assert not list((archive.path / "_staging").iterdir())


def test_a_merge_gives_way_to_a_batch_of_another_job(archive):
    def other_commits(reached):
        if reached == "staged":
            archive.add(6)

    assert archive.compaction(reached=other_commits).merge() is None
    assert archive.plain() == [0, 1, 2, 3, 4, 5, 6]
    assert len(archive.files()) == 4


def test_a_merge_is_bounded_and_large_files_stay(archive):
    archive.add(*range(6, 12))
    (large,) = [path for path in archive.files() if pq.read_metadata(path).num_rows == 6]
    compaction = archive.compaction(files_min=2, max_messages_per_file=5)
    assert compaction.merge() is not None
    assert compaction.merge() is None
    assert sorted(pq.read_metadata(path).num_rows for path in archive.files()) == [2, 4, 6]
    assert large in archive.files()
    assert archive.plain() == list(range(12))


def test_a_merge_deletes_first_what_a_dead_job_has_left(archive):
    def dies(point):
        if point == "published":
            raise Killed

    with pytest.raises(Killed):
        archive.compaction(reached=dies).merge()
    archive.add(6)
    assert archive.compaction(files_min=2).merge() is not None
    assert archive.plain() == archive.current() == [*EVERYTHING, 6]
    assert len(archive.files()) == 1


def test_nothing_is_merged_while_replaced_files_cannot_be_deleted(archive, monkeypatch):
    with monkeypatch.context() as deletes_nothing:
        deletes_nothing.setattr(SharedFiles, "delete", lambda *_arguments: None)
        archive.compaction().merge()
        archive.add(6)
        assert archive.compaction(files_min=2).merge() is None
    assert archive.current() == [*EVERYTHING, 6]
    assert archive.compaction(files_min=2).merge() is not None
    assert archive.plain() == [*EVERYTHING, 6]


@pytest.mark.parametrize(
    ("owner", "method"), [(SharedFiles, "parquet_rows"), (SharedFiles, "size"), (CommittedFolder, "stage")]
)
def test_a_merge_gives_way_to_another_merge_of_its_files(archive, monkeypatch, owner, method):
    original = getattr(owner, method)

    def other_merges_first(self, *arguments):
        monkeypatch.setattr(owner, method, original)
        assert archive.compaction().merge() is not None
        return original(self, *arguments)

    monkeypatch.setattr(owner, method, other_merges_first)
    assert archive.compaction().merge() is None
    assert archive.plain() == EVERYTHING
    assert len(archive.files()) == 1


def test_an_unreadable_file_is_reported(archive):
    archive.files()[0].write_bytes(b"not Parquet")
    with pytest.raises(Exception, match="not a Parquet file"):
        archive.compaction().merge()


def test_rows_are_on_the_disk_before_the_files_that_had_them_are_deleted(archive, monkeypatch):
    events, flushed = [], []
    fsync = os.fsync

    def record(descriptor):
        flushed.append(os.fstat(descriptor).st_ino)
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", record)
    archive.compaction(reached=lambda point: events.append((point, set(flushed)))).merge()
    (merged,) = archive.files()
    flushed_at = dict(reversed(events))
    assert merged.stat().st_ino in flushed_at["committed"]
    assert {merged.parent.stat().st_ino, (archive.path / "_commits").stat().st_ino} <= flushed_at["deleted a file"]


def test_enough_small_files_are_merged_even_if_not_all_fit_into_one(archive):
    assert archive.compaction(files_min=3, max_messages_per_file=5).merge() is not None
    assert sorted(pq.read_metadata(path).num_rows for path in archive.files()) == [2, 4]


@pytest.mark.parametrize(("remembered", "footers_read"), [(1_000, 6), (0, 12)])
def test_a_place_is_listed_again_only_when_it_may_have_enough_small_files(
    archive, monkeypatch, remembered, footers_read
):
    listed, footers = [], []

    def noting(method, noted):
        def noted_method(files, path, *more):
            noted.append(path)
            return method(files, path, *more)

        return noted_method

    monkeypatch.setattr(SharedFiles, "files_below", noting(SharedFiles.files_below, listed))
    monkeypatch.setattr(SharedFiles, "parquet_rows", noting(SharedFiles.parquet_rows, footers))
    monkeypatch.setattr(compaction_module, "ROWS_REMEMBERED_MAX", remembered)
    compaction = archive.compaction(files_min=3, max_messages_per_file=3)
    for number in (6, 7, 8):
        assert compaction.merge() is None
        archive.add(number)
    assert len([place for place in listed if place.startswith("topic=")]) == 1
    assert compaction.merge() is not None
    assert len([name for name in footers if name.startswith("topic=")]) == footers_read
    assert sorted(pq.read_metadata(path).num_rows for path in archive.files()) == [2, 2, 2, 3]


def test_columns_that_only_some_files_have_are_kept(archive):
    archive.add(6, trace="t")
    archive.compaction().merge()
    (merged,) = archive.files()
    assert pq.ParquetFile(merged).read().column_names == ["number", "trace"]


def test_a_merge_that_would_lose_rows_deletes_nothing(archive, monkeypatch):
    stage = CommittedFolder.stage
    monkeypatch.setattr(
        CommittedFolder, "stage", lambda self, frame, *arguments: stage(self, frame.limit(5), *arguments)
    )
    with pytest.raises(JobFailed, match="has 5 messages, but the files that it would replace have 6"):
        archive.compaction().merge()
    assert archive.plain() == EVERYTHING
    assert len(archive.files()) == 3
    assert not list((archive.path / "_staging").iterdir())
