"""Answers of a listener for a batch of which some messages could not be consumed.

    way              works on                 answer                    comes again
    whole            all                      one, the worst            all, if one failed
    per-message      up to the first failure  SUCCESS with ack_index    the failed one and those after it, each alone
    all-or-nothing   up to the first failure  failure                   all, also those that were done
    drop-failed      all                      SUCCESS                   none: what failed is lost

``per-message`` is RocketMQ's (``ConsumeConcurrentlyContext.ackIndex``). The last two are what a Kafka consumer can
choose from, which has one offset per partition and no retry topic: not to commit, and to be given the batch again; or
to commit, and to go on without what failed. An orderly listener models Kafka's waiting too: nothing after the batch is
delivered before it succeeds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from engine.lab.scenario.listener_spec import BatchAck, ListenerResult

_FAILURES = (ListenerResult.THROWS, ListenerResult.LATER, ListenerResult.SUSPEND, ListenerResult.ROLLBACK)
_WORST_FIRST = (*_FAILURES, ListenerResult.COMMIT)


class BatchAnswer(NamedTuple):
    """Result of a call of a listener.

    ``result``: that of the call. ``results``: those of the messages; ``later`` for one that was not worked on.
    ``worked_on``: how many messages were worked on, from the first. ``ack_index``: index of the last acknowledged
    message; None: the listener does not say.
    """

    result: ListenerResult
    results: tuple[ListenerResult, ...]
    worked_on: int
    ack_index: int | None = None


def acknowledged_up_to(answered: BatchAnswer, index: int) -> BatchAnswer:
    """Return ``answered`` by a listener that acknowledges no message after ``index``, if it succeeds at all."""
    if answered.result is not ListenerResult.SUCCESS:
        return answered
    results = [result if at <= index else ListenerResult.LATER for at, result in enumerate(answered.results)]
    return answered._replace(results=tuple(results), ack_index=index)


def answer(way: BatchAck, results: Sequence[ListenerResult]) -> BatchAnswer:
    """Return the answer for a batch. ``results``: the result of each message if it is processed; at least one."""
    worst = next((result for result in _WORST_FIRST if result in results), ListenerResult.SUCCESS)
    count = len(results)
    if way is BatchAck.WHOLE or worst not in _FAILURES:
        return BatchAnswer(worst, (worst,) * count, count)
    if way is BatchAck.DROP_FAILED:
        return BatchAnswer(ListenerResult.SUCCESS, tuple(results), count)
    first_failure = next(index for index, result in enumerate(results) if result in _FAILURES)
    worked_on = first_failure + 1
    seen = (*results[:worked_on], *[ListenerResult.LATER] * (count - worked_on))
    if way is BatchAck.PER_MESSAGE:
        return BatchAnswer(ListenerResult.SUCCESS, seen, worked_on, first_failure - 1)
    return BatchAnswer(ListenerResult.LATER, seen, worked_on)
