"""The explanation why a group received a message more than once."""

from __future__ import annotations

from engine.lab.nodes.history import CommandApplied
from engine.lab.scenario.switches import BROKER_LOCK, CONSUMING_FLAG, MESSAGE_QUEUE_LOCK, PROCESS_QUEUE_LOCK
from engine.lab.why import why_steps, wire
from engine.lab.why.another_copy import another_copy, copy_at, given_back
from engine.lab.why.answer import FoundCause, WhyAnswer, WhyQuestion, WhyStep, answer
from engine.lab.why.case import Case
from engine.lab.why.evidence import Held, MessagesPulled
from engine.lab.why.why_steps import names
from engine.lab.witness.deliveries import Delivery
from engine.protocol.command.remoting_command import RemotingCommand
from engine.texts import Text

#: Most pairs of deliveries that are explained.
_PAIRS_MAX = 6
#: Causes that are expected: another one comes first.
_EXPECTED = ("retry", "tried-again", "resent")


def why_twice(case: Case) -> WhyAnswer | None:
    """Explain why a message was delivered twice; None if it was not."""
    deliveries = case.deliveries
    if len(deliveries) < 2:
        return None
    steps: list[WhyStep] = []
    causes: list[tuple[str, dict[str, object]]] = []
    for nth, second in enumerate(deliveries[1:], 1):
        if nth > _PAIRS_MAX and nth < len(deliveries) - 1:
            continue
        # The same copy is more relevant than the last delivery.
        same = (one for one in range(nth - 1, -1, -1) if _is_same_copy(case, deliveries[one], second))
        before = next(same, nth - 1)
        first = deliveries[before]
        cause, arguments, between = _explain(case, first, second)
        named = {"first": first.began.node, "second": second.began.node, "queue": why_steps.queue_text(second.queue)}
        causes.append((cause, {**named, **arguments}))
        steps += [why_steps.began(case, first, before + 1), *between, why_steps.began(case, second, nth + 1)]
        steps += [step for one in (first, second) if (step := why_steps.ended(one)) is not None]
    cause, arguments = next((one for one in causes if one[0] not in _EXPECTED), causes[0])
    verdict = Text(
        f"why.twice.{cause.replace('-', '_')}",
        key=case.key,
        group=case.subject.name,
        n=len(deliveries),
        **arguments,
    )
    return answer(WhyQuestion.TWICE, case.subject.name, cause, verdict, steps)


def _is_same_copy(case: Case, first: Delivery, second: Delivery) -> bool:
    """Return whether both are the same copy. After a power cut another copy may be in the same place."""
    return first.place == second.place and copy_at(case, first) == copy_at(case, second)


def _explain(case: Case, first: Delivery, second: Delivery) -> FoundCause:
    """Return (cause, arguments of its sentence, steps between the two)."""
    if not _is_same_copy(case, first, second):
        return another_copy(case, first, second)
    end = first.end_event
    if end is None or end > second.began.event:
        return _at_once(case, first, second)
    if first.died is not None and first.ended is None:
        return f"{first.result}-in-listener", {}, [why_steps.node_changed(case, first.died), *_new_owner(case, second)]
    if first.is_done:
        return _not_committed(case, first, second)
    waits = [
        one
        for one in given_back(case, first.began.reconsume_times + 1)
        if first.began.event < one.event < second.began.event
    ]
    gain = _gain(case, second)
    if waits and gain is not None and gain.event > first.began.event:
        cause, arguments, steps = _not_committed(case, first, second)
        return cause, arguments, [*map(why_steps.stored, waits), *steps]
    result: dict[str, object] = {"result": Text(f"why.result.{first.result}")}
    if first.began.node != second.began.node:
        return "failed-and-moved", result, _new_owner(case, second)
    if case.is_orderly(first.began.node):
        return "tried-again", result, []
    copy = copy_at(case, first)
    offset = "" if copy is None else str(copy.message.commit_log_offset)
    asked = wire.requests(
        case.evidence,
        wire.GIVING_BACK,
        (first.began.event, second.began.event),
        source=first.began.node,
        fields={"group": case.subject.group, "offset": offset},
    )
    return (
        "not-given-back",
        result,
        [why_steps.frame_lost(one, wire.name_of(one)) for one, _ in asked if not one.copies],
    )


# --- the same copy, simultaneously -----------------------------------------------------------------------------------


def _at_once(case: Case, first: Delivery, second: Delivery) -> FoundCause:
    """Explain that the second listener got it while the first one still had it."""
    here, node, broker = second.began.event, second.began.node, first.began.broker
    unheard = wire.requests(
        case.evidence,
        wire.NEWS_OF_MEMBERS,
        (first.began.event, here),
        source=broker,
        fields={"consumerGroup": case.subject.group},
    )
    steps = [
        why_steps.frame_lost(one, wire.name_of(one))
        for one, _ in unheard
        if one.target == first.began.node and not one.copies
    ]
    steps += _new_owner(case, second)
    if not case.is_orderly(node):
        if kept := _kept(case, first, second):
            return kept
        return "two-workers" if first.began.node == node else "moved-while-running", {}, steps
    if first.began.node == node:
        for switch in (MESSAGE_QUEUE_LOCK, PROCESS_QUEUE_LOCK, CONSUMING_FLAG):
            if case.is_switched_off(switch, node, here):
                return (
                    "local-lock-off",
                    {"lock": Text(f"switch.{switch}.name")},
                    _switch_steps(case, switch, node, here),
                )
        return "two-workers", {}, steps
    gain = _gain(case, second)
    granted = here if gain is None else gain.event
    if case.is_switched_off(BROKER_LOCK, broker, granted):
        off = _switch_steps(case, BROKER_LOCK, broker, granted)
        return "broker-lock-off", {"broker": broker}, [*off, *steps]
    passes = [one for one in case.locks(second.queue, here) if one.event >= first.began.event]
    steps += [why_steps.locked(one) for one in passes]
    unlocked = [one for one in passes if one.before == first.began.node and not one.after]
    if unlocked and unlocked[-1].is_forgotten:
        return "locks-forgotten", {"broker": broker}, [*why_steps.deaths(case, broker, first.began.event, here), *steps]
    forced = _forced(case, first, here)
    if unlocked and forced:
        return "forced-unlock", {}, [*forced, *steps]
    if unlocked:
        if case.is_switched_off(PROCESS_QUEUE_LOCK, first.began.node, unlocked[-1].event):
            off = _switch_steps(case, PROCESS_QUEUE_LOCK, first.began.node, unlocked[-1].event)
            return "consume-lock-off", {}, [*off, *steps]
        return "unlocked-early", {}, steps
    if any(one.before == first.began.node for one in passes):
        return "lease-expired", {}, [*_standstills(case, first.began.node, 0, here), *steps]
    return "two-owners", {}, steps


def _switch_steps(case: Case, switch: str, node: str, event: int) -> list[WhyStep]:
    name = Text(f"switch.{switch}.name")
    switched = case.switch_command(switch, node, event)
    if switched is None:
        return [why_steps.always(0, node, "lock_off_always", lock=name)]
    return [why_steps.command(switched, node, "lock_off", lock=name)]


def _forced(case: Case, first: Delivery, before: int) -> list[WhyStep]:
    """Return the commands that made its consumer give the queue up."""
    return [
        why_steps.command(one, one.command.target, "forced_unlock", queue=why_steps.queue_text(first.queue))
        for one in _commands_to(case, first.began.node, ("forced-unlock",), first.began.event, before)
        if one.command.value.get("queue_id") == first.queue.queue_id
    ]


_STANDSTILLS = {"pause-node": "paused", "resume-node": "resumed"}


def _standstills(case: Case, node: str, after: int, before: int) -> list[WhyStep]:
    found = _commands_to(case, node, tuple(_STANDSTILLS), after, before)
    return [why_steps.command(one, node, _STANDSTILLS[one.command.kind]) for one in found]


def _commands_to(case: Case, node: str, kinds: tuple[str, ...], after: int, before: int) -> list[CommandApplied]:
    return [
        one
        for one in case.commands
        if one.command.kind in kinds and one.command.target == node and after <= one.event <= before
    ]


def _stood_still(case: Case, node: str, after: int, before: int) -> bool:
    """Return whether it was paused at ``before``, or for a while since ``after``."""
    commands = _commands_to(case, node, tuple(_STANDSTILLS), 0, before)
    return bool(commands) and (commands[-1].command.kind == "pause-node" or commands[-1].event > after)


# --- the same copy, one after the other ------------------------------------------------------------------------------


def _not_committed(case: Case, first: Delivery, second: Delivery) -> FoundCause:
    """Explain that the first listener was done, and the broker's offset did not include it when the next owner
    started.
    """
    assert first.ended is not None
    offset, done = first.began.queue_offset, first.ended.event
    gain = _gain(case, second)
    if gain is not None and gain.event <= first.began.event and first.began.node == second.began.node:
        return _same_owner(case, first)
    if kept := _kept(case, first, second):
        return kept
    lets_go = [
        one
        for one in case.holds(second.queue)
        if not one.is_gain and one.node == first.began.node and first.began.event <= one.event < done
    ]
    if lets_go:
        return _given_away(case, first, second, lets_go[-1])
    start = gain.event if gain is not None else second.began.event
    commits = [one for one in case.commits(second.queue) if one.event <= start]
    heard = [one for one in commits if one.offset > offset and one.event >= first.began.event]
    steps = [
        *_new_owner(case, second),
        *_around(case, first.began.node, second, first.began.event),
    ]
    back = next((one for one in reversed(commits) if one.before > offset >= one.offset), None)
    if back is not None and back.event >= first.began.event:
        cause = "offset-lost" if back.is_reload else "offset-went-back"
        reported = [*map(why_steps.committed, heard[:1]), why_steps.committed(back), *steps]
        named = {"broker": first.began.broker, "offset": back.offset, "before": back.before}
        died = why_steps.deaths(case, first.began.broker, first.began.event, back.event)
        return cause, dict(named), [*died, *reported]
    if commits and commits[-1].offset > offset:
        cause = "lost-queue" if second.began.node == first.began.node else "moved-before-commit"
        return cause, {}, [why_steps.committed(commits[-1]), *steps]
    lost = [
        why_steps.frame_lost(frame, wire.name_of(frame))
        for frame, command in wire.requests(
            case.evidence,
            wire.OFFSETS,
            (done, start),
            source=first.began.node,
            fields={
                "consumerGroup": case.subject.group,
                "topic": second.queue.topic,
                "queueId": str(second.queue.queue_id),
            },
        )
        if frame.target == first.began.broker and not frame.copies and _is_past(command, offset)
    ]
    deaths = why_steps.deaths(case, first.began.node, done, start)
    reported = [*deaths, *lost, *steps, *map(why_steps.committed, commits[-1:])]
    if deaths:
        return ("commit-lost-and-died" if lost else "died-before-commit"), {}, reported
    broker_deaths = why_steps.deaths(case, first.began.broker, done, start)
    if _stood_still(case, first.began.node, done, start):
        return "stood-still", {}, [*broker_deaths, *reported]
    if broker_deaths:
        return "broker-died", {"broker": first.began.broker}, [*broker_deaths, *reported]
    if lost:
        return "commit-lost", {}, reported
    return ("lost-queue" if second.began.node == first.began.node else "moved-before-commit"), {}, reported


def _kept(case: Case, first: Delivery, second: Delivery) -> FoundCause | None:
    """Explain that the second consumer had the queue before the other took it over, and did not know that it was
    lost.
    """
    gain, taken = _gain(case, second), _gain(case, first)
    if gain is None or taken is None or gain.event >= taken.event or gain.node == taken.node:
        return None
    steps = [why_steps.held(gain), why_steps.held(taken), *_around(case, gain.node, second, gain.event)]
    pulled = case.pulled(gain.node, second.queue, second.began.queue_offset, gain.event)
    if pulled is not None and pulled[0] <= second.began.event:
        steps.append(why_steps.pulled(gain.node, pulled))
    return "kept-queue", {}, steps


def _is_past(command: RemotingCommand, offset: int) -> bool:
    reported = command.ext_fields.get("commitOffset", "")
    return reported.isdigit() and int(reported) > offset


def _given_away(case: Case, first: Delivery, second: Delivery, lets_go: Held) -> FoundCause:
    """Explain that the queue got another owner while the first listener had the message, so its result no longer
    counted.
    """
    node = first.began.node
    steps = [
        why_steps.held(lets_go),
        *_new_owner(case, second),
        *_around(case, first.began.node, second, first.began.event),
    ]
    if not case.is_orderly(node):
        return ("moved-and-back" if second.began.node == node else "moved-while-running"), {}, steps
    if case.is_switched_off(PROCESS_QUEUE_LOCK, node, lets_go.event):
        return "consume-lock-off", {}, [*_switch_steps(case, PROCESS_QUEUE_LOCK, node, lets_go.event), *steps]
    if forced := _forced(case, first, lets_go.event):
        return "forced-unlock", {}, [*forced, *steps]
    return "unlocked-early", {}, steps


def _around(case: Case, node: str, second: Delivery, since: int) -> list[WhyStep]:
    """Return what kept a consumer from reporting its progress or from receiving frames, and where its lock went."""
    until = second.began.event
    cuts = [
        why_steps.cut(one)
        for one in case.commands
        if one.command.kind == "partition"
        and node in (*names(one, "left"), *names(one, "right"))
        and since <= one.event <= until
    ]
    passes = [why_steps.locked(one) for one in case.locks(second.queue, until) if one.event >= since]
    return [*_standstills(case, node, since, until), *cuts, *passes]


def _same_owner(case: Case, first: Delivery) -> FoundCause:
    """Explain a repeat without another owner: an orderly consumer repeats a batch of which one message failed."""
    batch = [
        one
        for one in case.world.witness.deliveries.up_to(case.until)
        if one.began.event == first.began.event and one.queue == first.queue and one.began.key != case.key
    ]
    failed = next((one for one in batch if one.ended is not None and not one.is_done), None)
    if failed is None or failed.ended is None:
        return "unknown", {}, []
    text = Text("why.step.other_failed", node=first.began.node, other=failed.began.key)
    step = WhyStep(failed.ended.event, failed.ended.time_us, first.began.node, "fault", text)
    return "batch-again", {"other": failed.began.key}, [step]


def _is_of(pull: MessagesPulled, gain: Held) -> bool:
    return pull.node == gain.node and pull.queue == gain.queue and pull.event >= gain.event


def _gain(case: Case, delivery: Delivery) -> Held | None:
    """Return how the listener's process got the queue."""
    return next(
        (
            one
            for one in reversed(case.holds(delivery.queue))
            if one.is_gain and one.node == delivery.began.node and one.event <= delivery.began.event
        ),
        None,
    )


def _new_owner(case: Case, second: Delivery) -> list[WhyStep]:
    """Return who released the queue and who took it over, and where in it that one began."""
    gain = _gain(case, second)
    if gain is None:
        return []
    lets_go = [one for one in case.holds(second.queue) if not one.is_gain and one.event <= second.began.event]
    steps = [why_steps.held(one) for one in lets_go[-1:]]
    commits = [one for one in case.commits(second.queue) if one.event <= gain.event]
    first = next((one.first for one in case.evidence.pulls if _is_of(one, gain)), None)
    steps.append(why_steps.begins_at(gain, first) if commits and first is not None else why_steps.held(gain))
    pulled = case.pulled(gain.node, second.queue, second.began.queue_offset, gain.event)
    if pulled is not None and pulled[0] <= second.began.event:
        steps.append(why_steps.pulled(gain.node, pulled))
    return steps
