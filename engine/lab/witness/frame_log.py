"""The frames of a world, as bytes: noted when they are sent, decoded when something asks.

A reply does not contain the name of its request, only its number: the request is searched for among the last frames.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from engine.faults.frame_subject import REPLY
from engine.lab.scenario.frame_names import FrameReader, FrameReading
from engine.runtime.lab.lab_link_fault import Parcel, ParcelKind
from engine.runtime.lab.lab_runtime import LabMachines

#: The newest parcels that a world remembers, and their bytes together: a pull may wait that long for its reply.
PARCELS_REMEMBERED = 4_096
BYTES_REMEMBERED = 16 << 20
#: The newest frames of which the decoded content is kept.
READINGS_KEPT = 1_024

_FRAME = ParcelKind.FRAME.name


class SentParcel(NamedTuple):
    """A parcel that was handed to a link.

    :ivar number: the number among all parcels of the world: the same in every re-execution of a run.
    :ivar event: the number of the event that sent it.
    :ivar kind: the name of a :class:`~engine.runtime.lab.lab_link_fault.ParcelKind`.
    :ivar delays_us: of each copy that arrives; empty: none does.
    :ivar cut_share: how far it had come when it was lost in flight: 0 to 1. None: it was not, or the link dropped it.
    """

    number: int
    event: int
    time_us: int
    kind: str
    source: str
    target: str
    data: bytes
    delays_us: tuple[int, ...]
    cut_share: float | None

    @property
    def is_frame(self) -> bool:
        """Return whether it is a frame, not a step of a connection."""
        return self.kind == _FRAME

    @property
    def copies(self) -> int:
        """Return how many copies of it arrive."""
        return len(self.delays_us)

    @property
    def is_dropped(self) -> bool:
        """Return whether the link did not accept it."""
        return not self.delays_us and self.cut_share is None

    @property
    def arrives_us(self) -> int:
        """Return when its first copy arrives; when it was sent, if none does."""
        return self.time_us + min(self.delays_us, default=0)


#: A parcel as it is kept: a plain tuple of texts and numbers costs Python's garbage collector nothing, see
#: :mod:`engine.runtime.lab.lab_journal`.
_Row = tuple[int, int, int, str, str, str, bytes, tuple[int, ...], float | None]


class FrameLog:
    """The parcels that the links of a world have accepted or dropped, from the first one on.

    :ivar count: how many there were.
    :ivar frame_count: how many of them were frames.
    """

    def __init__(self, lab: LabMachines, reader: FrameReader) -> None:
        self.count = 0
        self.frame_count = 0
        self._reader = reader
        self._loop = lab.loop
        self._rows: deque[_Row] = deque()
        self._bytes = 0
        self._parcels_max = PARCELS_REMEMBERED
        self._bytes_max = BYTES_REMEMBERED
        #: Number -> content, and the request that it answers.
        self._known: dict[int, tuple[FrameReading | None, SentParcel | None]] = {}
        lab.network.parcel_watchers.append(self._note)
        lab.network.cut_watchers.append(self._cut)

    def remember(self, parcels: int, size_bytes: int) -> None:
        """Remember another number of parcels than usual from now on."""
        self._parcels_max, self._bytes_max = parcels, size_bytes
        self._forget()

    def _note(self, parcel: Parcel, delays_us: tuple[int, ...]) -> None:
        kind, source, target, data = parcel
        self.count += 1
        if kind is ParcelKind.FRAME:
            self.frame_count += 1
            name = _FRAME
        else:
            name = kind.name
        loop, rows = self._loop, self._rows
        rows.append((self.count, loop.event_number, loop.schedule.now_us, name, source, target, data, delays_us, None))
        self._bytes += len(data)
        if len(rows) > self._parcels_max or self._bytes > self._bytes_max:
            self._forget()

    def _forget(self) -> None:
        """Forget the oldest parcels; the newest one stays, however large it is."""
        while len(self._rows) > 1 and (len(self._rows) > self._parcels_max or self._bytes > self._bytes_max):
            self._bytes -= len(self._rows.popleft()[6])

    def _cut(self, parcel: Parcel) -> None:
        """Note that a frame in flight does not arrive."""
        rows = self._rows
        for place in range(len(rows) - 1, -1, -1):
            sent = SentParcel(*rows[place])
            if sent.data is parcel.data and (sent.source, sent.target) == (parcel.source, parcel.target):
                if sent.delays_us:
                    passed_us = self._loop.schedule.now_us - sent.time_us
                    share = min(1.0, passed_us / max(1, *sent.delays_us))
                    rows[place] = (*rows[place][:7], (), share)
                return

    # --- parcels -----------------------------------------------------------------------------------------------------

    @property
    def oldest(self) -> SentParcel | None:
        """Return the oldest parcel that is remembered."""
        return SentParcel(*self._rows[0]) if self._rows else None

    @property
    def newest(self) -> SentParcel:
        """Return the parcel that was sent last; a watcher of parcels asks for the one that it is called with."""
        return SentParcel(*self._rows[-1])

    def parcel(self, number: int) -> SentParcel | None:
        """Return the parcel with that number; None if it is not remembered, or was not sent yet."""
        if not self._rows or not self._rows[0][0] <= number <= self.count:
            return None
        return SentParcel(*self._rows[number - self._rows[0][0]])

    def after(self, number: int) -> Iterator[SentParcel]:
        """Yield the remembered parcels with larger numbers, the oldest first."""
        fresh = max(0, min(self.count - number, len(self._rows)))
        return (SentParcel(*row) for row in reversed([*islice(reversed(self._rows), fresh)]))

    def frames(self, first_event: int, last_event: int) -> Iterator[SentParcel]:
        """Yield the remembered frames that were sent between two events, the oldest first."""
        for row in self._rows:
            if first_event <= row[1] <= last_event and row[3] == _FRAME:
                yield SentParcel(*row)

    def newest_frames(self, most: int) -> Iterator[SentParcel]:
        """Yield the last ``most`` frames, the last one first."""
        return (SentParcel(*row) for row in islice((row for row in reversed(self._rows) if row[3] == _FRAME), most))

    # --- content -----------------------------------------------------------------------------------------------------

    def reading(self, frame: SentParcel) -> FrameReading | None:
        """Return the decoded content; None if the frame cannot be decoded."""
        return self._known_of(frame)[0]

    def request_of(self, reply: SentParcel) -> SentParcel | None:
        """Return the remembered request that ``reply`` answers."""
        return self._known_of(reply)[1]

    def request_name_of(self, frame: SentParcel) -> str:
        """Return the name of the request, or of the request that it answers; empty if that is unknown."""
        said, request = self._known_of(frame)
        if said is None or said.name:
            return "" if said is None else said.name
        asked = None if request is None else self.reading(request)
        return "" if asked is None else asked.name

    def name_of(self, frame: SentParcel) -> str:
        """Return ``PULL_MESSAGE`` for a request, and ``reply to PULL_MESSAGE`` for its answer."""
        said, request = self._known_of(frame)
        return _name(said, request and self.reading(request))

    def name_of_next(self, parcel: Parcel) -> str:
        """Return the name of a frame about to be sent; ``connection request`` and the like for other parcels."""
        if parcel.kind is not ParcelKind.FRAME:
            return str(parcel.kind.value)
        said = self._reader.read(parcel.source, parcel.target, parcel.data)
        request = None
        if said is not None and not said.name:
            request = self._find_request(parcel.source, parcel.target, said.number, self.count + 1)
        return _name(said, request and self.reading(request))

    def _known_of(self, frame: SentParcel) -> tuple[FrameReading | None, SentParcel | None]:
        known = self._known.get(frame.number)
        if known is None:
            said = self._reader.read(frame.source, frame.target, frame.data) if frame.is_frame else None
            request = None
            if said is not None and not said.name:
                request = self._find_request(frame.source, frame.target, said.number, frame.number)
            if len(self._known) >= READINGS_KEPT:
                del self._known[next(iter(self._known))]
            known = self._known[frame.number] = said, request
        return known

    def _find_request(self, source: str, target: str, wanted: int, before: int) -> SentParcel | None:
        """Return the newest request before parcel ``before`` that a reply from ``source`` to ``target`` answers."""
        as_text, as_bytes = b'"opaque":%d' % wanted, wanted.to_bytes(4, "big", signed=True)
        of_raft = b'"number": %d,' % wanted
        for row in reversed(self._rows):
            number, _, _, kind, asked_by, asked, data, _, _ = row
            if asked_by != target or asked != source or kind != _FRAME or number >= before:
                continue
            # Searching for the digits first avoids decoding the hundreds of frames that others sent meanwhile.
            if as_text not in data and as_bytes not in data and of_raft not in data:
                continue
            request = SentParcel(*row)
            said = self.reading(request)
            if said is not None and said.name and said.number == wanted:
                return request
        return None


def _name(said: FrameReading | None, request: FrameReading | None) -> str:
    if said is None:
        return "malformed frame"
    return said.name or (REPLY if request is None else f"{REPLY} to {request.name}")
