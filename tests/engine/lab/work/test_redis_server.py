"""The model of a Redis: time to live in virtual time, and what it refuses."""

from __future__ import annotations

import pytest

from engine.idempotence.stores.redis_record_store import COMPARE_AND_DELETE, COMPARE_AND_SET
from engine.lab.work.redis_server import RedisModel
from tests.support.idempotence.deliveries import SetClock


@pytest.fixture
def clock():
    return SetClock()


@pytest.fixture
def redis(clock):
    return RedisModel(clock)


def test_a_key_is_gone_when_its_time_is_over(redis, clock):
    assert redis.command(["SET", "k", "v", "NX", "PX", 100]) == "OK"
    assert redis.command(["SET", "k", "w", "NX", "PX", 100]) is None
    clock.time_ms += 99
    assert (redis.command(["GET", "k"]), redis.command(["PTTL", "k"])) == ("v", 1)
    clock.time_ms += 1
    assert (redis.command(["GET", "k"]), redis.command(["PTTL", "k"])) == (None, -2)
    assert redis.command(["SET", "k", "w", "NX", "PX", 100]) == "OK"


def test_the_scripts_change_a_key_that_is_as_it_was_seen(redis):
    redis.command(["SET", "k", "mine"])
    assert redis.command(["EVAL", COMPARE_AND_SET, 1, "k", "another's", "x", 100]) == 0
    assert redis.command(["EVAL", COMPARE_AND_SET, 1, "k", "mine", "done", 100]) == 1
    assert redis.command(["EVAL", COMPARE_AND_DELETE, 1, "k", "mine"]) == 0
    assert redis.command(["EVAL", COMPARE_AND_DELETE, 1, "k", "done"]) == 1
    assert redis.command(["GET", "k"]) is None


@pytest.mark.parametrize("words", [["FLUSHALL"], ["EVAL", "return 1", 1, "k"], ["GET"]])
def test_what_it_does_not_know_it_refuses_as_redis_does(redis, words):
    with pytest.raises(ValueError, match=r"^ERR "):
        redis.command(words)
