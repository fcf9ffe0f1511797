"""Frames that did not arrive as they were sent, where that explains something."""

from __future__ import annotations

from collections.abc import Iterator

from engine.lab.scenario.frame_names import request_name
from engine.lab.why.case import Case
from engine.lab.why.evidence import Sent
from engine.protocol.command.remoting_command import RemotingCommand, decode_command
from engine.protocol.errors import ProtocolError
from engine.protocol.request_code import RequestCode

SENDS = (RequestCode.SEND_MESSAGE, RequestCode.SEND_MESSAGE_V2, RequestCode.SEND_BATCH_MESSAGE)
OFFSETS = (RequestCode.UPDATE_CONSUMER_OFFSET,)
GIVING_BACK = (RequestCode.CONSUMER_SEND_MSG_BACK,)
ENDS = (RequestCode.END_TRANSACTION,)
NEWS_OF_MEMBERS = (RequestCode.NOTIFY_CONSUMER_IDS_CHANGED,)


def decoded(frame: Sent) -> RemotingCommand | None:
    """The frame's header; None for one that is none."""
    try:
        return decode_command(frame.data[4:])
    except ProtocolError:
        return None


def name_of(frame: Sent) -> str:
    """``SEND_MESSAGE``."""
    command = decoded(frame)
    return "?" if command is None else request_name(command.code)


def requests(
    case: Case, source: str, codes: tuple[RequestCode, ...], after: int, before: int, needle: str = ""
) -> Iterator[tuple[Sent, RemotingCommand]]:
    """Requests that ``source`` (empty: anybody) sent between two events and that hold ``needle``."""
    wanted = needle.encode()
    for frame in case.evidence.frames:
        if not after <= frame.event <= before or (source and frame.source != source) or wanted not in frame.data:
            continue
        command = decoded(frame)
        if command is not None and not command.is_response and command.code in codes:
            yield frame, command


def answers(case: Case, request: Sent, opaque: int, before: int) -> Iterator[Sent]:
    """What came back for a request, up to an event."""
    for frame in case.evidence.frames:
        is_back = frame.source == request.target and frame.target == request.source
        if not is_back or not request.event <= frame.event <= before:
            continue
        command = decoded(frame)
        if command is not None and command.is_response and command.opaque == opaque:
            yield frame


def of_message(case: Case, codes: tuple[RequestCode, ...], before: int) -> Iterator[Sent]:
    """Requests about a stored message, which they name by its unique id, up to an event or now."""
    for identity in dict.fromkeys(one.message.unique_key for one in case.stored):
        for frame, _ in requests(case, "", codes, case.stored[0].event, max(before, case.until), identity):
            yield frame
