from __future__ import annotations

from engine.store.files.consume_queue_entry import FILLER_ENTRY
from tests.support.lab.checked_run import broker_of, checked_run, finish, of, run_to, run_until

NAME = "log-and-queues-agree"


class _ForgetfulDispatcher:
    """Stands before a store's dispatcher and loses one message."""

    def __init__(self, dispatcher):
        self._dispatcher = dispatcher
        self.forgotten = None

    def __getattr__(self, name):
        return getattr(self._dispatcher, name)

    def add(self, request):
        if self.forgotten is None and request.topic == "Orders":
            self.forgotten = request
        else:
            self._dispatcher.add(request)


def test_a_message_that_the_dispatcher_forgets_is_skipped():
    with checked_run() as run:
        run_to(run, 1_500)
        store = broker_of(run).store
        dispatcher = _ForgetfulDispatcher(store.dispatcher)
        store.dispatcher = dispatcher  # type: ignore[assignment]  # it stands before one
        run_until(run, lambda: of(run.violations, NAME))
        violation, forgotten = of(run.violations, NAME)[0], dispatcher.forgotten
        assert violation.messages == (forgotten.keys.split()[0],)
        assert violation.element["offset"] == forgotten.queue_offset
        assert violation.event == run.event_number
        assert "does not exist" in violation.text["en"]


def test_an_entry_that_is_damaged_later_is_found_too():
    with checked_run() as run:
        run_to(run, 3_000)
        queue = next(queue for topic, _, queue in broker_of(run).store.consume_queues() if topic == "Orders")
        assert run.violations == []
        queue.files.write(0, FILLER_ENTRY)
        run_to(run, 30_000)
        assert of(run.violations, NAME)[0].element["offset"] == 0
        assert run.violations[0].time_us < 30_000_000


def test_a_queue_that_is_longer_than_its_messages_is_a_ghost_read():
    with checked_run() as run:
        run_to(run, 1_500)
        queue = next(queue for topic, _, queue in broker_of(run).store.consume_queues() if topic == "Orders")
        queue.put_entries(queue.max_offset + 3, FILLER_ENTRY)
        queue.next_offset -= 4
        finish(run)
        assert "ghost read" in [violation.anomaly for violation in of(run.violations, NAME)]


def test_a_logical_offset_that_is_left_out_is_out_of_order():
    with checked_run() as run:
        run_to(run, 1_500)
        queue = next(queue for topic, _, queue in broker_of(run).store.consume_queues() if topic == "Orders")
        queue.next_offset += 2
        finish(run)
        assert of(run.violations, NAME)[0].anomaly == "out of order"


def test_bytes_of_the_log_that_are_no_message_are_a_hole():
    with checked_run() as run:
        run_to(run, 1_500)
        log = broker_of(run).store.commit_log
        log.max_offset += 10
        run_to(run, 2_500)
        assert "cannot be read" in of(run.violations, NAME)[0].text["en"]
