"""Why a group got a message more than once."""

from __future__ import annotations

from itertools import pairwise

from engine.lab.nodes.consumer_role import ConsumerRole
from engine.lab.scenario.switches import BROKER_LOCK, CONSUMING_FLAG, MESSAGE_QUEUE_LOCK, PROCESS_QUEUE_LOCK
from engine.lab.why import telling, wire
from engine.lab.why.answer import Question, WhyAnswer, WhyStep, answer
from engine.lab.why.case import Case
from engine.lab.why.deliveries import Delivery
from engine.lab.why.evidence import Held, Pulled, Stored
from engine.lab.why.telling import names
from engine.protocol.message.message_copies import CopyKind, group_of_copy
from engine.protocol.request_code import RequestCode
from engine.texts import Text

#: Pairs of deliveries that are told of.
_PAIRS_MAX = 6
#: Causes that are how it should be: another one is told first.
_EXPECTED = ("retry", "tried-again", "resent")

_Found = tuple[str, dict[str, object], list[WhyStep]]


def why_twice(case: Case) -> WhyAnswer | None:
    """None: it did not."""
    deliveries = case.deliveries
    if len(deliveries) < 2:
        return None
    steps: list[WhyStep] = []
    causes: list[tuple[str, dict[str, object]]] = []
    for nth, (first, second) in enumerate(pairwise(deliveries), 1):
        if nth > _PAIRS_MAX and nth < len(deliveries) - 1:
            continue
        cause, arguments, between = _explain(case, first, second)
        causes.append((cause, {"first": first.began.node, "second": second.began.node, **arguments}))
        steps += [telling.began(case, first, nth), *between, telling.began(case, second, nth + 1)]
        steps += [step for one in (first, second) if (step := telling.ended(one)) is not None]
    cause, arguments = next((one for one in causes if one[0] not in _EXPECTED), causes[0])
    verdict = Text(
        f"why.twice.{cause.replace('-', '_')}",
        key=case.key,
        group=case.subject.name,
        n=len(deliveries),
        queue=telling.queue_text(deliveries[0].queue),
        **arguments,
    )
    return answer(Question.TWICE, case.subject.name, cause, verdict, steps)


def _explain(case: Case, first: Delivery, second: Delivery) -> _Found:
    """(cause, what its sentence needs, steps between the two)."""
    if first.place != second.place:
        return _another_copy(case, first, second)
    end = first.end_event
    if end is None or end > second.began.event:
        return _at_once(case, first, second)
    if first.died is not None and first.ended is None:
        return "died-in-listener", {}, [telling.node_changed(case, first.died), *_new_owner(case, second)]
    if not first.is_done:
        role = case.world.nodes[first.began.node]
        is_orderly = isinstance(role, ConsumerRole) and role.spec.orderly
        cause = "tried-again" if is_orderly else "not-given-back"
        return (
            cause,
            {"result": Text(f"why.result.{first.result}")},
            _lost_frames(case, first, second, wire.GIVING_BACK),
        )
    return _not_committed(case, first, second)


# --- another copy --------------------------------------------------------------------------------------------------


def _copy_at(case: Case, delivery: Delivery) -> Stored | None:
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


def _another_copy(case: Case, first: Delivery, second: Delivery) -> _Found:
    copy, earlier = _copy_at(case, second), _copy_at(case, first)
    if copy is None:
        return "unknown", {}, []
    if copy.kind is CopyKind.RESENT:
        dead = [telling.stored(one) for one in case.stored if one.kind is CopyKind.DEAD and one.event < copy.event]
        return "resent", {}, [*dead, telling.stored(copy)]
    if second.began.reconsume_times > first.began.reconsume_times:
        waits = [
            one
            for one in case.stored
            if one.kind is CopyKind.DELAYED
            and one.message.reconsume_times == second.began.reconsume_times
            and first.began.event <= one.event <= copy.event
        ]
        result = first.result if first.ended is not None and waits and first.ended.event <= waits[-1].event else ""
        steps = [telling.stored(one) for one in (*waits, copy)]
        if not result:
            return "timed-out", {}, steps
        return "retry", {"result": Text(f"why.result.{result}")}, steps
    steps = [telling.stored(one) for one in (earlier, copy) if one is not None]
    halves = [one for one in case.stored if one.kind is CopyKind.HALF]
    if halves:
        sent = [frame for frame in wire.of_message(case, wire.ENDS, copy.event) if frame.event <= copy.event]
        ends = [_end_step(frame.event, frame.time_us, frame.source) for frame in sent]
        return "committed-twice", {}, [telling.stored(halves[0]), *ends, *steps]
    if group_of_copy(copy.message) is not None:
        return _given_back_twice(case, copy, steps)
    return _sent_twice(case, earlier, copy, steps)


def _given_back_twice(case: Case, copy: Stored, steps: list[WhyStep]) -> _Found:
    """Two copies for the same try: the consumer did not know that the broker had the first one."""
    waits = [
        telling.stored(one)
        for one in case.stored
        if one.kind is CopyKind.DELAYED and one.message.reconsume_times == copy.message.reconsume_times
    ]
    lost = [
        telling.frame_lost(back, f"reply to {wire.name_of(frame)}")
        for frame in wire.of_message(case, wire.GIVING_BACK, copy.event)
        if (command := wire.decoded(frame)) is not None
        for back in wire.answers(case, frame, command.opaque, copy.event)
        if not back.copies
    ]
    return "given-back-twice", {"broker": copy.message.broker}, [*waits, *lost, *steps]


def _end_step(event: int, time_us: int, node: str) -> WhyStep:
    return WhyStep(event, time_us, node, "message", Text("why.step.ends_transaction", node=node))


def _sent_twice(case: Case, earlier: Stored | None, copy: Stored, steps: list[WhyStep]) -> _Found:
    """The same message lies in two places: who sent it again, and why?"""
    since = case.sends[0].event if case.sends else 0
    broker = copy.message.broker
    frames = list(wire.requests(case, "", wire.SENDS, since, copy.event, case.key))
    for frame, _ in frames:
        if frame.copies > 1:
            return "frame-doubled", {"broker": broker}, [telling.frame_doubled(frame, wire.name_of(frame)), *steps]
    told = [telling.invoked(one) for one in case.sends]
    told += [telling.returned(one) for one in case.returns if one.status != "ok" and one.event <= copy.event]
    lost = []
    for frame, command in frames:
        if earlier is not None and frame.target == earlier.message.broker and frame.event <= earlier.event:
            lost += [
                telling.frame_lost(one, f"reply to {wire.name_of(frame)}")
                for one in wire.answers(case, frame, command.opaque, copy.event)
                if not one.copies
            ]
    sender = frames[-1][0].source if frames else (case.sends[-1].node if case.sends else "?")
    cause = "answer-lost" if lost else "sent-twice"
    return cause, {"producer": sender, "broker": broker}, [*told, *lost, *steps]


# --- the same copy, at once ----------------------------------------------------------------------------------------


def _at_once(case: Case, first: Delivery, second: Delivery) -> _Found:
    """The second listener got it while the first one still had it."""
    here, node = second.began.event, second.began.node
    unheard = wire.requests(case, first.began.broker, wire.NEWS_OF_MEMBERS, first.began.event, here)
    steps = [
        telling.frame_lost(one, wire.name_of(one))
        for one, _ in unheard
        if one.target == first.began.node and not one.copies
    ]
    steps += _new_owner(case, second)
    role = case.world.nodes[node]
    if not (isinstance(role, ConsumerRole) and role.spec.orderly):
        return "moved-while-running", {}, steps
    if first.began.node == node:
        for switch in (MESSAGE_QUEUE_LOCK, PROCESS_QUEUE_LOCK, CONSUMING_FLAG):
            if case.is_switched_off(switch, node, here):
                return (
                    "local-lock-off",
                    {"lock": Text(f"switch.{switch}.name")},
                    _switch_steps(case, switch, node, here),
                )
        return "two-workers", {}, steps
    if case.is_switched_off(BROKER_LOCK, first.began.broker, here):
        off = _switch_steps(case, BROKER_LOCK, first.began.broker, here)
        return "broker-lock-off", {"broker": first.began.broker}, [*off, *steps]
    passes = [
        one
        for one in case.evidence.locks
        if one.queue == second.queue and one.group == case.subject.group and first.began.event <= one.event <= here
    ]
    steps += [telling.locked(one) for one in passes]
    unlocked = [one for one in passes if one.before == first.began.node and not one.after]
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
        return [telling.always(0, node, "lock_off_always", lock=name)]
    return [telling.command(switched, node, "lock_off", lock=name)]


def _standstills(case: Case, node: str, after: int, before: int) -> list[WhyStep]:
    keys = {"pause-node": "paused", "resume-node": "resumed"}
    return [
        telling.command(one, node, keys[one.command.kind])
        for one in case.commands
        if one.command.kind in keys and one.command.target == node and after <= one.event <= before
    ]


# --- the same copy, one after the other ----------------------------------------------------------------------------


def _not_committed(case: Case, first: Delivery, second: Delivery) -> _Found:
    """The first listener was done, and the broker's offset did not say so when the next owner asked."""
    assert first.ended is not None
    offset, done = first.began.queue_offset, first.ended.event
    gain = _gain(case, second)
    if gain is not None and gain.event <= first.began.event and first.began.node == second.began.node:
        return _same_owner(case, first)
    lets_go = [
        one
        for one in case.holds(second.queue)
        if not one.is_gain and one.node == first.began.node and first.began.event <= one.event < done
    ]
    if lets_go:
        return _given_away(case, first, second, lets_go[-1])
    start = gain.event if gain is not None else second.began.event
    commits = [one for one in case.commits(second.queue) if one.event <= start]
    steps = [*_new_owner(case, second), *_around(case, first, second)]
    back = next((one for one in reversed(commits) if one.before > offset >= one.offset), None)
    if back is not None:
        return "offset-went-back", {"offset": back.offset, "before": back.before}, [telling.committed(back), *steps]
    if commits and commits[-1].offset > offset:
        deaths = case.crashes(first.began.broker, commits[-1].event, second.began.event)
        told = [telling.committed(commits[-1]), *(telling.node_changed(case, one) for one in deaths)]
        # Without a death the next owner asked before that.
        cause = "offset-lost" if deaths else "moved-before-commit"
        return cause, {"broker": first.began.broker}, [*told, *steps]
    lost = _lost_frames(case, first, second, wire.OFFSETS, after=done)
    deaths = case.crashes(first.began.node, done, second.began.event)
    told = [*(telling.node_changed(case, one) for one in deaths), *lost, *steps]
    if commits:
        told.append(telling.committed(commits[-1]))
    if deaths:
        return ("commit-lost-and-died" if lost else "died-before-commit"), {}, told
    broker_deaths = case.crashes(first.began.broker, done, second.began.event)
    if broker_deaths:
        told += [telling.node_changed(case, one) for one in broker_deaths]
        return "offset-lost", {"broker": first.began.broker}, told
    if _standstills(case, first.began.node, first.began.event, second.began.event):
        return "stood-still", {}, told
    return ("commit-lost" if lost else "moved-before-commit"), {}, told


def _given_away(case: Case, first: Delivery, second: Delivery, lets_go: Held) -> _Found:
    """The queue went to somebody else while the first listener had the message, and what it did no longer counted."""
    node = first.began.node
    steps = [telling.held(lets_go), *_new_owner(case, second), *_around(case, first, second)]
    if case.is_switched_off(PROCESS_QUEUE_LOCK, node, lets_go.event):
        return "consume-lock-off", {}, [*_switch_steps(case, PROCESS_QUEUE_LOCK, node, lets_go.event), *steps]
    role = case.world.nodes[node]
    is_orderly = isinstance(role, ConsumerRole) and role.spec.orderly
    return ("unlocked-early" if is_orderly else "moved-while-running"), {}, steps


def _around(case: Case, first: Delivery, second: Delivery) -> list[WhyStep]:
    """What kept the first consumer from saying how far it had come, and how its lock went to another."""
    since, until = first.began.event, second.began.event
    cuts = [
        telling.cut(one)
        for one in case.commands
        if one.command.kind == "partition"
        and first.began.node in (*names(one, "left"), *names(one, "right"))
        and since <= one.event <= until
    ]
    passes = [
        telling.locked(one)
        for one in case.evidence.locks
        if one.queue == second.queue and one.group == case.subject.group and since <= one.event <= until
    ]
    return [*_standstills(case, first.began.node, since, until), *cuts, *passes]


def _same_owner(case: Case, first: Delivery) -> _Found:
    """Nobody else had the queue in between: an orderly consumer takes a batch anew of which one message failed."""
    batch = [
        one
        for one in case.evidence.deliveries(case.until)
        if one.began.event == first.began.event and one.queue == first.queue and one.began.key != case.key
    ]
    failed = next((one for one in batch if one.ended is not None and not one.is_done), None)
    if failed is None or failed.ended is None:
        return "unknown", {}, []
    text = Text("why.step.other_failed", node=first.began.node, other=failed.began.key)
    step = WhyStep(failed.ended.event, failed.ended.time_us, first.began.node, "fault", text)
    return "batch-again", {"other": failed.began.key}, [step]


def _is_of(pull: Pulled, gain: Held) -> bool:
    return pull.node == gain.node and pull.queue == gain.queue and pull.event >= gain.event


def _lost_frames(
    case: Case, first: Delivery, second: Delivery, codes: tuple[RequestCode, ...], after: int | None = None
) -> list[WhyStep]:
    since = first.began.event if after is None else after
    found = wire.requests(case, first.began.node, codes, since, second.began.event)
    return [telling.frame_lost(one, wire.name_of(one)) for one, _ in found if not one.copies]


def _gain(case: Case, delivery: Delivery) -> Held | None:
    """How the listener's process came by the queue."""
    return next(
        (
            one
            for one in reversed(case.holds(delivery.queue))
            if one.is_gain and one.node == delivery.began.node and one.event <= delivery.began.event
        ),
        None,
    )


def _new_owner(case: Case, second: Delivery) -> list[WhyStep]:
    """Who let go of the queue and who took it over, and where in it that one began."""
    gain = _gain(case, second)
    if gain is None:
        return []
    lets_go = [one for one in case.holds(second.queue) if not one.is_gain and one.event <= second.began.event]
    steps = [telling.held(one) for one in lets_go[-1:]]
    commits = [one for one in case.commits(second.queue) if one.event <= gain.event]
    first = next((one.first for one in case.evidence.pulls if _is_of(one, gain)), None)
    steps.append(telling.begins_at(gain, first) if commits and first is not None else telling.held(gain))
    pulled = case.pulled(gain.node, second.queue, second.began.queue_offset, gain.event)
    if pulled is not None and pulled[0] <= second.began.event:
        steps.append(telling.pulled(gain.node, pulled))
    return steps
