"""The explanation of a message that a group has not consumed yet: its place, what it waits for, and until when."""

from __future__ import annotations

from engine.lab.why import why_steps, wire
from engine.lab.why.answer import WhyAnswer, WhyQuestion, WhyStep, answer, span_text, time_text
from engine.lab.why.case import VISIBLE, Case, queue_of
from engine.lab.why.evidence import LockNow, Stored
from engine.lab.witness.deliveries import Delivery
from engine.protocol.body.message_queue import MessageQueue
from engine.protocol.message.message_copies import CopyKind, checks_asked, delay_level
from engine.protocol.message.message_properties import PROPERTY_PRODUCER_GROUP
from engine.texts import Text

#: Most future steps that are listed.
_AHEAD_MAX = 8

_Found = tuple[str, Text, list[WhyStep]]


def why_not_yet(case: Case, ahead: Case) -> WhyAnswer:
    """Answer for a message that is neither consumed nor lost. ``ahead``: the same case in the undisturbed future."""
    cause, state, steps = _find(case, ahead)
    coming = _coming(case, ahead)
    begins = next((step for step in coming if step.kind == "listener"), None)
    # A copy may wait elsewhere while a call with another copy still runs, which may finish it.
    is_at_work = cause in ("in-listener", "acknowledged") or any(one.result == "running" for one in case.deliveries)
    if is_at_work:
        done = [why_steps.ended(one, is_ahead=True) for one in ahead.deliveries if one.is_done]
        begins = next(iter(done), None)
    if begins is None:
        span_us = ahead.evidence.run.now_us - case.evidence.now_us
        key = "over" if ahead.evidence.run.is_over else "not_within"
        comes = Text(f"why.not_yet.{key}", span=span_text(span_us))
    else:
        left = span_text(begins.time_us - case.evidence.now_us)
        key = "ends" if is_at_work else "comes"
        comes = Text(f"why.not_yet.{key}", time=time_text(begins.time_us), left=left, node=begins.node)
    verdict = Text("why.not_yet.verdict", key=case.key, state=state, comes=comes)
    return answer(WhyQuestion.NOT_YET, case.subject.name, cause, verdict, [*steps, *coming])


def _find(case: Case, ahead: Case) -> _Found:
    sent = [why_steps.invoked(one) for one in case.sends[:1]]
    alive = [one for one in case.stored if not case.is_gone(one)]
    if not alive:
        unheard = wire.not_heard(case) if len(case.returns) >= len(case.sends) else None
        if unheard is not None:
            text = Text("why.not_yet.under_way", node=unheard.source, broker=unheard.target)
            return "under-way", text, sent
        return "sending", Text("why.not_yet.sending", node=case.sends[0].node if case.sends else "?"), sent
    last = alive[-1]
    steps = [*sent, why_steps.stored(last)]
    if last.kind is CopyKind.HALF:
        return _undecided(case, last, steps)
    if last.kind is CopyKind.DELAYED:
        key = "delayed" if last.message.reconsume_times == 0 else "retry"
        text = Text(
            f"why.not_yet.{key}",
            broker=last.message.broker,
            level=delay_level(last.message),
            n=last.message.reconsume_times,
        )
        return key, text, steps
    assert last.kind in VISIBLE, "what is dead or given up is lost"
    return _in_queue(case, ahead, last, steps)


def _undecided(case: Case, half: Stored, steps: list[WhyStep]) -> _Found:
    message = half.message
    group = message.properties.get(PROPERTY_PRODUCER_GROUP, "")
    producers = [role.name for role in case.world.producers() if role.spec.group == group]
    deaths = [
        why_steps.node_changed(case, change)
        for change in case.changes
        if change.node in producers and change.event >= half.event - 1
    ]
    reported = [*map(why_steps.transaction, case.transactions)]
    lost = [
        why_steps.frame_lost(frame, wire.name_of(frame))
        for frame in wire.of_message(case, wire.ENDS, case.until)
        if not frame.copies
    ]
    first = [why_steps.stored(one) for one in case.stored if one.kind is CopyKind.HALF][:1]
    asked = checks_asked(message)
    key = "undecided" if asked else "undecided_unasked"
    text = Text(f"why.not_yet.{key}", broker=message.broker, group=group, n=asked)
    return "undecided", text, [*first, *reported, *lost, *steps, *deaths]


def _in_queue(case: Case, ahead: Case, copy: Stored, steps: list[WhyStep]) -> _Found:
    message, queue = copy.message, queue_of(copy)
    named = why_steps.queue_text(queue)
    here = [one for one in case.deliveries if one.queue == queue and one.began.queue_offset == message.queue_offset]
    steps += why_steps.tries(case, 2)
    if here and here[-1].result == "running":
        passing = [one for one in case.commits(queue) if one.offset > message.queue_offset]
        if passing:
            text = Text("why.not_yet.acknowledged", node=here[-1].began.node, broker=message.broker)
            return "acknowledged", text, [*steps, why_steps.committed(passing[0])]
        return "in-listener", Text("why.not_yet.in_listener", node=here[-1].began.node), steps
    if message.broker not in case.evidence.up:
        steps += why_steps.deaths(case, message.broker, 0, case.until)[-1:]
        return "broker-down", Text("why.not_yet.broker_down", broker=message.broker), steps
    owner = case.owner(queue)
    if not owner:
        return _no_owner(case, ahead, queue, steps)
    if owner in case.evidence.paused:
        return "paused", Text("why.not_yet.paused", node=owner, queue=named), steps
    if here and not here[-1].is_done and here[-1].ended is not None:
        result = Text(f"why.result.{here[-1].result}")
        return "tried-again", Text("why.not_yet.tried_again", node=owner, result=result), steps
    gains = [one for one in case.holds(queue) if one.is_gain and one.node == owner]
    pulled = case.pulled(owner, queue, message.queue_offset, max(gains[-1].event, copy.event))
    steps.append(why_steps.held(gains[-1]) if pulled is None else why_steps.pulled(owner, pulled))
    blocker = _blocker(case, owner, queue)
    if blocker is not None:
        return "behind", _behind_text(case, owner, blocker), [*steps, _now_with(case, blocker)]
    if pulled is None:
        return "pulling", Text("why.not_yet.pulling", node=owner, queue=named), steps
    return "in-tree", Text("why.not_yet.in_tree", node=owner), steps


def _no_owner(case: Case, ahead: Case, queue: MessageQueue, steps: list[WhyStep]) -> _Found:
    named = why_steps.queue_text(queue)
    lets_go = [one for one in case.holds(queue) if not one.is_gain]
    steps += [why_steps.held(one) for one in lets_go[-1:]]
    lock = _lock_now(case, queue)
    if lock is not None:
        grants = [one for one in case.evidence.known(case.evidence.locks) if one.queue == queue and one.after]
        steps += [why_steps.locked(one) for one in grants[-1:]]
        steps += why_steps.deaths(case, lock.node, 0, case.until)[-1:]
        text = Text(
            "why.not_yet.lock",
            broker=lock.broker,
            queue=named,
            holder=lock.node,
            ends=time_text(lock.ends_us),
            left=span_text(max(0, lock.ends_us - case.evidence.now_us)),
        )
        return "lock", text, steps
    running = [role for role in case.members if role.name in case.evidence.up]
    if not running:
        for role in case.members:
            steps += why_steps.deaths(case, role.name, 0, case.until)[-1:]
        return "no-member", Text("why.not_yet.no_member", group=case.subject.name), steps
    if any(one.is_gain and one.event > case.until for one in ahead.holds(queue)):
        return "rebalance", Text("why.not_yet.rebalance", queue=named, group=case.subject.name), steps
    other = next((role for role in running if role.spec.topic != queue.topic), None)
    if other is not None and queue.topic in {role.spec.topic for role in case.members}:
        reported = {"other": other.name, "wanted": why_steps.subscription(other), "topic": queue.topic}
        return (
            "members-differ",
            Text("why.not_yet.members_differ", queue=named, group=case.subject.name, **reported),
            steps,
        )
    key = "nobody" if ahead.evidence.run.is_over else "no_owner"
    return "no-owner", Text(f"why.not_yet.{key}", queue=named, group=case.subject.name), steps


def _lock_now(case: Case, queue: MessageQueue) -> LockNow | None:
    return next(
        (
            one
            for one in case.evidence.locks_now
            if one.queue == queue and one.group == case.subject.group and one.ends_us > case.evidence.now_us
        ),
        None,
    )


def _blocker(case: Case, node: str, queue: MessageQueue) -> Delivery | None:
    """Return another message that the listener has now, or that failed and blocks this one."""
    is_orderly = case.is_orderly(node)
    others = [
        one
        for one in case.world.witness.deliveries.up_to(case.until)
        if one.began.node == node
        and one.began.group == case.subject.group
        and one.began.key != case.key
        and (one.queue == queue or not is_orderly)
    ]
    running = [one for one in others if one.result == "running"]
    if running:
        return running[0]
    last = others[-1] if others else None
    return last if last is not None and is_orderly and not last.is_done else None


def _behind_text(case: Case, node: str, blocker: Delivery) -> Text:
    since = span_text(case.evidence.now_us - blocker.began.time_us)
    if blocker.result == "running":
        return Text("why.not_yet.behind", node=node, other=blocker.began.key, since=since)
    result = Text(f"why.result.{blocker.result}")
    return Text("why.not_yet.behind_failed", node=node, other=blocker.began.key, result=result)


def _now_with(case: Case, blocker: Delivery) -> WhyStep:
    began = blocker.began
    text = Text("why.step.other_began", node=began.node, other=began.key)
    return WhyStep(began.event, began.time_us, began.node, "listener", text)


# --- looking ahead ---------------------------------------------------------------------------------------------------


def _coming(case: Case, ahead: Case) -> list[WhyStep]:
    """Return the coming steps, up to the end of the listener, if the run is not disturbed."""
    now = case.until
    before = len(case.deliveries)
    deliveries = [one for one in ahead.deliveries if (one.end_event or now + 1) > now]
    steps = [why_steps.stored(one, is_ahead=True) for one in ahead.stored if one.event > now]
    queues = {queue_of(one): None for one in ahead.stored if one.kind in VISIBLE}
    last = next((one.end_event for one in deliveries if one.is_done and one.end_event is not None), ahead.until)
    steps += [
        why_steps.locked(one, is_ahead=True)
        for one in ahead.evidence.locks
        if now < one.event <= last and one.queue in queues and one.group == case.subject.group
    ]
    for queue in queues:
        steps += [why_steps.held(one, is_ahead=True) for one in ahead.holds(queue) if now < one.event <= last]
    for delivery in deliveries:
        nth = ahead.deliveries.index(delivery) + 1
        if nth > before:
            steps.append(why_steps.began(ahead, delivery, nth, is_ahead=True))
        if (end := why_steps.ended(delivery, is_ahead=True)) is not None:
            steps.append(end)
        if delivery.is_done:
            break
    steps = sorted((step for step in steps if step.event <= last), key=lambda step: (step.event, step.time_us))
    return steps if len(steps) <= _AHEAD_MAX else [*steps[: _AHEAD_MAX // 2], *steps[-(_AHEAD_MAX // 2) :]]
