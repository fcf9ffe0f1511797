"""The breakdown of a message's latency, from its producer to the end of the listener."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import NamedTuple

from engine.lab.why import why_steps
from engine.lab.why.answer import WhyAnswer, WhyQuestion, WhyStep, answer, span_text
from engine.lab.why.case import VISIBLE, Case, queue_of
from engine.lab.why.evidence import Stored
from engine.lab.witness.deliveries import Delivery
from engine.protocol.body.message_queue import MessageQueue
from engine.protocol.message.message_copies import CopyKind, delay_level
from engine.texts import Text, plain

#: A span that is shorter than this, or than this fraction of the total, is not listed.
_SPAN_LEAST_US = 1_000
_SHARE_LEAST = 200
#: Most earlier messages that are named.
_NAMED_MAX = 3


class Moment(NamedTuple):
    """A point in a message's history. ``kind``: what the message waits for from then on."""

    event: int
    time_us: int
    node: str
    kind: str
    of: Stored | Delivery | None = None


class WaitSpan(NamedTuple):
    """A part of the delay: what the message waited for, and for how long."""

    kind: str
    begin: Moment
    end: Moment
    text: Text

    @property
    def us(self) -> int:
        """Return the duration in microseconds."""
        return self.end.time_us - self.begin.time_us


def why_late(case: Case) -> WhyAnswer | None:
    """Explain why a message was late; None if the group has not consumed it."""
    done = next((one for one in case.deliveries if one.is_done), None)
    if done is None or done.ended is None:
        return None
    spans = spans_until(case, done)
    if not spans:
        return None
    total_us = done.ended.time_us - spans[0].begin.time_us
    spans.sort(key=lambda span: (-span.us, span.begin.event))
    largest = spans[0]
    verdict = Text(
        "why.late.verdict",
        key=case.key,
        group=case.subject.name,
        total=span_text(total_us),
        largest=span_text(largest.us),
        reason=largest.text,
    )
    reported = [span for span in spans if span.us >= _SPAN_LEAST_US and span.us * _SHARE_LEAST >= total_us] or spans[:1]
    steps = [
        WhyStep(
            span.begin.event,
            span.begin.time_us,
            span.begin.node,
            "wait",
            Text("why.late.span", span=span_text(span.us), reason=span.text),
            span.us,
        )
        for span in reported
    ]
    cause = largest.text.key.removeprefix("why.late.").replace("_", "-")
    return answer(WhyQuestion.LATE, case.subject.name, cause, verdict, steps, is_in_order=False)


def spans_until(case: Case, done: Delivery) -> list[WaitSpan]:
    """Return spans without gaps, from the producer to the end of that delivery."""
    moments = _moments(case, done)
    return [WaitSpan(begin.kind, begin, end, _reason(case, begin, end)) for begin, end in pairwise(moments)]


def _moments(case: Case, done: Delivery) -> list[Moment]:
    assert done.ended is not None
    last = done.ended.event
    found: list[Moment] = []
    if case.sends:
        found.append(Moment(*case.sends[0][:3], "sending"))
    for copy in case.stored:
        message = copy.message
        place = copy.event, copy.time_us, message.broker
        if copy.kind not in VISIBLE:
            if copy.kind is CopyKind.HALF and any(moment.kind == "undecided" for moment in found):
                continue
            kind = {CopyKind.HALF: "undecided", CopyKind.DELAYED: "delayed"}.get(copy.kind, "elsewhere")
            found.append(Moment(*place, kind, copy))
            continue
        found.append(Moment(*place, "dispatching", copy))
        visible = case.evidence.dispatched.get((message.broker, message.commit_log_offset))
        if visible is not None and visible[0] >= copy.event:
            found.append(Moment(*visible, message.broker, "pulling", copy))
    for delivery in case.deliveries:
        began = delivery.began
        since = _since(case, delivery)
        pulled = case.pulled(began.node, delivery.queue, began.queue_offset, since)
        if pulled is not None and pulled[0] <= began.event:
            found.append(Moment(*pulled, began.node, "in-tree", delivery))
        found.append(Moment(*began[:3], "listening", delivery))
        if (end := delivery.ended or delivery.died) is not None:
            found.append(Moment(*end[:3], "again", delivery))
    found.sort(key=lambda moment: (moment.event, moment.time_us))
    return [moment for moment in found if moment.event <= last]


def _since(case: Case, delivery: Delivery) -> int:
    """Return the event at which its process got the queue: what it had pulled before is forgotten."""
    gains = [
        one.event
        for one in case.holds(delivery.queue)
        if one.is_gain and one.node == delivery.began.node and one.event <= delivery.began.event
    ]
    stored = [
        one.event
        for one in case.stored
        if queue_of(one) == delivery.queue and one.message.queue_offset == delivery.began.queue_offset
    ]
    return max((*gains[-1:], *stored[-1:]), default=0)


# --- waiting ---------------------------------------------------------------------------------------------------------


def _reason(case: Case, begin: Moment, end: Moment) -> Text:
    of = begin.of
    match begin.kind:
        case "delayed":
            assert isinstance(of, Stored)
            key = "delayed" if of.message.reconsume_times == 0 else "retry_delay"
            return Text(f"why.late.{key}", level=delay_level(of.message), n=of.message.reconsume_times)
        case "pulling":
            assert isinstance(of, Stored)
            return pull_reason(case, queue_of(of), begin, end)
        case "in-tree":
            assert isinstance(of, Delivery)
            return _behind(case, of, begin, end)
        case "again":
            assert isinstance(of, Delivery)
            return Text("why.late.again", node=begin.node, result=Text(f"why.result.{of.result}"))
        case _:
            return Text(f"why.late.{begin.kind}", node=begin.node)


def pull_reason(case: Case, queue: MessageQueue, begin: Moment, end: Moment) -> Text:
    """Return why the message was not pulled: its queue had no owner, its owner held too much already, or neither."""
    named = why_steps.queue_text(queue)
    free_us, holder = _without_owner(case, queue, begin, end)
    if 2 * free_us > end.time_us - begin.time_us:
        if holder:
            return Text("why.late.locked_for", queue=named, node=holder)
        return Text("why.late.no_owner", queue=named, group=case.subject.name)
    throttles = [
        one
        for one in case.evidence.throttles
        if one.queue == queue and one.node == end.node and one.reason and one.event <= end.event
    ]
    if throttles and throttles[-1].event >= begin.event:
        return Text("why.late.throttled", node=end.node, queue=named)
    return Text("why.late.pulling", node=end.node, queue=named)


def _without_owner(case: Case, queue: MessageQueue, begin: Moment, end: Moment) -> tuple[int, str]:
    """Return how long the queue had no owner, and for whom the broker kept the lock then."""
    owners: dict[str, None] = {}
    free_us, free_since = 0, begin.time_us
    for one in case.holds(queue):
        if one.event > end.event:
            break
        was_free = not owners
        if one.is_gain:
            owners[one.node] = None
        else:
            owners.pop(one.node, None)
        if was_free and owners:
            free_us += max(0, one.time_us - max(free_since, begin.time_us))
        elif not was_free and not owners:
            free_since = one.time_us
    if not owners:
        free_us += max(0, end.time_us - max(free_since, begin.time_us))
    locks = case.locks(queue, end.event)
    # The owner when the wait began: the end of the wait is the next owner's.
    holder = next((one.after for one in reversed(locks) if one.time_us <= (begin.time_us + end.time_us) // 2), "")
    return free_us, holder


def _behind(case: Case, delivery: Delivery, begin: Moment, end: Moment) -> Text:
    """Return which messages the listener had meanwhile."""
    busy: dict[str, int] = {}
    failures: dict[str, int] = {}
    for other in case.world.witness.deliveries.up_to(case.until):
        if other.began.node != begin.node or other.began.group != case.subject.group or other.began.key == case.key:
            continue
        last = other.ended or other.died
        until_us = end.time_us if last is None else min(last.time_us, end.time_us)
        shared_us = until_us - max(other.began.time_us, begin.time_us)
        if shared_us >= 0 and other.began.time_us < end.time_us and until_us > begin.time_us:
            busy[other.began.key] = busy.get(other.began.key, 0) + shared_us
            failures[other.began.key] = failures.get(other.began.key, 0) + (not other.is_done)
    if not busy:
        return Text("why.late.in_tree", node=begin.node)
    longest = sorted(busy, key=lambda key: -busy[key])
    failed = failures.get(longest[0], 0)
    if failed > 1:
        return Text("why.late.behind_failed", node=begin.node, names=longest[0], n=failed)
    named = [key for key in longest if 10 * busy[key] >= busy[longest[0]]][:_NAMED_MAX]
    names: list[Mapping[str, str]] = [plain(key) for key in named]
    key = "behind" if len(busy) <= len(named) else "behind_many"
    return Text(f"why.late.{key}", node=begin.node, names=why_steps.words(names), n=len(busy))
