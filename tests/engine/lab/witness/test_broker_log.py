"""A broker's log is read once, over all its processes: what a crash took is known, and what it spared is not new."""

from __future__ import annotations

from engine.lab.run.run import LabRun
from engine.lab.witness.broker_log import BrokerLog
from tests.support.lab.lab_scenarios import apply, run_to_ms


def broker_log(run: LabRun) -> BrokerLog:
    return run.world.witness.broker_log(run.world.brokers()[0])


def crash_and_restart(run: LabRun, to_ms: int) -> None:
    apply(run, "crash-power", "B1")
    apply(run, "restart", "B1")
    run_to_ms(run, to_ms)


def test_it_holds_what_the_disk_holds_and_remembers_what_a_crash_took(started):
    run = started(to_ms=1_310)
    log = broker_log(run)
    before = [*log.messages]
    crash_and_restart(run, 5_000)
    fresh = BrokerLog(run.world.brokers()[0])
    assert fresh.read_on()
    assert (log.messages, log.log, log.by_place) == (fresh.messages, fresh.log, fresh.by_place)
    assert log.lost == log.gone == [one for one in before if fresh.log.get(one.commit_log_offset) != one]
    assert log.lost
    assert [one for one in before if one not in log.lost] == log.messages[: len(before) - len(log.lost)]


def test_two_readers_each_get_every_message_once(started):
    run = started(to_ms=0)
    log = broker_log(run)
    end = 0
    read = []
    for time_ms in range(100, 5_000, 130):
        run_to_ms(run, time_ms)
        if log.read_on():
            read += log.after(end)
            end = log.end_offset
    assert read == log.messages
    assert len(read) >= 20
    assert run.violations == []


def test_it_is_read_while_its_broker_runs_only(started):
    run = started(to_ms=1_310)
    log = BrokerLog(run.world.brokers()[0])
    assert log.read_on()
    messages = [*log.messages]
    apply(run, "crash", "B1")
    assert not log.read_on()
    assert log.messages == messages
