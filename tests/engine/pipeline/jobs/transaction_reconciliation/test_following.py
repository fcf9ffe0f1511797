"""A stream with the ledgers: micro-batch after micro-batch, and over restarts. No broker is involved."""

from __future__ import annotations

import pytest

from engine.pipeline.errors import JobFailed
from engine.pipeline.jobs.job import JobRun
from engine.pipeline.jobs.transaction_reconciliation import job as job_module
from engine.pipeline.jobs.transaction_reconciliation import ledgers as ledgers_module
from engine.pipeline.jobs.transaction_reconciliation import stream_state as stream_state_module
from engine.pipeline.jobs.transaction_reconciliation.facts import FACT_COLUMNS, facts_of, parts_of
from engine.pipeline.jobs.transaction_reconciliation.job import _Following
from engine.pipeline.jobs.transaction_reconciliation.stream_state import StreamState
from engine.pipeline.jobs.transaction_reconciliation.verdicts import OpQueue
from engine.pipeline.jobs.transaction_reconciliation.words import Agreement, Window
from tests.support.live.bank_files import START_MS, make_banks, post
from tests.support.pipeline.memory_report import MemoryReport
from tests.support.pipeline.transaction_log import TransactionLog, messages


class Stream:
    """A following job whose micro-batches are made by hand. Each one holds what was logged since the last."""

    def __init__(self, spark, folder, monkeypatch, **arguments):
        self.log = TransactionLog()
        self._spark, self._folder = spark, folder
        self._arguments = {
            "starting_offsets": "earliest",
            "trigger_ms": 1,
            "keep_settled_ms": 1_000_000,
            "bank_folder": str(folder),
            "topics": "Transfers",
            "opening_sum": None,
            **arguments,
        }
        self._read = 0
        self._last: list[dict[str, object]] = []
        self.now_ms = 0
        monkeypatch.setattr(job_module, "current_ms", lambda: START_MS + self.now_ms)
        self.start()

    def start(self, **arguments):
        """A new process with the same folders."""
        self.report = MemoryReport()
        run = JobRun(self._spark, {**self._arguments, **arguments}, {}, self.report, print)
        self._following = _Following(run)
        self._state = StreamState(self._spark, str(self._folder / "facts"))

    def batch(self, number, *, again=False):
        """Return key -> agreement of the transfers that the batch reports."""
        rows = self.log.rows[self._read :] if not again else self._last
        self._last, self._read = rows, len(self.log.rows)
        facts = facts_of(parts_of(messages(self._spark, rows)))
        self._following._batch(self._state, OpQueue(), ("Transfers",), facts, number)
        return {row[1]: row[0] for row in self.report.tables.get("transfers", ())}

    def idle(self):
        """Do what happens every ``trigger_ms`` apart from micro-batches."""
        self._following._ledgers.report_if_changed()

    def settled(self, identity):
        """Some other transaction."""
        self.log.half(identity)
        self.log.roll_back(identity)


@pytest.fixture
def make_stream(spark, tmp_path, monkeypatch):
    return lambda **arguments: Stream(spark, tmp_path, monkeypatch, **arguments)


def test_from_now_on_means_from_the_first_micro_batch_on_and_a_restart_does_not_change_it(make_stream, tmp_path):
    debits = [("before the first batch", 10, 50), ("after it", 10, 150)]
    make_banks(tmp_path, 80, 0, debits=debits)
    stream = make_stream(starting_offsets="latest")
    # Spark fixes where it begins after the job was made, and before the first micro-batch.
    stream.now_ms, stream.log.now_ms = 100, 200
    stream.settled("seen")
    reported = {"before the first batch": Agreement.UNDECIDED, "after it": Agreement.NO_MESSAGE}
    assert stream.batch(0) == reported
    stream.start()
    stream.now_ms = 300
    stream.settled("seen later")
    assert stream.batch(1) == reported


def test_what_a_stream_has_no_room_for_stays_in_flight_also_after_a_restart(make_stream, tmp_path, monkeypatch):
    monkeypatch.setattr(ledgers_module, "UNCREDITED_MAX", 2)
    make_banks(tmp_path, 60, 0, debits=[(f"t{number}", 10, number) for number in range(4)])
    stream = make_stream()
    stream.log.now_ms = 10
    stream.settled("seen")
    lost, waits = Agreement.NO_MESSAGE, Agreement.UNDECIDED
    assert stream.batch(0) == {"t0": lost, "t1": lost, "t2": waits, "t3": waits}
    post(tmp_path / "ccb.db", "credit", "B", ("t0", 10, 20), ("t1", 10, 20))
    # Now they are among the oldest, but their messages may be forgotten by now.
    stream.settled("seen later")
    assert stream.batch(1) == {"t2": waits, "t3": waits}
    stream.start()
    # Spark repeats what it has not noted as done.
    assert stream.batch(1, again=True) == {"t2": waits, "t3": waits}


def test_the_state_of_another_version_is_refused(make_stream, tmp_path, monkeypatch):
    make_banks(tmp_path, 100, 0)
    stream = make_stream()
    stream.settled("seen")
    stream.batch(0)
    stream.start()
    stream.settled("seen later")
    with monkeypatch.context() as patched:
        patched.setattr(stream_state_module, "FACT_COLUMNS", FACT_COLUMNS[:-1])
        with pytest.raises(JobFailed, match=r"checkpoint_folder: .* another version"):
            stream.batch(1)
    stream.batch(1, again=True)


def test_a_committed_message_without_a_transfer_is_reported_for_good(make_stream, tmp_path):
    make_banks(tmp_path, 100, 0)
    stream = make_stream(keep_settled_ms=1_000)
    stream.log.half("wrong", key="wrong")
    stream.log.commit("wrong")
    stream.settled("other")
    assert stream.batch(0) == {"wrong": Agreement.NO_TRANSFER}
    for number in (1, 2, 3):
        stream.start()
        stream.log.now_ms += 60_000
        stream.settled(f"later {number}")
        assert stream.batch(number) == {"wrong": Agreement.NO_TRANSFER}
    assert stream.report.tables["money"][0][-1] == 1


def test_ledgers_that_were_not_looked_at_for_a_while_are_not_called_lost(make_stream, tmp_path):
    make_banks(tmp_path, 90, 0, debits=[("waits", 10, 5)])
    stream = make_stream(keep_settled_ms=1_000)
    stream.log.half("waits", key="waits")
    stream.log.commit("waits")
    stream.settled("other")
    assert stream.batch(0) == {"waits": Agreement.ON_ITS_WAY}
    stream.start(bank_folder="")
    for number in (1, 2):
        stream.log.now_ms += 60_000
        stream.settled(f"later {number}")
        stream.batch(number)
    stream.start()
    stream.now_ms = 200_000
    stream.settled("last")
    # Its message is forgotten.
    assert stream.batch(3) == {"waits": Agreement.UNDECIDED}


def test_a_credit_is_reported_though_no_message_comes(make_stream, tmp_path):
    make_banks(tmp_path, 90, 0, debits=[("t", 10, 5)])
    stream = make_stream()
    stream.log.half("t", key="t")
    stream.log.commit("t")
    stream.settled("other")
    assert stream.batch(0) == {"t": Agreement.ON_ITS_WAY}
    post(tmp_path / "ccb.db", "credit", "B", ("t", 10, 65))
    stream.idle()
    assert stream.report.tables["transfers"] == []
    assert [row[:2] for row in stream.report.tables["windows"]][1] == [Window.DEBIT_TO_CREDIT, 1]
    assert stream.report.points[-1][3] == 0
    # Debits that are made meanwhile may have messages that were not read yet.
    post(tmp_path / "icbc.db", "transfer", "A", ("new", 10, 200))
    stream.idle()
    assert [row[:2] for row in stream.report.tables["transfers"]] == [[Agreement.UNDECIDED, "new"]]


def test_ledgers_that_stay_as_they_are_are_not_reported_again(make_stream, tmp_path):
    make_banks(tmp_path, 90, 0, debits=[("t", 10, 5)])
    stream = make_stream()
    stream.idle()
    assert stream.report.tables == {}
    stream.settled("other")
    stream.batch(0)
    reported = len(stream.report.points)
    stream.idle()
    assert len(stream.report.points) == reported


def test_a_bank_that_goes_away_while_no_message_comes_is_found_by_the_next_micro_batch(make_stream, tmp_path):
    make_banks(tmp_path, 90, 0, debits=[("t", 10, 5)])
    stream = make_stream()
    stream.settled("other")
    stream.batch(0)
    (tmp_path / "ccb.db").unlink()
    stream.idle()
    stream.idle()
    with pytest.raises(JobFailed, match=r"bank_folder: .*ccb\.db does not exist"):
        stream.batch(1)
