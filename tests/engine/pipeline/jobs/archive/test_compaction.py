"""Small files become one; a process that dies in the middle neither loses a row nor leaves it there twice."""

from __future__ import annotations

from contextlib import suppress

import pyarrow.parquet as pq
import pytest

from engine.pipeline.jobs.archive.compaction import Compaction, current_files
from engine.pipeline.jobs.archive.deduplication import KEPT
from engine.pipeline.jobs.archive.state import ArchiveState, place_in_archive
from engine.pipeline.jobs.committed_folder import CommittedFolder

DAY = "2026-11-22"
#: Of the files: two messages each.
NUMBERS = [(0, 1), (2, 3), (4, 5)]


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

    def add(self, *numbers, topic="%RETRY%g"):
        """One micro-batch."""
        folder = self.open()
        base = folder.latest()
        rows = [(number, KEPT, topic, DAY) for number in numbers]
        frame = self.spark.createDataFrame(rows, "number int, kind string, topic string, day string").coalesce(1)
        stage = folder.stage(frame, ("kind", "topic", "day"), 1_000)
        state = ArchiveState.from_json(base.state).after("query", base.version, stage.files)
        folder.commit(base, stage, state.to_json(), place_in_archive)

    def plain(self):
        """What a reader sees that knows nothing of commits."""
        return sorted(pq.read_table(self.path)["number"].to_pylist())

    def current(self):
        names = current_files(self.open())
        return sorted(n for name in names for n in pq.ParquetFile(self.path / name).read()["number"].to_pylist())

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
    everything = [0, 1, 2, 3, 4, 5]
    assert set(archive.plain()) == set(everything)
    assert archive.current() == everything
    # The next start, which itself dies after its first deletion.
    with suppress(Killed):
        archive.compaction(reached=dies_at("deleted a file")).finish()
    assert archive.current() == everything
    # A batch of another job, which knows nothing of the merge, keeps what is still to be deleted.
    archive.add(6)
    compaction = archive.compaction(files_min=2)
    compaction.finish()
    assert archive.plain() == archive.current() == [*everything, 6]
    compaction.merge()
    assert archive.plain() == archive.current() == [*everything, 6]
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
