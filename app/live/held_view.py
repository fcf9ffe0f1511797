"""Rules and held frames as JSON, for the page and for scripts."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, cast
from weakref import WeakKeyDictionary

from app.observation.unix_time import unix_us
from engine.faults.changed_frame import properties_of
from engine.faults.fault_rule import Direction, FaultRule
from engine.faults.frame_meaning import Ends, answered, reply_words, request_words
from engine.protocol.command.remoting_command import decode_command
from engine.protocol.request_code import SENDS, RequestCode

if TYPE_CHECKING:
    from app.observation.client_names import ClientNames
    from app.picture.live import fault
    from app.picture.world.world import Words
    from engine.faults.frame_record import FrameRecord
    from engine.faults.frame_subject import FrameSubject
    from engine.faults.held_frames import HeldFrame

#: Bytes of a held frame's body that are shown.
BODY_SHOWN_BYTES = 2_048

#: How long a RocketMQ client waits for an answer by default, in milliseconds: sendMsgTimeout, the pull's
#: consumerTimeoutMillisWhenSuspend, mqClientApiTimeout for the others; locks and offsets have their own.
_CLIENT_TIMEOUT_MS: dict[int, int] = {
    RequestCode.SEND_MESSAGE: 3_000,
    RequestCode.SEND_MESSAGE_V2: 3_000,
    RequestCode.SEND_BATCH_MESSAGE: 3_000,
    RequestCode.PULL_MESSAGE: 30_000,
    RequestCode.LOCK_BATCH_MQ: 1_000,
    RequestCode.UNLOCK_BATCH_MQ: 1_000,
    RequestCode.QUERY_CONSUMER_OFFSET: 5_000,
    RequestCode.CONSUMER_SEND_MSG_BACK: 5_000,
}
_OTHER_TIMEOUT_MS = 3_000
#: Meanings of frames that are held.
_meanings: WeakKeyDictionary[FrameSubject, Words] = WeakKeyDictionary()


def rule_view(rule: FaultRule, now_ms: int) -> fault.LiveFaultRule:
    """Return the fields of a rule, and when it ends."""
    view: dict[str, object] = {
        one.name: getattr(rule, one.name)
        for one in fields(rule)
        if one.name != "made_ms" and not one.name.startswith("_")
    }
    ends_in_ms = max(0, rule.made_ms + rule.for_ms - now_ms) if rule.for_ms else None
    view |= {
        "what": rule.what.value,
        "made_us": unix_us(rule.made_ms),
        "is_spent": rule.is_spent(now_ms),
        "ends_in_ms": ends_in_ms,
    }
    return cast("fault.LiveFaultRule", view)


def held_view(held: HeldFrame, broker: str, names: ClientNames, now_ms: int) -> fault.HeldFrame:
    """Return a held frame, and how long its client waits for it."""
    client_name = names.known(held.client)
    command = held.subject.command
    asked = command if not command.is_response else None
    if asked is None and held.subject.request is not None:
        asked = held.subject.request.command
    waits = asked is not None and not asked.is_oneway
    code = None if asked is None else asked.code
    body = command.body[:BODY_SHOWN_BYTES]
    return {
        "id": held.held_id,
        "rule": held.rule_id,
        "client": held.client,
        "client_name": client_name,
        "direction": held.direction.value,
        "name": held.subject.name,
        "meaning": _meaning(held, client_name or held.client, broker),
        "topics": [*held.subject.topics],
        "groups": [*held.subject.groups],
        "keys": [*held.subject.keys],
        "waiting_ms": max(0, now_ms - held.since_ms),
        "timeout_ms": _CLIENT_TIMEOUT_MS.get(code, _OTHER_TIMEOUT_MS) if waits and code is not None else None,
        "opaque": command.opaque,
        "code": command.code,
        "is_oneway": command.is_oneway,
        "remark": command.remark,
        "header": {**command.ext_fields},
        "properties": properties_of(command),
        "body": body.decode("utf-8", "replace"),
        "body_hex": body.hex(" "),
        "body_bytes": len(command.body),
        "frame_bytes": len(held.frame) + 4,
    }


def _meaning(held: HeldFrame, client: str, broker: str) -> Words:
    """Return the meaning of a frame, made once: its body may be large, and pages poll."""
    if held.subject not in _meanings:
        _meanings[held.subject] = _made_meaning(held, client, broker)
    return _meanings[held.subject]


def _made_meaning(held: HeldFrame, client: str, broker: str) -> Words:
    subject = held.subject
    ends = Ends(client, broker) if held.direction is Direction.IN else Ends(broker, client)
    if not subject.command.is_response:
        words = request_words(subject.name, subject.command, ends)
    elif subject.request is not None:
        asked = subject.request
        words = reply_words(asked.name, subject.command, asked.command, ends)
        words = words or answered(asked.name, subject.command, ends)
    else:
        words = answered("-", subject.command, ends)
    return dict(words.text) if words is not None else {}


def recorded_names(record: FrameRecord, names: ClientNames) -> dict[str, str]:
    """Return client of a record -> short name. One that has sent no heartbeat yet is named by what it sends."""
    found: dict[str, str] = {}
    for address, client in record.clients.items():
        sends = not names.known(client) and any(
            decode_command(one.frame).code in SENDS
            for one in record
            if one.address == address and one.direction is Direction.IN
        )
        found[client] = names.of(client, address, consumes=not sends)
    return found
