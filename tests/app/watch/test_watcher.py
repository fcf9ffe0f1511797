"""How often the broker is sampled: by the processor time of a sample, whatever else the machine does."""

import asyncio

from app.watch.watcher import INTERVAL_S, REST_FACTOR, sample_forever


class EnoughSamples(Exception):
    pass


def rests_after(*samples_s, failing=()):
    """Return the rests after samples that use so much processor time."""
    used_s, rests, left = [0.0], [], list(samples_s)

    def sample():
        number = len(rests)
        used_s[0] += left.pop(0)
        if number in failing:
            raise ValueError(number)

    async def sleep(rest_s):
        rests.append(rest_s)
        if not left:
            raise EnoughSamples

    try:
        asyncio.run(sample_forever(sample, sleep, lambda: used_s[0]))
    except EnoughSamples:
        return rests


def test_a_cheap_sample_is_taken_every_second():
    assert rests_after(0, 0.001, 0.02) == [INTERVAL_S] * 3


def test_a_costly_sample_takes_one_part_in_50_and_the_next_cheap_one_comes_in_a_second():
    assert rests_after(0.5, 0.125, 0) == [0.5 * REST_FACTOR, 0.125 * REST_FACTOR, INTERVAL_S]


def test_a_sample_that_fails_is_logged_and_the_next_follows(caplog):
    assert rests_after(0, 0, 0, failing=(0, 1)) == [INTERVAL_S] * 3
    assert caplog.text.count("the next sample follows") == 2


def test_a_sample_that_waited_for_the_processor_does_not_put_off_the_next(monkeypatch):
    """By default the time is the thread's own: a clock on the wall that jumps an hour per look changes nothing."""
    hours = iter(range(10_000))
    for name in ("monotonic", "perf_counter", "time"):
        monkeypatch.setattr(f"app.watch.watcher.time.{name}", lambda: 3_600.0 * next(hours))
    rests = []

    async def sleep(rest_s):
        rests.append(rest_s)
        raise EnoughSamples

    async def watch():
        try:
            await sample_forever(lambda: None, sleep)
        except EnoughSamples:
            return

    coroutine = watch()
    try:
        coroutine.send(None)
    except StopIteration:
        pass
    assert rests == [INTERVAL_S]
