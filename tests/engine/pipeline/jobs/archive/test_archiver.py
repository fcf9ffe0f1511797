"""The archive takes every business key once, wherever it died. A folder of Parquet files stands for the topic."""

from __future__ import annotations

import json
from datetime import timedelta

import pyarrow.parquet as pq
import pytest
from pyspark.errors import StreamingQueryException

from engine.pipeline.errors import JobFailed, WrongArgument
from engine.pipeline.jobs.archive.archiver import Archiver, query_id_of
from engine.pipeline.jobs.archive.compaction import Compaction
from engine.pipeline.jobs.archive.deduplication import check_key_rule
from engine.pipeline.jobs.archive.state import ArchiveState
from engine.pipeline.jobs.committed_folder import CommitTaken, CommittedFolder
from engine.pipeline.source.decoding.schema import spark_schema
from tests.support.pipeline.pipeline_messages import NOON, store_as_parquet, stored


class Killed(Exception):
    """Stands for the end of the process."""


class Archive:
    """An archive and the folder that stands for its topic."""

    def __init__(self, spark, folder):
        self.spark = spark
        self.source = folder / "topic"
        self.folder = folder / "archive"
        self.checkpoint = folder / "checkpoint"
        self.states = []

    def store(self, name, *messages):
        store_as_parquet(self.source, name, messages)

    def run(self, dies=None, key="keys", dedup_window_ms=0, max_messages_per_file=500_000):
        """Archive all that is there; ``dies(point)`` says whether the process ends at a point."""

        def reached(point):
            if dies and dies(point):
                raise Killed(point)

        folder = CommittedFolder(self.spark, str(self.folder), "tester", reached)
        archiver = Archiver(folder, self.query_id, self.states.append, key, dedup_window_ms, max_messages_per_file)

        def add_batch(batch, batch_id):
            archiver.add_batch(batch, batch_id)
            reached("returned to Spark")

        stream = self.spark.readStream.schema(spark_schema()).option("maxFilesPerTrigger", 1).parquet(str(self.source))
        writer = stream.writeStream.foreachBatch(add_batch).option("checkpointLocation", str(self.checkpoint))
        query = writer.trigger(availableNow=True).start()
        query.awaitTermination()

    def query_id(self):
        return query_id_of((self.checkpoint / "metadata").read_text())

    def dies(self, point):
        """The process ends where ``point`` is reached for the first time."""
        with pytest.raises((Killed, StreamingQueryException), match=point):
            self.run(lambda reached: reached == point)

    def rows(self):
        """What a reader of the folder gets who knows nothing of commits."""
        return pq.read_table(self.folder).to_pylist() if any(self.folder.glob("topic=*")) else []

    def keys(self):
        return sorted(key for row in self.rows() for key in row["keys"])

    @property
    def state(self):
        return self.states[-1]


@pytest.fixture
def archive(spark, tmp_path):
    return Archive(spark, tmp_path)


def test_a_message_is_stored_by_topic_and_day_with_all_its_columns(archive):
    archive.store(
        "1",
        stored(1, topic="%RETRY%g", keys=["k"], tags="paid", properties={"a": "b"}),
        stored(2, at=NOON - timedelta(hours=13)),
    )
    archive.run()

    assert sorted(path.relative_to(archive.folder).as_posix() for path in archive.folder.glob("topic=*/*")) == [
        "topic=%25RETRY%25g/day=2026-11-22",
        "topic=Orders/day=2026-11-21",
    ]
    row = next(row for row in archive.rows() if row["keys"])
    assert row["body"] == b"body 1" and row["tags"] == "paid" and dict(row["properties"]) == {"a": "b"}
    assert archive.state.table() == [
        ["%RETRY%g", "2026-11-22", 1, 0, 0, 1, archive.state.table()[0][6]],
        ["Orders", "2026-11-21", 1, 0, 0, 1, archive.state.table()[1][6]],
    ]


def test_of_one_key_the_message_that_was_stored_first_stays(archive):
    archive.store(
        "1",
        stored(3, keys=["a"], body=b"same"),
        stored(2, keys=["a"], body=b"same", queue_id=1),
        stored(4, keys=["b"]),
        stored(5, keys=["a"], topic="Refunds"),
    )
    archive.store(
        "2", stored(6, keys=["a"], body=b"same"), stored(7, keys=["b"], body=b"another"), stored(8, keys=["c"])
    )
    archive.run()

    kept = {(row["topic"], row["keys"][0]): row["queue_offset"] for row in archive.rows()}
    assert kept == {("Orders", "a"): 2, ("Orders", "b"): 4, ("Orders", "c"): 8, ("Refunds", "a"): 5}
    assert (archive.state.total("copies"), archive.state.total("changed")) == (2, 1)
    changed = pq.read_table(archive.folder / "_copies" / "kind=changed").to_pylist()
    assert [row["body"] for row in changed] == [b"another"], "what was left out is not lost"


def test_a_message_without_key_goes_by_its_unique_id_and_else_is_unlike_all_others(archive):
    archive.store(
        "1",
        stored(1, unique_id="u", body=b"x"),
        stored(2, unique_id="u", body=b"x"),
        stored(3, body=b"y"),
        stored(4, body=b"y"),
        stored(5, unique_id="k", keys=["k"]),
        stored(6, unique_id="k"),
    )
    archive.run()

    assert sorted(row["queue_offset"] for row in archive.rows()) == [1, 3, 4, 5, 6]


def test_a_property_can_be_the_key(archive):
    of_order = [stored(n, properties={"order": str(n % 2)}, keys=[str(n)]) for n in range(4)]
    archive.store("1", *of_order, stored(5, keys=["0"]))
    archive.run(key="property:order")

    assert sorted(row["queue_offset"] for row in archive.rows()) == [0, 1, 5]


def test_a_key_comes_again_when_its_window_is_over(archive):
    archive.store("1", stored(1, keys=["a"]))
    archive.store("2", stored(2, keys=["a"], at=NOON + timedelta(minutes=59)))
    archive.store("3", stored(3, keys=["a"], at=NOON + timedelta(hours=49)))
    archive.run(dedup_window_ms=3_600_000)

    assert sorted(row["queue_offset"] for row in archive.rows()) == [1, 3]


def test_a_large_batch_becomes_several_files(archive):
    archive.store("1", *(stored(n, keys=[str(n)]) for n in range(10)))
    archive.run(max_messages_per_file=4)

    files = list(archive.folder.glob("topic=*/day=*/*.parquet"))
    assert len(archive.rows()) == 10 and len(files) >= 3
    assert all(pq.read_metadata(file).num_rows <= 4 for file in files)
    assert archive.state.table()[0][5:] == [len(files), sum(file.stat().st_size for file in files)]


#: Where the process dies, life after life. The first batch is committed in the second life, and its files are put in
#: their places by the later ones; the second batch dies elsewhere.
DEATHS = [
    "staged",
    "committed",
    "moved a file",
    "moved a file",
    "returned to Spark",
    "staged",
    "published",
    "returned to Spark",
]


def test_a_process_that_dies_anywhere_loses_nothing_and_stores_nothing_twice(archive):
    archive.store("1", *(stored(n, keys=[f"k{n % 6}"], topic=f"T{n % 3}") for n in range(9)))
    archive.store("2", *(stored(20 + n, keys=[f"k{n}"], topic=f"T{n % 3}") for n in range(9)))
    seen = []
    for point in DEATHS:
        archive.dies(point)
        # Whatever a plain reader sees at this moment is whole, and stays.
        keys = [(row["topic"], row["keys"][0]) for row in archive.rows()]
        assert len(keys) == len(set(keys)) and set(seen) <= set(keys)
        seen = keys
    archive.run()

    expected = sorted({f"T{n % 3} k{n % 6}" for n in range(9)} | {f"T{n % 3} k{n}" for n in range(9)})
    assert sorted(f"{row['topic']} {row['keys'][0]}" for row in archive.rows()) == expected
    assert archive.state.total("messages") == len(expected)
    assert archive.state.total("messages") + archive.state.total("copies") + archive.state.total("changed") == 18
    assert not list((archive.folder / "_staging").iterdir()), "leftovers are removed"


def test_a_lost_checkpoint_makes_no_copies(archive, tmp_path):
    archive.store("1", *(stored(n, keys=[str(n)]) for n in range(5)), stored(9), stored(10, unique_id="u"))
    archive.run()
    archive.checkpoint = tmp_path / "another"
    archive.run()

    assert len(archive.rows()) == 7
    assert archive.state.total("copies") == 7


def test_two_jobs_in_one_folder_do_not_store_a_key_twice(archive, spark):
    """The other one commits while this one has staged the same messages."""
    archive.store("1", *(stored(n, keys=[str(n)]) for n in range(5)))
    others = []

    def other_commits_first(point):
        if point == "staged" and not others:
            others.append(Archive(spark, archive.source.parent))
            others[0].checkpoint = archive.source.parent / "of-the-other"
            others[0].run()
        return False

    archive.run(other_commits_first)

    assert archive.keys() == ["0", "1", "2", "3", "4"]
    assert archive.state.total("copies") == 5


def test_a_merge_of_another_job_while_a_batch_reads_keys_does_no_harm(archive, spark, monkeypatch):
    for number in (1, 2):
        archive.store(str(number), stored(number, keys=[str(number)]))
    archive.run()
    archive.store("3", stored(3, keys=["1"]), stored(4, keys=["4"]))
    stage = CommittedFolder.stage

    def merged_first(folder, *arguments):
        monkeypatch.setattr(CommittedFolder, "stage", stage)
        other = CommittedFolder(spark, str(archive.folder), "other")
        assert Compaction(spark, other, 2, 500_000).merge() is not None
        return stage(folder, *arguments)

    monkeypatch.setattr(CommittedFolder, "stage", merged_first)
    archive.run()

    assert archive.keys() == ["1", "2", "4"]
    assert archive.state.total("changed") == 1


def test_a_folder_whose_staged_file_was_taken_away_says_so(archive):
    archive.store("1", stored(1, keys=["a"]))
    archive.dies("committed")
    for staged in (archive.folder / "_staging").rglob("*.parquet"):
        staged.unlink()

    with pytest.raises(JobFailed, match=r"is damaged: .* of commit 1 is missing"):
        archive.run()


def test_old_commits_are_removed_and_the_newest_knows_all(spark, tmp_path, monkeypatch):
    monkeypatch.setattr("engine.pipeline.jobs.committed_folder.COMMITS_KEPT", 2)
    folder = CommittedFolder(spark, str(tmp_path / "a"), "tester")
    commit = folder.latest()
    for number in range(5):
        commit = folder.commit(commit, None, {"number": number})

    assert sorted(path.name for path in (tmp_path / "a" / "_commits").glob("0*")) == [
        f"0000000{n}.json" for n in (4, 5)
    ]
    assert json.loads((tmp_path / "a" / "_commits" / "00000005.json").read_text())["state"] == {"number": 4}


@pytest.mark.parametrize("before", [0, 1])
def test_a_writer_that_slept_until_its_turn_was_forgotten_changes_nothing(spark, tmp_path, monkeypatch, before):
    monkeypatch.setattr("engine.pipeline.jobs.committed_folder.COMMITS_KEPT", 2)
    folder = CommittedFolder(spark, str(tmp_path / "a"), "awake")
    commit = folder.latest()
    for number in range(before):
        commit = folder.commit(commit, None, {"number": number})
    asleep = CommittedFolder(spark, str(tmp_path / "a"), "asleep").latest()
    for number in range(3):
        commit = folder.commit(commit, None, {"number": number})
    with pytest.raises(CommitTaken):
        folder.commit(asleep, None, {"number": -1})
    assert folder.latest() == commit
    assert not (tmp_path / "a" / "_commits" / f"0000000{before + 1}.json").exists()


def test_state_survives_its_json(spark, archive):
    archive.store("1", stored(1, keys=["a"]))
    archive.run()
    assert ArchiveState.from_json(json.loads(json.dumps(archive.state.to_json()))) == archive.state


@pytest.mark.parametrize("rule", ["key", "property:", "", "Keys"])
def test_a_wrong_key_rule_is_refused(rule):
    with pytest.raises(WrongArgument, match="keys, unique_id and property:NAME"):
        check_key_rule(rule)
