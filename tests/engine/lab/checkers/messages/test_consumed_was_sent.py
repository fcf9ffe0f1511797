from __future__ import annotations

from engine.protocol.message.message_properties import PROPERTY_KEYS, PROPERTY_TAGS, encode_properties
from engine.store.log.store_message import StoreMessage
from tests.support.lab.checked_run import broker_of, checked_run, finish, of, run_to

NAME = "consumed-was-sent"


def test_a_message_that_nobody_sent_is_a_ghost_read():
    with checked_run() as run:
        run_to(run, 1_000)
        broker = broker_of(run)
        properties = encode_properties({PROPERTY_KEYS: "ghost", PROPERTY_TAGS: "a"})
        ghost = StoreMessage(
            topic="Orders",
            queue_id=1,
            body=b"boo",
            properties_string=properties,
            born_timestamp=0,
            born_host=broker.where.store_host,
            store_host=broker.where.store_host,
        )
        run.world.lab.loop.call_soon(broker.store.put_message, ghost)
        violation = of(finish(run), NAME)[0]
        assert violation.messages == ("ghost",)
        assert violation.anomaly == "ghost read"
        assert violation.element["queue"] == 1


def test_a_message_reported_to_its_producer_as_refused_must_not_be_consumed():
    with checked_run() as run:
        run_to(run, 1_000)
        history = run.world.history
        sent = history.sends_invoked[-1]
        history.sends_invoked.append(sent._replace(key="order-refused"))
        history.sends_returned.append(history.sends_returned[-1]._replace(key="order-refused", status="refused"))
        history.consumes_began.append(history.consumes_began[-1]._replace(key="order-refused"))
        assert "rejected" in of(finish(run), NAME)[0].text["en"]


def test_another_message_than_the_broker_has_there_is_found():
    with checked_run() as run:
        run_to(run, 2_000)
        began = run.world.history.consumes_began
        began.append(began[-1]._replace(key=began[-2].key))
        assert f"has {began[-2].key}" in of(finish(run), NAME)[0].text["en"]


def test_a_message_from_a_place_where_the_broker_has_none_is_found():
    with checked_run() as run:
        run_to(run, 2_000)
        began = run.world.history.consumes_began
        began.append(began[-1]._replace(queue_offset=1_000))
        assert "has no message there" in of(finish(run), NAME)[0].text["en"]
