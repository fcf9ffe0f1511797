"""Films: a run, or recorded frames of real clients, as one file that the page plays."""

from __future__ import annotations

from typing import NotRequired, TypedDict

from app.foundation.json_types import JsonValue
from app.picture.frame import CommandFrame, Frame, FrameDetail
from app.picture.record import BareRecordView, FieldText
from app.picture.session.journal import JournalRow
from app.picture.session.why import Why
from app.picture.world.playing import PlayedWorld, PlayState, WorldIdentity
from app.picture.world.world import WorldParts


class SourceText(TypedDict):
    """A file of the engine."""

    lines: list[str]


class SourceFile(SourceText):
    """The same, with its name."""

    file: str


class FilmRecord(BareRecordView):
    """A record of a broker."""

    node: str


class FilmParts(TypedDict):
    """What every film has besides its first picture and its frames."""

    #: From picture to picture: the operations of ``app.foundation.patch``.
    patches: list[list[list[JsonValue]]]
    #: The event at which it opens.
    at: int
    journal: list[JournalRow]
    #: By file.
    sources: dict[str, SourceText]
    #: By "node offset stored_us".
    records: dict[str, FilmRecord]
    field_texts: dict[str, FieldText]
    #: By the key of a message.
    why: dict[str, Why]


class Film(FilmParts):
    """The film of a run."""

    view: PlayedWorld
    #: By number, like those of a recording.
    frames: dict[str, FrameDetail]


#: Part of a broker's state -> name of a row -> its values, see ``engine/testkit/broker_state.py``.
BrokerParts = dict[str, dict[str, list[int | str]]]


class RecordedNode(TypedDict):
    """A real client or broker: its frames, and what a broker of the test kit held then."""

    #: "wire_broker", "wire_producer" or "wire_consumer".
    role: str
    status: str
    incarnation: int
    skew_ms: int
    held: list[str]
    failure: str
    ip: str
    xa_roles: None
    full_name: str
    #: Empty for clients, and where it was not recorded.
    state: BrokerParts
    #: How many frames it has sent, and got.
    sent: int
    got: int


class RecordedWorld(WorldParts, PlayState):
    """A picture of recorded frames."""

    seed: None
    #: By their short names.
    nodes: dict[str, RecordedNode]
    world: WorldIdentity
    link: str
    #: In the first picture only, like the next.
    events_total: NotRequired[int]
    time_total_us: NotRequired[int]


class OfferedScenario(TypedDict):
    """A scenario of the lab that is like a recording."""

    text: str
    #: A run of it that has not begun, as a file for ``/lab``.
    run: str
    #: What it does not have of the recording, by language.
    left_out: list[dict[str, str]]


class RecordedFilm(FilmParts):
    """The film of recorded frames."""

    view: RecordedWorld
    scenario: NotRequired[OfferedScenario]
    frames: dict[str, CommandFrame]


class FrameStrip(TypedDict):
    """The newest recorded frames, for a sequence diagram."""

    #: Short name and full name.
    lanes: list[list[str]]
    frames: list[Frame]


#: Virtual time in us, and the operations that lead to this picture.
TimedPicture = list[int | list[list[JsonValue]]]


class DemonstrationChapter(TypedDict):
    """A chapter of the start page's film."""

    name: str
    #: Which run: 0 or 1.
    take: int
    begin_us: int
    end_us: int
    #: How long it takes to watch.
    play_ms: int
    #: How long the last picture stays then.
    rest_ms: int
    #: By language.
    text: dict[str, str]
    pictures: list[TimedPicture]


class Demonstration(TypedDict):
    """The start page's film."""

    #: Of the scenario in the lab.
    address: str
    #: Address of the lesson about it.
    lesson: str
    #: The first picture, without what the start page does not draw.
    view: dict[str, JsonValue]
    chapters: list[DemonstrationChapter]
