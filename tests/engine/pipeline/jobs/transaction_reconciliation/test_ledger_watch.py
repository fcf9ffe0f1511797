"""The thread that tells of ledgers while no message comes."""

from __future__ import annotations

import threading

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
