"""The explanation why a group never receives a message, by the evidence so far."""

from __future__ import annotations

from engine.lab.why import why_steps, wire
from engine.lab.why.answer import FoundCause, WhyAnswer, WhyQuestion, WhyStep, answer
from engine.lab.why.case import VISIBLE, Case, queue_of
from engine.lab.why.evidence import OffsetCommitted, Stored
from engine.protocol.message.message_copies import CopyKind
from engine.texts import Text

#: Most deliveries in an answer, the last ones.
_DELIVERIES_TOLD = 3
#: Characters of an error that a verdict repeats; the step has all of it.
_DETAIL_MAX = 120


def why_lost(case: Case) -> WhyAnswer | None:
    """Explain why a message was lost; None if it has been consumed, or may still be."""
    if not case.is_waiting:
        return None
    found = _find(case)
    if found is None:
        return None
    cause, arguments, steps = found
    acknowledged = next((one for one in case.returns if one.status == "ok"), None)
    steps += [why_steps.invoked(one) for one in case.sends[:1]]
    if acknowledged is not None:
        steps.append(why_steps.returned(acknowledged))
    elif cause in ("power-cut", "never-stored"):
        steps += [why_steps.returned(one) for one in case.returns]
    steps += why_steps.tries(case, _DELIVERIES_TOLD)
    verdict = Text(
        f"why.lost.{cause.replace('-', '_')}",
        key=case.key,
        group=case.subject.name,
        n=len(case.deliveries),
        acknowledged=Text("why.lost.acknowledged" if acknowledged is not None else "why.lost.not_acknowledged"),
        **arguments,
    )
    return answer(WhyQuestion.LOST, case.subject.name, cause, verdict, steps)


def _find(case: Case) -> FoundCause | None:
    copies = case.stored
    if not copies:
        return _never_stored(case)
    alive = [one for one in copies if not case.is_gone(one)]
    # A message that was given back is in a new copy: if a power cut took that, the old one is useless.
    failed = any(one.ended is not None for one in case.deliveries)
    if not alive or (failed and alive[-1] is not copies[-1] and alive[-1].kind in VISIBLE):
        cuts = [
            why_steps.node_changed(case, change)
            for change in case.changes
            if change.status == "crashed" and any(one.message.broker == change.node for one in case.gone)
        ]
        return (
            "power-cut",
            {"broker": copies[-1].message.broker},
            [why_steps.stored(copies[0]), *cuts, *(why_steps.gone(one) for one in case.gone[-1:])],
        )
    last = alive[-1]
    match last.kind:
        case CopyKind.DEAD:
            return _dead(case, last, copies)
        case CopyKind.GIVEN_UP:
            checks = [why_steps.stored(one) for one in copies if one.kind is CopyKind.HALF]
            return (
                "nobody-decided",
                {"broker": last.message.broker},
                [*checks, *map(why_steps.transaction, case.transactions), why_steps.stored(last)],
            )
        case CopyKind.HALF:
            return _rolled_back(case, last)
        case kind if kind in VISIBLE:
            return _passed(case, last)
    return None


def _never_stored(case: Case) -> FoundCause | None:
    if not case.sends or wire.not_heard(case) is not None:
        return None
    ended = {one.event for one in case.returns}
    deaths = why_steps.deaths(case, case.sends[-1].node, case.sends[-1].event, case.until)
    if len(ended) >= len(case.sends):
        last = case.returns[-1]
        detail = last.detail if len(last.detail) <= _DETAIL_MAX else f"{last.detail[:_DETAIL_MAX]}..."
        return "never-stored", {"producer": last.node, "detail": detail}, _brokers_down(case, last.event)
    if deaths:
        sender: dict[str, object] = {"producer": case.sends[-1].node, "detail": Text("why.lost.sender_died")}
        return "never-stored", sender, deaths[:1]
    return None


def _brokers_down(case: Case, event: int) -> list[WhyStep]:
    """Return how the brokers ended that did not run at that event."""
    last = {one.node: one for one in case.changes if one.event <= event}
    names = [broker.name for broker in case.world.brokers()]
    return [
        why_steps.node_changed(case, last[name]) for name in names if name in last and last[name].status == "crashed"
    ]


def _dead(case: Case, last: Stored, copies: list[Stored]) -> FoundCause:
    failed = [one for one in case.deliveries if not one.is_done]
    result = Text(f"why.result.{failed[-1].result}") if failed else Text("why.result.running")
    retries = [why_steps.stored(one) for one in copies if one.kind is CopyKind.DELAYED]
    return "dead-letter", {"result": result}, [*retries, why_steps.stored(last)]


def _rolled_back(case: Case, half: Stored) -> FoundCause | None:
    decided = case.half_decided(half)
    if decided is None or any(one.event >= decided for one in case.stored):
        return None
    entry = next(one for one in case.evidence.decisions if one.event == decided)
    text = Text("why.step.rolled_back", broker=entry.broker)
    step = WhyStep(entry.event, entry.time_us, entry.broker, "message", text)
    return (
        "rolled-back",
        {"broker": entry.broker},
        [why_steps.stored(half), *map(why_steps.transaction, case.transactions), step],
    )


def _passed(case: Case, last: Stored) -> FoundCause | None:
    """Return the answer if it is in its queue and the group has passed it."""
    dropped = [
        one
        for one in case.evidence.history.messages_dropped
        if one.key == case.key and one.event <= case.until and case.subject.node in ("", one.node)
    ]
    if dropped:
        text = Text("why.step.dropped", node=dropped[0].node)
        return "dropped", {}, [WhyStep(dropped[0].event, dropped[0].time_us, dropped[0].node, "fault", text)]
    message = last.message
    if message.commit_log_offset < case.evidence.min_offsets.get(message.broker, 0):
        return "expired", {"broker": message.broker}, [why_steps.stored(last)]
    queue = queue_of(last)
    members = [one for one in case.members if one.name in case.evidence.began]
    wanted = [one for one in members if case.evidence.wants(one, message)]
    deliveries = [one for one in case.deliveries if one.queue == queue]
    if members and not wanted and not deliveries:
        return "filtered", {}, [why_steps.stored(last)]
    commits = case.commits(queue)
    # A broker that is down may have lost its latest offset; an offset past the queue's end will be reset.
    if not commits or commits[-1].offset <= message.queue_offset or message.broker not in case.evidence.up:
        return None
    if commits[-1][2:6] in case.evidence.beyond:
        return None
    passing = _passing(commits, message.queue_offset)
    steps = [why_steps.stored(last), why_steps.committed(passing)]
    if not deliveries:
        other = next((one for one in members if one not in wanted), None)
        if other is not None:
            reported = {"first": wanted[0].name, "wanted": why_steps.subscription(wanted[0])}
            reported |= {"second": other.name, "other": why_steps.subscription(other)}
            place = {"queue": why_steps.queue_text(queue), "offset": message.queue_offset}
            return "members-differ", {**reported, **place}, steps
        before = [one for one in case.evidence.gone if one.event <= last.event and one.message.broker == message.broker]
        if any(one.message.place == message.place for one in before):
            deaths = why_steps.deaths(case, message.broker, 0, last.event)[-1:]
            place = {"broker": message.broker, "queue": why_steps.queue_text(queue), "offset": message.queue_offset}
            return "offset-again", {**place}, [*deaths, *steps]
        key = "began-later" if passing.before < 0 and passing.offset > message.queue_offset else "skipped"
        return key, {"queue": why_steps.queue_text(queue), "offset": message.queue_offset}, steps
    end = deliveries[-1]
    if end.result == "running":
        return None
    if end.died is not None and end.result == "died":
        steps.append(why_steps.node_changed(case, end.died))
        return "early-ack", {"node": end.began.node, "offset": message.queue_offset}, steps
    return "not-given-back", {"node": end.began.node, "result": Text(f"why.result.{end.result}")}, steps


def _passing(commits: list[OffsetCommitted], offset: int) -> OffsetCommitted:
    """Return the last commit that went past it."""
    return next((one for one in reversed(commits) if one.before <= offset < one.offset), commits[-1])
