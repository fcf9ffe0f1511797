"""What a frame is called: ``PULL_MESSAGE`` for a request, ``reply to PULL_MESSAGE`` for its answer.

A reply does not say what it answers, only the number of the request (``opaque``). So the last frames are remembered,
undecoded; only when somebody asks for the name of a reply they are searched for its request.
"""

from __future__ import annotations

from collections import deque

from engine.faults import frame_subject
from engine.faults.frame_subject import REPLY
from engine.protocol.command.remoting_command import RemotingCommand, decode_command
from engine.protocol.errors import ProtocolError
from engine.runtime.lab.lab_link_fault import Parcel, ParcelKind
from engine.xa.request_codes import XaRequestCode

#: How many frames back a request is searched for.
FRAMES_REMEMBERED = 4_096

_XA_NAMES = {code.value: code.name for code in XaRequestCode}


def request_name(code: int) -> str:
    """``PULL_MESSAGE``, or the number of an unknown code; two-phase commit has codes of its own."""
    return _XA_NAMES.get(code) or frame_subject.request_name(code)


class FrameNames:
    """Put :meth:`note` on the network's ``parcel_watchers``."""

    def __init__(self) -> None:
        #: Source, target and bytes of each.
        self._frames: deque[tuple[str, str, bytes]] = deque(maxlen=FRAMES_REMEMBERED)

    def note(self, parcel: Parcel, delays_us: tuple[int, ...]) -> None:
        """Remember a frame."""
        if parcel.kind is ParcelKind.FRAME:
            self._frames.append((parcel.source, parcel.target, parcel.data))

    def name_of(self, parcel: Parcel) -> str:
        """The frame's name; ``connection request`` and the like for other parcels."""
        if parcel.kind is not ParcelKind.FRAME:
            return str(parcel.kind.value)
        command = _decode(parcel.data)
        if command is None:
            return "malformed frame"
        if not command.is_response:
            return request_name(command.code)
        for source, target, data in reversed(self._frames):
            if source == parcel.target and target == parcel.source:
                request = _decode(data)
                if request is not None and not request.is_response and request.opaque == command.opaque:
                    return f"{REPLY} to {request_name(request.code)}"
        return REPLY


def _decode(frame: bytes) -> RemotingCommand | None:
    try:
        return decode_command(frame[4:])
    except ProtocolError:
        return None
