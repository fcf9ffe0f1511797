"""Work handed to the engine's thread comes back, or says in time why not."""

import asyncio
import threading

import pytest

from engine.runtime.live.engine_thread import EngineThread, EngineUnavailable


@pytest.fixture
def engine():
    thread = EngineThread()
    yield thread
    thread.stop()


def test_a_function_runs_in_the_engine_s_thread(engine):
    assert engine.call(lambda: threading.current_thread().name) == "engine"


def test_an_exception_comes_back_to_the_caller(engine):
    with pytest.raises(ZeroDivisionError):
        engine.call(lambda: 1 // 0)
    assert engine.call(lambda: 1) == 1


def test_a_coroutine_runs_in_the_engine_s_loop(engine):
    async def name():
        await asyncio.sleep(0)
        return threading.current_thread().name

    assert engine.run(name(), timeout_s=60) == "engine"


def test_a_busy_engine_is_reported_and_the_late_function_never_runs(engine):
    release, ran = threading.Event(), []
    engine._submit(lambda: release.wait(60))
    with pytest.raises(EngineUnavailable, match="did not answer"):
        engine.call(lambda: ran.append(1), timeout_s=0.01)
    release.set()
    assert engine.call(lambda: "later") == "later"
    assert ran == []


def test_a_coroutine_that_takes_too_long_is_cancelled(engine):
    cancelled = threading.Event()

    async def endless():
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise

    with pytest.raises(EngineUnavailable, match="did not finish"):
        engine.run(endless(), timeout_s=0.01)
    assert cancelled.wait(60)


def test_a_stopped_engine_says_so(engine):
    engine.stop()
    assert not engine.is_running
    with pytest.raises(EngineUnavailable, match="stopped"):
        engine.call(lambda: 1)
    with pytest.raises(EngineUnavailable, match="stopped"):
        engine.run(asyncio.sleep(0), timeout_s=1)


# --- a pause ----------------------------------------------------------------------------------------------------------


def paused(engine, ms):
    """The engine once it is paused."""
    engine.call(lambda: engine.pause(ms))
    waited = threading.Event()
    while engine._pause is not None:
        waited.wait(0.01)
    return engine


def over(engine):
    """Wait for the end of a pause."""
    waited = threading.Event()
    while engine.paused_ms:
        waited.wait(0.01)


def test_a_request_between_the_order_and_the_pause_is_answered_immediately(engine):
    engine.call(lambda: engine.pause(60_000))
    with pytest.raises(EngineUnavailable, match=r"pauses the engine for [56]"):
        engine.call(lambda: 1, timeout_s=60)


def test_a_paused_engine_says_for_how_much_longer_to_whoever_asks(engine):
    paused(engine, 60_000)
    assert 0 < engine.paused_ms <= 60_000
    with pytest.raises(EngineUnavailable, match=r"pauses the engine for [56]"):
        engine.call(lambda: 1)
    with pytest.raises(EngineUnavailable, match=r"pauses the engine for [56]"):
        engine.run(asyncio.sleep(0), timeout_s=60)


def test_whoever_asks_after_the_end_of_a_pause_is_answered(engine):
    paused(engine, 60_000).resume()
    assert engine.paused_ms == 0
    assert engine.call(lambda: 1, timeout_s=60) == 1


def test_a_pause_ends_by_itself(engine):
    engine.call(lambda: engine.pause(1))
    over(engine)
    assert engine.run(asyncio.sleep(0, "over"), timeout_s=60) == "over"


def test_pauses_do_not_add_up(engine):
    engine.call(lambda: [engine.pause(60_000), engine.pause(1)])
    over(engine)
    assert engine.run(asyncio.sleep(0, "over"), timeout_s=60) == "over"


def test_a_paused_engine_can_be_stopped():
    engine = paused(EngineThread(), 60_000)
    engine.stop()
    assert not engine.is_running
