from __future__ import annotations

from engine.client.consumer.consume_message_concurrently_service import ConsumeMessageConcurrentlyService
from engine.client.consumer.default_mq_push_consumer_impl import DefaultMQPushConsumerImpl
from engine.store.files.consume_queue_entry import FILLER_ENTRY
from tests.support.lab.checked_run import broker_of, checked_run, consumer_of, do, finish, names, of, run_to, run_until

NAME = "consumed-in-the-end"


def test_a_message_that_is_dropped_from_its_consume_queue_is_skipped():
    with checked_run() as run:
        run_to(run, 400)
        dispatcher = broker_of(run).store.dispatcher
        wake_pulls, dropped = dispatcher.on_messages_arrived, []
        assert wake_pulls is not None

        def drop_third(requests):
            request = requests[0]
            if request.topic == "Orders" and request.queue_offset == 3 and not dropped:
                dropped.append(request.keys)
                queue = broker_of(run).store._table.get_or_create("Orders", request.queue_id)
                queue.put_entries(3, FILLER_ENTRY)
            wake_pulls(requests)

        dispatcher.on_messages_arrived = drop_third
        run_until(run, lambda: dropped)
        found = finish(run)
        assert [violation.messages for violation in of(found, NAME)] == [tuple(dropped)]
        assert names(found) == [NAME, "log-and-queues-agree", "offsets-never-pass-unconsumed"]


def test_a_message_that_a_consumer_forgets_is_skipped():
    with checked_run() as run:
        do(run, "listener", "C1", result="success", duration_ms=2_000)
        run_to(run, 3_000)
        consumer = consumer_of(run, "C1")
        queue, held = next(
            (queue, held) for queue, held in consumer.process_queues.items() if len(held.msg_tree_map) > 1
        )
        offset, message = list(held.msg_tree_map.items())[-1]
        held.msg_tree_map.remove(offset)
        service = consumer._impl.consume_service
        assert isinstance(service, ConsumeMessageConcurrentlyService)
        waiting = [service._workers._requests.get_nowait() for _ in range(service._workers._requests.qsize())]
        for request in waiting:
            if request is None or message not in request.messages:
                service._workers._requests.put_nowait(request)
        found = of(finish(run), NAME)
        assert [violation.messages for violation in found] == [message.keys]
        assert found[0].anomaly == "skipped"
        assert found[0].event == run.event_number
        assert found[0].element["queue"] == queue.queue_id


def test_consumers_that_stop_working_are_stuck():
    with checked_run(duration_ms=200_000) as run:
        run_to(run, 2_000)
        for name in ("C1", "C2"):
            consumer_of(run, name).suspend()
        found = of(finish(run), NAME)
        assert {violation.anomaly for violation in found} == {"stuck"}
        orders = [violation.element["queue"] for violation in found if violation.element["topic"] == "Orders"]
        assert sorted(orders) == [0, 1, 2, 3], "each is told once"
        assert sum(len(violation.messages) for violation in found) > 10


def test_a_queue_that_nobody_pulls_is_stuck_before_it_is_taken_anew(monkeypatch):
    monkeypatch.setattr(
        DefaultMQPushConsumerImpl, "_pull_failed", lambda self, request, error: setattr(request, "failures", 1)
    )
    with checked_run(duration_ms=300_000) as run:
        run_to(run, 2_000)
        do(run, "crash", "B1")
        run_to(run, 3_000)
        do(run, "restart", "B1")
        found = of(finish(run), NAME)
        assert {violation.anomaly for violation in found} == {"stuck"}
        assert all(violation.time_us < 125_000_000 for violation in found)


def test_nobody_is_stuck_while_the_broker_is_down():
    with checked_run(duration_ms=200_000) as run:
        run_to(run, 2_000)
        do(run, "crash", "B1")
        assert finish(run) == []


def test_a_listener_that_hangs_is_no_fault_of_the_engine():
    with checked_run(duration_ms=200_000) as run:
        do(run, "listener", "C1", result="hangs")
        do(run, "listener", "C2", result="hangs")
        assert finish(run) == []
