"""The explanation of a message with several copies: sent back, resent, committed or sent more than once."""

from __future__ import annotations

from engine.lab.why import why_steps, wire
from engine.lab.why.answer import FoundCause, WhyStep
from engine.lab.why.case import VISIBLE, Case
from engine.lab.why.evidence import Stored
from engine.lab.witness.deliveries import Delivery
from engine.lab.witness.frame_log import SentParcel
from engine.protocol.message.message_copies import CopyKind, group_of_copy
from engine.protocol.names import retry_topic
from engine.protocol.request_code import SENDS
from engine.texts import Text, plain


def copy_at(case: Case, delivery: Delivery) -> Stored | None:
    """Return the copy that the listener received."""
    topic, broker, queue_id, offset = delivery.place
    return next(
        (
            one
            for one in reversed(case.stored)
            if one.message.broker == broker
            and one.message.place == (topic, queue_id, offset)
            and one.event <= delivery.began.event
        ),
        None,
    )


def given_back(case: Case, reconsume_times: int) -> list[Stored]:
    """Return the copies that were sent back and wait for the delivery with that retry count."""
    return [
        one
        for one in case.stored
        if one.kind is CopyKind.DELAYED
        and group_of_copy(one.message) is not None
        and one.message.reconsume_times == reconsume_times
    ]


def another_copy(case: Case, first: Delivery, second: Delivery) -> FoundCause:
    """Return (cause, arguments of its sentence, steps): how the second delivery's copy came about."""
    copy = copy_at(case, second)
    if copy is None:
        return "unknown", {}, []
    if copy.kind is CopyKind.RESENT:
        dead = [why_steps.stored(one) for one in case.stored if one.kind is CopyKind.DEAD and one.event < copy.event]
        return "resent", {}, [*dead, why_steps.stored(copy)]
    if group_of_copy(copy.message) is not None:
        return _given_back(case, copy)
    # The same message in two places: what was stored first was not necessarily delivered first.
    places = [one for one in case.stored if one.kind in VISIBLE and group_of_copy(one.message) is None]
    earlier = next((one for one in reversed(places) if one.event < copy.event), None)
    if earlier is None:
        earlier, copy = copy, next((one for one in places if one.event > copy.event), copy)
    steps = [why_steps.stored(earlier), why_steps.stored(copy)]
    halves = [one for one in case.stored if one.kind is CopyKind.HALF]
    if halves:
        sent = [frame for frame in wire.of_message(case, wire.ENDS, copy.event) if frame.copies]
        ends = [_end_step(frame.event, frame.time_us, frame.source) for frame in sent]
        return "committed-twice", {}, [why_steps.stored(halves[0]), *ends, *steps]
    return _sent_twice(case, earlier, copy, steps)


def _given_back(case: Case, copy: Stored) -> FoundCause:
    """Explain a copy that was given back: an older copy failed or took too long, perhaps twice."""
    tries = copy.message.reconsume_times
    due = [one for one in case.stored if one.kind is CopyKind.DUE and one.message.reconsume_times == tries]
    waits = given_back(case, tries)[: due.index(copy) + 1] if copy in due else []
    steps = [why_steps.stored(one) for one in (*waits[-1:], copy)]
    asked = [one for one in (_request_of(case, wait) for wait in waits) if one is not None]
    tried = _tried(case, asked[-1], tries) if asked else []
    if not tried:
        return "unknown", {}, steps
    copies = [copy_at(case, one) for one in tried]
    before = [one for one in asked[:-1] if any(copy_at(case, its) in copies for its in _tried(case, one, tries))]
    if before:
        lost = [step for one in before for step in _answers_lost(case, one, asked[-1].event)]
        reported = [*map(why_steps.stored, waits[:-1]), *lost, *steps]
        return "given-back-twice", {"broker": copy.message.broker, "first": asked[-1].source}, reported
    failed = [one for one in tried if one.ended is not None and one.ended.event <= waits[-1].event]
    if failed:
        result = Text(f"why.result.{failed[-1].result}")
        return "retry", {"first": failed[-1].began.node, "result": result}, steps
    return "timed-out", {"first": asked[-1].source}, steps


def _request_of(case: Case, wait: Stored) -> SentParcel | None:
    """Return the request that gave it back, the last one that had come by then; without an answer, it was sent
    again.
    """
    members, group = [role.name for role in case.members], case.subject.group
    asked = [
        one
        for one in wire.of_message(case, (*wire.GIVING_BACK, *SENDS), wait.event)
        if one.copies and one.source in members and one.target == wait.message.broker
        if one.arrives_us <= wait.time_us and {group, retry_topic(group)} & set(wire.fields_of(one).values())
    ]
    return max(asked, key=lambda one: one.arrives_us, default=None)


def _tried(case: Case, request: SentParcel, tries: int) -> list[Delivery]:
    """Return the deliveries that the request is about: of the copy that it names by its place, or of the previous
    try.
    """
    offset = wire.fields_of(request).get("offset")
    found = []
    for one in case.deliveries:
        copy = copy_at(case, one)
        if one.began.node != request.source or one.began.event > request.event or copy is None:
            continue
        is_it = offset == str(copy.message.commit_log_offset) if offset else one.began.reconsume_times == tries - 1
        if is_it:
            found.append(one)
    return found


def _answers_lost(case: Case, request: SentParcel, before: int) -> list[WhyStep]:
    name = f"reply to {wire.name_of(request)}"
    return [why_steps.frame_lost(one, name) for one in wire.answers(case.evidence, request, before) if not one.copies]


def _end_step(event: int, time_us: int, node: str) -> WhyStep:
    return WhyStep(event, time_us, node, "message", Text("why.step.ends_transaction", node=node))


def _sent_twice(case: Case, earlier: Stored, copy: Stored, steps: list[WhyStep]) -> FoundCause:
    """Explain the same message in two places: which node sent it again, and why."""
    first, second = earlier.message.broker, copy.message.broker
    frames = [frame for frame in wire.of_message(case, SENDS, copy.event) if frame.copies and frame.event <= copy.event]
    reported = [why_steps.invoked(one) for one in case.sends if one.event <= copy.event]
    reported += [why_steps.returned(one) for one in case.returns if one.status != "ok" and one.event <= copy.event]
    brokers: dict[str, object] = {"broker": first, "other": second}
    asked = [frame for frame in frames if frame.target == first and frame.event <= earlier.event][-1:]
    again = [frame for frame in frames if frame.target == second and frame not in asked][-1:]
    if first == second and asked and not again and asked[0].copies > 1:
        return "frame-doubled", brokers, [*reported, why_steps.frame_doubled(asked[0], wire.name_of(asked[0])), *steps]
    brokers["producer"] = why_steps.words([plain(one) for one in dict.fromkeys(one.node for one in case.sends)])
    if asked and again:
        brokers["producer"] = again[0].source
        lost = _answers_lost(case, asked[0], again[0].event)
        is_heard = any(wire.answers(case.evidence, asked[0], again[0].event))
        deaths = why_steps.deaths(case, first, earlier.event, again[0].event)
        if lost or (deaths and not is_heard):
            return "answer-lost", brokers, [*reported, *steps, *lost, *deaths]
    return ("sent-twice" if first == second else "sent-to-two"), brokers, [*reported, *steps]
