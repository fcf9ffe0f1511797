"""The thread that tells of ledgers while no message comes."""

from __future__ import annotations

import sqlite3
import threading

import pytest

from engine.pipeline.jobs.transaction_reconciliation import ledger_watch
from engine.pipeline.jobs.transaction_reconciliation.ledger_watch import LedgerWatch
from tests.support.live.bank_files import make_banks, post

PATIENCE_S = 30


def test_what_a_bank_commits_is_reported_again_by_itself_until_the_end(tmp_path):
    make_banks(tmp_path, 90, 0, debits=[("t", 10, 5)])
    reported, has_reported = [], threading.Event()
    with LedgerWatch(tmp_path, every_ms=1) as watch:
        with watch.look() as ledgers:
            ledgers.add_messages(zip(["t"], ["committed"], strict=True))

            def report():
                ledgers.compare()
                reported.append(ledgers.money().in_flight)
                has_reported.set()

            watch.report_again_by(report)
            # Nobody comes between while a micro-batch is at work, although this changes the files.
            post(tmp_path / "icbc.db", "transfer", "A", ("u", 5, 6))
            report()
            has_reported.clear()
        assert has_reported.wait(PATIENCE_S)
        has_reported.clear()
        post(tmp_path / "ccb.db", "credit", "B", ("t", 10, 65))
        assert has_reported.wait(PATIENCE_S)
    assert reported[0] == 10
    assert reported[-1] == 0
    watch._thread.join(PATIENCE_S)
    assert not watch._thread.is_alive()


def test_without_a_bank_nothing_is_watched():
    with LedgerWatch(None, every_ms=1) as watch, watch.look() as ledgers:
        assert ledgers is None
        assert not watch._thread.is_alive()


def is_open(ledgers):
    try:
        ledgers.add_messages([("t", "committed")])
    except sqlite3.ProgrammingError:
        return False
    return True


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_after_a_micro_batch_that_failed_nothing_is_reported_again(tmp_path, error):
    make_banks(tmp_path, 90, 0, debits=[("t", 10, 5)])
    reports = []
    watch = LedgerWatch(tmp_path, every_ms=1)
    look = watch.look()
    failed = look.__enter__()
    watch.report_again_by(lambda: reports.append("again"))
    assert not look.__exit__(error, error(), None), "the failure is not hidden"
    post(tmp_path / "ccb.db", "credit", "B", ("t", 10, 65))
    watch.report_if_changed()
    assert not reports
    assert not is_open(failed)
    with watch.look() as ledgers:
        pass
    assert is_open(ledgers)


def test_a_micro_batch_that_outlasts_the_watch_closes_its_copies_itself(tmp_path, monkeypatch):
    monkeypatch.setattr(ledger_watch, "_LAST_WORD_S", 0)
    make_banks(tmp_path, 90, 0, debits=[("t", 10, 5)])
    with LedgerWatch(tmp_path, every_ms=1) as watch:
        look = watch.look()
        ledgers = look.__enter__()
    assert is_open(ledgers)
    look.__exit__(None, None, None)
    assert not is_open(ledgers)
