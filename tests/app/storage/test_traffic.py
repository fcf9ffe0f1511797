"""What a person may send to both stores, and that it is the same each time."""

from __future__ import annotations

import pytest

from app.storage.laboratory.traffic import BOUNDS, STEP_MS, TRAFFIC_FIELDS, LaboratoryTraffic, messages_of, traffic_of
from engine.fields.field import read_fields
from engine.fields.refusal import FieldRefused


def read_traffic(query):
    return traffic_of(read_fields(TRAFFIC_FIELDS, query, of_text=True))


def test_without_a_choice_it_is_the_default():
    assert read_traffic({}) == LaboratoryTraffic()


@pytest.mark.parametrize("name", BOUNDS)
def test_each_number_is_bounded_and_its_refusal_names_it_and_what_is_allowed(name):
    least, most = BOUNDS[name]
    for value in (str(least - 1), str(most + 1), "many", "1.5", ""):
        with pytest.raises(FieldRefused, match=rf"^{name}: .*allowed: an integer from {least} to {most}$"):
            read_traffic({name: value})


def test_snappy_and_unknown_codecs_are_refused_by_name():
    for codec in ("snappy", "rar", ""):
        with pytest.raises(FieldRefused, match=r"^codec: .*allowed: none, gzip, lz4, zstd$"):
            read_traffic({"codec": codec})


@pytest.mark.parametrize("much", [{"messages": "10000", "body_bytes": "801"}, {"topics": "32", "queues": "3"}])
def test_what_is_too_much_together_is_refused_in_both_languages(much):
    with pytest.raises(FieldRefused) as refused:
        read_traffic(much)
    assert refused.value.sentence is not None
    assert set(refused.value.sentence) == {"en", "zh"}


def test_messages_go_round_topics_and_queues_and_are_the_same_each_time():
    traffic = LaboratoryTraffic(topics=2, queues=3, messages=14, body_bytes=50, distinct_keys=5)
    messages = list(messages_of(traffic))
    assert messages == list(messages_of(traffic))
    assert [(message.topic, message.queue_id) for message in messages[:7]] == [
        ("orders-0", 0),
        ("orders-1", 0),
        ("orders-0", 1),
        ("orders-1", 1),
        ("orders-0", 2),
        ("orders-1", 2),
        ("orders-0", 0),
    ]
    assert {len(message.body) for message in messages} == {50}
    assert [message.key for message in messages[4:7]] == ["K00004", "K00000", "K00001"]
    assert messages[1].born_ms - messages[0].born_ms == STEP_MS
    assert all(message.key is None for message in messages_of(LaboratoryTraffic(messages=3, distinct_keys=0)))
