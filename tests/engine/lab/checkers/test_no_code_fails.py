from __future__ import annotations

from tests.support.lab.checked_run import broker_of, checked_run, finish, of, run_to


def test_an_exception_that_nobody_catches_is_a_bug():
    with checked_run() as run:
        run_to(run, 1_000)

        def fail(requests):
            raise ZeroDivisionError("on purpose")

        broker_of(run).store.dispatcher.on_messages_arrived = fail
        violation = of(finish(run), "no-code-fails")[0]
        assert violation.anomaly == "broken code"
        assert violation.element["node"] == "B1"
        assert violation.event == violation.element["event"]
        assert violation.text["zh"]
