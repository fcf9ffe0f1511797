"""Frames that did not arrive as they were sent, if that explains something."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from engine.lab.scenario.frame_names import request_name
from engine.lab.why.case import Case
from engine.lab.why.evidence import Evidence
from engine.lab.witness.frame_log import SentParcel
from engine.protocol.command.remoting_command import RemotingCommand, decode_command
from engine.protocol.errors import ProtocolError
from engine.protocol.request_code import SENDS, RequestCode

OFFSETS = (RequestCode.UPDATE_CONSUMER_OFFSET,)
GIVING_BACK = (RequestCode.CONSUMER_SEND_MSG_BACK,)
ENDS = (RequestCode.END_TRANSACTION,)
NEWS_OF_MEMBERS = (RequestCode.NOTIFY_CONSUMER_IDS_CHANGED,)


def decoded(frame: SentParcel) -> RemotingCommand | None:
    """Return the frame's header; None if it is not a RocketMQ frame."""
    try:
        return decode_command(frame.data[4:])
    except ProtocolError:
        return None


def name_of(frame: SentParcel) -> str:
    """Return the name of a request, such as ``SEND_MESSAGE``."""
    command = decoded(frame)
    return "?" if command is None else request_name(command.code)


def fields_of(frame: SentParcel) -> Mapping[str, str]:
    """Return the fields of the frame's header."""
    command = decoded(frame)
    return {} if command is None else command.ext_fields


def requests(
    evidence: Evidence,
    codes: tuple[RequestCode, ...],
    between: tuple[int, int],
    *,
    source: str = "",
    needle: str = "",
    fields: Mapping[str, str] | None = None,
) -> Iterator[tuple[SentParcel, RemotingCommand]]:
    """Yield the requests of ``source`` (empty: any node) between two events, with ``needle`` and those header
    fields.
    """
    wanted, (after, before) = needle.encode(), between
    for frame in evidence.frames.frames(after, before):
        if (source and frame.source != source) or wanted not in frame.data:
            continue
        command = decoded(frame)
        if command is None or command.is_response or command.code not in codes:
            continue
        if all(command.ext_fields.get(name) == value for name, value in (fields or {}).items()):
            yield frame, command


def answers(evidence: Evidence, request: SentParcel, before: int) -> Iterator[SentParcel]:
    """Yield what was sent back for a request, up to an event."""
    asked = decoded(request)
    for frame in evidence.frames.frames(request.event, before):
        is_back = frame.source == request.target and frame.target == request.source
        if asked is None or not is_back:
            continue
        command = decoded(frame)
        if command is not None and command.is_response and command.opaque == asked.opaque:
            yield frame


def not_heard(case: Case) -> SentParcel | None:
    """Return a request that sends the message and may still be carried out: it has no answer, and its broker lives."""
    named = re.compile(rb"KEYS(\x01|\\u0001)" + re.escape(case.key.encode()) + rb"(?![\w-])")
    since = case.sends[0].event if case.sends else case.until
    for frame, _ in requests(case.evidence, SENDS, (since, case.until), needle=case.key):
        if not frame.copies or not named.search(frame.data) or any(answers(case.evidence, frame, case.until)):
            continue
        if frame.target in case.evidence.up and not case.crashes(frame.target, frame.event, case.until):
            return frame
    return None


def of_message(
    case: Case, codes: tuple[RequestCode, ...], before: int, fields: Mapping[str, str] | None = None
) -> list[SentParcel]:
    """Return requests up to an event that send a message or are about it: they name it by its unique id."""
    since = case.sends[0].event if case.sends else case.stored[0].event if case.stored else 0
    found = [
        frame
        for identity in dict.fromkeys(one.message.unique_key for one in case.stored)
        for frame, _ in requests(case.evidence, codes, (since, before), needle=identity, fields=fields)
    ]
    return sorted(found, key=lambda frame: frame.event)
