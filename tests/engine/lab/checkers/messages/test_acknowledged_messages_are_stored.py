from __future__ import annotations

import asyncio

from engine.store.log.commit_log import FOLDER
from tests.support.lab.checked_run import broker_of, broker_role, checked_run, do, finish, of, run_to, run_until

NAME = "acknowledged-messages-are-stored"


def test_a_log_that_lost_its_end_in_a_mere_process_crash_is_a_lost_write():
    with checked_run() as run:
        run_to(run, 3_000)
        log = broker_of(run).store.commit_log
        last = run.world.history.sends_returned[-1].key
        message = next(m for m in reversed(_messages(run)) if m.first_key == last)
        path = log.files.files[0].path
        assert path.startswith(FOLDER)
        do(run, "crash", "B1")
        content = broker_role(run).storage.files[path]
        content.write(message.commit_log_offset, memoryview(bytes(1 << 12)))
        do(run, "restart", "B1")
        violations = of(finish(run), NAME)
        assert last in [key for violation in violations for key in violation.messages]
        assert violations[0].anomaly == "lost write"


def test_an_answer_that_does_not_wait_for_the_flush_is_found_at_once():
    with checked_run(flush="sync") as run:
        run_to(run, 400)
        flush_service = broker_of(run).store.flush_service

        def flushed_already(end_offset: int) -> asyncio.Future[bool]:
            done: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
            done.set_result(True)
            return done

        flush_service.flushed = flushed_already
        run_until(run, lambda: run.violations or run.now_us > 5_000_000)
        assert run.violations[0].checker == NAME
        assert "before it was flushed" in run.violations[0].text["en"]


def test_an_answer_about_a_message_that_was_not_stored_is_a_lost_write():
    with checked_run() as run:
        run_to(run, 1_000)
        returned = run.world.history.sends_returned
        returned.append(returned[-1]._replace(key="order-never"))
        assert of(finish(run), NAME)[0].messages == ("order-never",)


def test_an_answer_that_names_another_offset_is_found():
    with checked_run() as run:
        run_to(run, 1_000)
        returned = run.world.history.sends_returned
        returned.append(returned[-1]._replace(queue_offset=99))
        assert "was given a different position" in of(finish(run), NAME)[0].text["en"]


def test_with_asynchronous_flush_a_power_cut_may_lose_what_was_acknowledged():
    with checked_run(duration_ms=200_000) as run:
        run_to(run, 3_000)
        before = len(_messages(run))
        do(run, "crash-power", "B1")
        run_to(run, 4_000)
        do(run, "restart", "B1")
        run_until(run, lambda: run.world.brokers()[0].broker is not None)
        assert before > len(_messages(run))
        assert finish(run) == []


def test_with_synchronous_flush_a_power_cut_loses_nothing_acknowledged():
    with checked_run(flush="sync", duration_ms=200_000) as run:
        run_to(run, 3_000)
        do(run, "crash-power", "B1", torn=True)
        run_to(run, 4_000)
        do(run, "restart", "B1")
        assert finish(run) == []


def _messages(run):
    assert run.checkers is not None
    return run.checkers.watch.brokers["B1"].messages
