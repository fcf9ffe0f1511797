"""Writes that share a name and are numbered: what their notes spare, and that they are never believed too much."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from itertools import count

import pytest

from engine.pipeline.source.cluster.cluster import Cluster
from engine.pipeline.source.cluster.errors import RocketMQError
from engine.pipeline.source.writer import writer_replay
from engine.pipeline.source.writer.writer_options import WriteOptions
from engine.pipeline.source.writer.writer_replay import read_notes, write_notes
from engine.pipeline.source.writer.writer_sender import PartitionSender
from engine.protocol.request_code import RequestCode
from tests.support.pipeline.partition_writes import AGAIN, OTHERS, bodies, rows, send, stored

WRITE = replace(AGAIN, batch=0, partition=0, is_numbered=True)
LOOKBACK = 20
numbers = count(1)


@pytest.fixture
def options(server):
    """For a topic with one queue."""
    topic = f"Numbered{next(numbers)}"
    server.create_topic(topic, 1)
    return WriteOptions.parse(
        {"nameServer": server.name_servers[0], "topic": topic, "replayLookback": str(LOOKBACK), "batchBytes": "1"}
    )


class WatchedCluster(Cluster):
    """Remembers from which offsets messages were asked for."""

    def __init__(self, options):
        super().__init__(options)
        self.asked = []

    def ask_broker(self, broker_name, topic, requests):
        pulls = [request for request in requests if request.code == RequestCode.PULL_MESSAGE]
        answers = super().ask_broker(broker_name, topic, requests)
        self.asked += [int(request.ext_fields["queueOffset"]) for request in pulls]
        return answers


@pytest.fixture
def cluster(options):
    opened = WatchedCluster(options.cluster)
    yield opened
    opened.close()


class Notes:
    """What the broker knows of a write's notes; a broker that is killed falls back to an older state."""

    def __init__(self, cluster, topic):
        self._cluster, self._queues = cluster, cluster.queues([topic])
        self._names = [WRITE.name, f"{WRITE.name}_NUMBER"]

    def read(self):
        return [read_notes(self._cluster, name, self._queues) for name in self._names]

    def restore(self, state):
        for name, notes in zip(self._names, state, strict=True):
            write_notes(self._cluster, name, dict.fromkeys(self._queues, -1) | notes)


def others(options, cluster, how_many):
    send(options, cluster, OTHERS, rows(options, body=["other"] * how_many))


def test_the_first_try_of_a_new_number_reads_only_what_came_since_the_one_before(options, cluster):
    others(options, cluster, 50)
    send(options, cluster, WRITE, rows(options, body=["a", "b"]))
    others(options, cluster, 3)
    cluster.asked.clear()
    send(options, cluster, replace(WRITE, batch=1), rows(options, body=["c"]))
    send(options, cluster, replace(WRITE, batch=1, partition=1), rows(options, body=["d"]))
    send(options, cluster, replace(WRITE, batch=2), rows(options, body=["e"]))
    assert cluster.asked == [50, 55, 55]


def test_a_search_for_a_new_number_goes_no_further_back_than_the_option_says(options, cluster):
    send(options, cluster, WRITE, rows(options, body=["a"]))
    others(options, cluster, 50)
    cluster.asked.clear()
    send(options, cluster, replace(WRITE, batch=1), rows(options, body=["b"]))
    assert cluster.asked == [51 - LOOKBACK]


def test_a_note_that_the_broker_forgot_makes_nothing_twice(options, cluster):
    """Brokers write such notes down every few seconds; messages may outlive them."""
    notes = Notes(cluster, options.topic)
    send(options, cluster, WRITE, rows(options, body=["a"]))
    before = notes.read()
    send(options, cluster, replace(WRITE, batch=1, partition=1), rows(options, body=["b"]))
    notes.restore(before)
    # First another partition, which finds nothing of its own.
    assert send(options, cluster, replace(WRITE, batch=1), rows(options, body=["c"])).sent == 1
    assert send(options, cluster, replace(WRITE, batch=1, partition=1), rows(options, body=["b"])).left_out == 1
    assert bodies(cluster, options.topic) == ["a", "b", "c"]


def test_a_task_that_dies_between_its_two_notes_leaves_none_that_lies(options, cluster, monkeypatch):
    send(options, cluster, WRITE, rows(options, body=["a"]))

    def die_after_the_first(cluster, name, offsets):
        if offsets:
            write_notes(cluster, name, offsets)
            raise RocketMQError("ROCKETMQ_BROKER_AWAY", "says the test")

    with monkeypatch.context() as patched:
        patched.setattr(writer_replay, "write_notes", die_after_the_first)
        with pytest.raises(RocketMQError, match="says the test"):
            send(options, cluster, replace(WRITE, batch=1), rows(options, body=["b"]))
    assert send(options, cluster, WRITE, rows(options, body=["a"])).left_out == 1


def test_an_older_number_that_is_repeated_hides_nothing_of_the_newer(options, cluster):
    for number in (0, 2, 1, 2, 0):
        send(options, cluster, replace(WRITE, batch=number), rows(options, body=[f"{number}"]))
    assert bodies(cluster, options.topic) == ["0", "1", "2"]


@pytest.mark.parametrize("seed", range(20))
def test_whatever_is_repeated_nothing_within_the_lookback_is_sent_twice(options, cluster, monkeypatch, seed):
    """Writes that die anywhere or go back, floods of others, and a broker that forgets, even between two notes."""
    randomness = random.Random(seed)
    notes = Notes(cluster, options.topic)
    states = [notes.read()]

    def write_and_remember(*arguments):
        write_notes(*arguments)
        states.append(notes.read())

    monkeypatch.setattr(writer_replay, "write_notes", write_and_remember)
    for _ in range(25):
        if randomness.random() < 0.3:
            others(options, cluster, randomness.randrange(LOOKBACK))
        if randomness.random() < 0.3:
            notes.restore(randomness.choice(states[-4:]))
        write = replace(WRITE, batch=randomness.randrange(5), partition=randomness.randrange(2))
        words = [
            f"{write.batch}/{write.partition}/{row // 2}" for row in range((write.batch * 3 + write.partition) % 6)
        ]
        (messages,) = stored(cluster, options.topic).values()
        missing = Counter(words) - Counter(message.body.decode() for message in messages[-LOOKBACK:])
        sender = PartitionSender(options, write, cluster, {})
        sender.send(rows(options, body=words)[: randomness.randrange(10)])
        (messages,) = stored(cluster, options.topic).values()
        sent = Counter(message.body.decode() for message in messages[len(messages) - sender.sent :] if sender.sent)
        assert sent <= missing
        sender.send(rows(options, body=words)[sender.sent + sender.left_out :])
        assert Counter(words) <= Counter(bodies(cluster, options.topic))
