"""What the start page shows: half a minute of a real world, as a film with captions.

The world is the scenario ``start-page``, run by the engine of this server. The film is cut where something happens,
not at fixed times: the world is run once to find these places, and once more to take the pictures. All visitors see one
film, which is made when the first of them comes.

address    of the scenario in the lab
view       the first picture: a view without what the start page does not draw
pictures   [virtual time, operations that lead to the next picture, see app.patch]
chapters   name, begin_us, end_us, play_ms (how long it takes to watch), rest_ms (then the last picture stays so long),
           text {en, zh}
"""

from __future__ import annotations

import gzip
import hashlib
import threading
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future
from dataclasses import dataclass

from app.json_text import dump_json
from app.json_types import JsonObject, JsonValue
from app.lab.world_view import WorldView
from app.patch import difference
from app.translator import LANGUAGES, translate
from engine.lab.broker_role import BrokerRole
from engine.lab.condition import Condition, ConditionKind
from engine.lab.condition_watch import ConditionWatch
from engine.lab.consumer_role import ConsumerRole
from engine.lab.history import ConsumeBegan
from engine.lab.run import LabRun
from engine.lab.scenario_files import load_scenario

SCENARIO = "start-page"
#: Time between two pictures when one watches.
PICTURE_MS = 80
#: The film begins so long before the producer does something.
_LEAD_US = 1_000
#: A chapter that has not come to its end after so many events never will.
_CHAPTER_EVENTS_MAX = 5_000

#: Parts of a view that the start page draws.
_SHOWN = ("scenario", "title", "event", "time_us", "is_over", "nodes", "frames", "faults", "commands")


#: Whether a chapter of a run, which begins now, has come to its end; asked after each event.
Ending = Callable[[LabRun], Callable[[], bool]]


@dataclass(frozen=True, slots=True)
class Chapter:
    """One caption."""

    name: str
    play_ms: int
    rest_ms: int
    ending: Ending


@dataclass(frozen=True, slots=True)
class Cut:
    """Where a chapter ends: event number and virtual time."""

    event: int
    time_us: int


# --- what the chapters wait for ------------------------------------------------------------------------------------


def _broker(run: LabRun) -> BrokerRole:
    return run.world.brokers()[0]


def _consumer(run: LabRun, name: str) -> ConsumerRole:
    role = run.world.nodes[name]
    assert isinstance(role, ConsumerRole)
    return role


def _met(condition: Condition) -> Ending:
    return lambda run: ConditionWatch(run.world, condition).is_met


def _when(function: Callable[[LabRun], bool]) -> Ending:
    return lambda run: lambda: function(run)


def _is_stored(run: LabRun) -> bool:
    """In the commit log, and in its queue."""
    broker = _broker(run).broker
    return broker is not None and 0 < broker.store.commit_log_max_offset == broker.store.dispatched_offset


def _is_taken_over(run: LabRun) -> bool:
    """C1 owns all queues of its topic."""
    role = _consumer(run, "C1")
    owned = role.consumer.process_queues if role.consumer is not None else {}
    count = next(topic.queues for topic in run.scenario.topics if topic.name == role.spec.topic)
    return sum(queue.topic == role.spec.topic for queue in owned) == count


def consumed_again(run: LabRun) -> list[ConsumeBegan]:
    """What C1 was given although C2 had finished it."""
    history = run.world.history
    done = {ended.key for ended in history.consumes_ended if ended.node == "C2"}
    return [began for began in history.consumes_began if began.node == "C1" and began.key in done]


def _has_come_again(run: LabRun) -> bool:
    again = {began.key for began in consumed_again(run)}
    return any(ended.node == "C1" and ended.key in again for ended in run.world.history.consumes_ended)


def _is_all_consumed(run: LabRun) -> bool:
    history = run.world.history
    stored = {sent.key for sent in history.sends_returned if sent.status == "ok"}
    left = stored.difference(ended.key for ended in history.consumes_ended)
    consumer = _consumer(run, "C1").consumer
    return not left and consumer is not None and all(not queue.msg_count for queue in consumer.process_queues.values())


CHAPTERS = (
    Chapter("route", 4_200, 0, _met(Condition(ConditionKind.FRAME, "P1", "SEND_MESSAGE"))),
    Chapter("send", 2_400, 1_600, _when(_is_stored)),
    Chapter("pull", 2_600, 400, _met(Condition(ConditionKind.CONSUME_BEGINS))),
    Chapter("consume", 2_200, 400, _met(Condition(ConditionKind.CONSUMED))),
    Chapter("many", 5_400, 0, _met(Condition(ConditionKind.COMMAND, "C2"))),
    Chapter("kill", 3_600, 800, _when(_is_taken_over)),
    Chapter("again", 3_600, 600, _when(_has_come_again)),
    Chapter("end", 2_800, 0, _when(_is_all_consumed)),
)


# --- the film ------------------------------------------------------------------------------------------------------


class DemonstrationMaker:
    """Takes the film in slices; see :class:`app.lab.worlds.FilmJob`."""

    def __init__(self, answer: Future[JsonObject]) -> None:
        self.answer = answer
        self._scenario = load_scenario(SCENARIO)
        self._runs: list[LabRun] = []
        self._slices = self._make()

    def advance(self, until: Callable[[], bool]) -> bool:
        """Go on until ``until()``; True when the film is done."""
        for film in self._slices:
            if film is not None:
                self.answer.set_result(film)
                return True
            if until():
                return False
        return True

    def close(self) -> None:
        """Free the runs."""
        self._slices.close()
        for run in self._runs:
            run.close()

    def _run(self, *, check: bool) -> LabRun:
        run = LabRun(self._scenario, check=check)
        self._runs.append(run)
        return run

    def _make(self) -> Generator[JsonObject | None, None, None]:
        """The film in the end, None after each slice of work."""
        begin_us = min(traffic.start_ms for node in self._scenario.nodes for traffic in node.traffic) * 1_000 - _LEAD_US
        cuts: list[Cut] = []
        for cut in self._find_cuts(begin_us):
            yield None
            if cut is not None:
                cuts.append(cut)
        run = self._run(check=True)
        view = WorldView(run)
        run.run_to_time(begin_us)
        first = last = _picture(view)
        pictures: list[JsonValue] = []
        for _ in self._go_through(run, cuts):
            picture = _picture(view)
            pictures.append([run.now_us, [*difference(last, picture)]])
            last = picture
            yield None
        yield {
            "address": f"/lab/{SCENARIO}",
            "view": first,
            "pictures": pictures,
            "chapters": _chapters(run, begin_us, cuts),
        }

    def _find_cuts(self, begin_us: int) -> Iterator[Cut | None]:
        run = self._run(check=False)
        run.run_to_time(begin_us)
        for chapter in CHAPTERS:
            is_over = chapter.ending(run)
            for count in range(_CHAPTER_EVENTS_MAX):
                assert run.step(), f"the world ends before chapter {chapter.name} of the start page's film"
                if is_over():
                    yield Cut(run.event_number, run.now_us)
                    break
                if count % 20 == 0:
                    yield None
            else:
                raise AssertionError(f"chapter {chapter.name} of the start page's film has no end")

    def _go_through(self, run: LabRun, cuts: list[Cut]) -> Iterator[None]:
        """Stops wherever a picture is due: something has happened, and the last picture is old enough."""
        for chapter, cut in zip(CHAPTERS, cuts, strict=True):
            begin_us = run.now_us
            count = max(1, chapter.play_ms // PICTURE_MS)
            for number in range(1, count):
                if run.run_to_time(begin_us + (cut.time_us - begin_us) * number // count) > 0:
                    yield
            run.run_events(cut.event - run.event_number)
            yield


def _picture(view: WorldView) -> JsonObject:
    whole = view.build()
    return {name: whole[name] for name in _SHOWN}


def _chapters(run: LabRun, begin_us: int, cuts: list[Cut]) -> list[JsonValue]:
    """The captions; figures in them come from the run."""
    again = {began.key: None for began in consumed_again(run)}
    values: dict[str, object] = {
        "orders": sum(sent.status == "ok" for sent in run.world.history.sends_returned),
        "again": len(again),
        "order": next(iter(again)),
        "invariants": 0 if run.checkers is None or run.violations else len(run.checkers.checkers),
        "events": f"{run.event_number:,}",
    }
    chapters: list[JsonValue] = []
    for chapter, cut in zip(CHAPTERS, cuts, strict=True):
        key = "landing.demo." + chapter.name
        text: JsonObject = {language: translate(language, key, **values) for language in LANGUAGES}
        chapters.append(
            {
                "name": chapter.name,
                "begin_us": begin_us,
                "end_us": cut.time_us,
                "play_ms": chapter.play_ms,
                "rest_ms": chapter.rest_ms,
                "text": text,
            }
        )
        begin_us = cut.time_us
    return chapters


@dataclass(frozen=True, slots=True)
class FilmFile:
    """The film as it is sent: JSON, packed, and its mark for caches."""

    packed: bytes
    etag: str

    def unpacked(self) -> bytes:
        """For those who cannot unpack it."""
        return gzip.decompress(self.packed)


class Demonstration:
    """The one film of this server, for all visitors. Used by web threads.

    :param start: hands a maker to the lab's thread, and returns at once.
    """

    def __init__(self, start: Callable[[DemonstrationMaker], None]) -> None:
        self._start = start
        self._lock = threading.Lock()
        self._film: Future[JsonObject] | None = None
        self._file: FilmFile | None = None

    def begin(self) -> Future[JsonObject]:
        """See that the film is being made. A failed one is tried again. Raises what ``start`` raises."""
        with self._lock:
            film = self._film
            if film is None or (film.done() and (film.cancelled() or film.exception() is not None)):
                film = self._film = Future()
                try:
                    self._start(DemonstrationMaker(film))
                except BaseException:
                    self._film = None
                    raise
            return film

    def file(self, film: JsonObject) -> FilmFile:
        """``film`` ready to be sent; packed once."""
        with self._lock:
            if self._file is None:
                text = dump_json(film)
                # Without a time in its head, so that the same film gives the same bytes.
                self._file = FilmFile(gzip.compress(text, 6, mtime=0), hashlib.sha256(text).hexdigest()[:20])
            return self._file
