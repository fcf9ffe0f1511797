"""The live stream: ordered, numbered, and indifferent to slow or hostile browsers."""

import copy
import queue

import pytest

from app.foundation.patch import apply_patch
from app.foundation.viewer import BAD_EVENTS_MAX, EVENT_BURST, EVENTS_PER_SECOND, WINDOW
from app.web.live_source import MemberWithoutBroker
from app.web.stream import VIEWERS_MAX, LiveStream, TooManyViewers
from engine.runtime.live.engine_thread import EngineUnavailable


class Source:
    """A state that grows with every look at it."""

    def __init__(self):
        self.count = 0
        self.is_still = False

    def state(self):
        if not self.is_still:
            self.count += 1
        tail = [{"offset": n} for n in range(max(0, self.count - 5), self.count)]
        return {"max": self.count, "tail": tail}

    def history(self):
        return {"begin_us": []}


class Browsers:
    """What every browser received; the counterpart of a transport that never loses anything."""

    def __init__(self):
        self.received = {}
        self.disconnected = {}

    def send(self, viewer_ids, event, payload):
        for viewer_id in viewer_ids:
            self.received.setdefault(viewer_id, []).append((event, copy.deepcopy(payload)))

    def disconnect(self, viewer_id, reason):
        self.disconnected[viewer_id] = reason


class World:
    def __init__(self):
        self.source, self.browsers, self.now = Source(), Browsers(), 0.0
        self.stream = LiveStream(self.source, self.browsers, clock=lambda: self.now)

    def publish(self, times=1):
        for _ in range(times):
            self.stream.publish_once()

    def events(self, viewer_id):
        return [event for event, _ in self.browsers.received.get(viewer_id, [])]

    def last_sequence(self, viewer_id):
        return self.browsers.received[viewer_id][-1][1]["sequence"]

    def acknowledge(self, viewer_id, sequence=None):
        wanted = self.last_sequence(viewer_id) if sequence is None else sequence
        self.stream.event_received(viewer_id, "acknowledge", ({"sequence": wanted},))


@pytest.fixture
def world():
    return World()


def test_a_viewer_gets_one_snapshot_and_then_patches_numbered_without_gaps(world):
    world.stream.add_viewer("a")
    world.publish(5)
    assert world.events("a") == ["snapshot"] + ["patch"] * 4
    numbers = [payload["sequence"] for _, payload in world.browsers.received["a"]]
    assert numbers == list(range(numbers[0], numbers[0] + 5))


def test_a_viewer_that_applies_every_patch_holds_the_source_s_state(world):
    world.stream.add_viewer("a")
    world.publish(7)
    (_, snapshot), *patches = world.browsers.received["a"]
    state = snapshot["state"]
    for _, patch in patches:
        state = apply_patch(state, patch["operations"])
    world.source.is_still = True
    assert state == world.source.state()


def test_nothing_is_sent_when_nothing_changed(world):
    world.stream.add_viewer("a")
    world.publish()
    world.source.is_still = True
    world.publish(5)
    assert world.events("a") == ["snapshot"]


def test_the_engine_is_not_asked_while_nobody_watches(world):
    world.publish(3)
    assert world.source.count == 0
    world.stream.add_viewer("a")
    world.publish()
    world.stream.remove_viewer("a")
    world.publish(3)
    assert world.source.count == 1


def test_a_viewer_that_does_not_acknowledge_gets_a_bounded_number_of_messages(world):
    world.stream.add_viewer("slow")
    world.publish(100)
    assert len(world.browsers.received["slow"]) == WINDOW


def test_a_slow_viewer_does_not_hold_others_back(world):
    world.stream.add_viewer("slow")
    world.stream.add_viewer("quick")
    for _ in range(50):
        world.publish()
        world.acknowledge("quick")
    assert len(world.browsers.received["quick"]) == 50


def test_a_slow_viewer_that_caught_up_gets_a_snapshot_and_follows_again(world):
    world.stream.add_viewer("slow")
    world.publish(30)
    seen = len(world.browsers.received["slow"])
    first = world.browsers.received["slow"][0][1]["sequence"]
    world.acknowledge("slow", first)  # not caught up yet
    world.publish()
    assert len(world.browsers.received["slow"]) == seen
    world.acknowledge("slow")
    world.publish(2)
    assert world.events("slow")[seen:] == ["snapshot", "patch"]
    (_, snapshot), (_, patch) = world.browsers.received["slow"][seen:]
    assert patch["sequence"] == snapshot["sequence"] + 1


def test_a_gap_is_answered_by_a_snapshot(world):
    world.stream.add_viewer("a")
    world.publish(3)
    world.stream.event_received("a", "resync", ())
    world.publish()
    assert world.events("a")[-1] == "snapshot"


def test_a_viewer_that_only_asks_for_snapshots_gets_few(world):
    world.stream.add_viewer("greedy")
    for _ in range(100):
        world.now += 1
        world.stream.event_received("greedy", "resync", ({},))
        world.publish()
    assert len(world.browsers.received["greedy"]) <= 3


@pytest.mark.parametrize(
    ("event", "arguments"),
    [
        ("acknowledge", ()),
        ("acknowledge", ({"sequence": "1"},)),
        ("acknowledge", ({"sequence": True},)),
        ("acknowledge", ({"sequence": 1.0},)),
        ("acknowledge", ({"sequence": 10**30},)),
        ("acknowledge", ([1],)),
        ("acknowledge", (None, None)),
        ("resync", (7,)),
        ("shutdown", ({},)),
        ("", (b"\x00",)),
    ],
)
def test_nonsense_is_ignored_and_much_of_it_disconnects(world, event, arguments):
    world.stream.add_viewer("a")
    world.publish()
    for _ in range(BAD_EVENTS_MAX - 1):
        world.stream.event_received("a", event, arguments)
    world.publish()
    assert world.events("a") == ["snapshot", "patch"]
    world.stream.event_received("a", event, arguments)
    assert world.browsers.disconnected == {"a": "too many events that mean nothing"}
    assert world.stream.viewer_count == 0


def test_a_flood_of_proper_events_disconnects(world):
    world.stream.add_viewer("a")
    world.publish()
    for _ in range(EVENT_BURST + 1):
        world.stream.event_received("a", "resync", ())
    assert world.browsers.disconnected == {"a": "too many events"}


def test_a_viewer_may_send_events_at_its_rate_for_ever(world):
    world.stream.add_viewer("a")
    for _ in range(10 * EVENT_BURST):
        world.now += 1 / EVENTS_PER_SECOND
        world.stream.event_received("a", "resync", ())
    assert world.browsers.disconnected == {}


def test_events_of_a_viewer_that_is_gone_are_ignored(world):
    world.stream.event_received("nobody", "resync", ())
    assert world.browsers.disconnected == {}


def test_the_number_of_viewers_is_bounded(world):
    for number in range(VIEWERS_MAX):
        world.stream.add_viewer(str(number))
    with pytest.raises(TooManyViewers):
        world.stream.add_viewer("one more")


def test_the_publisher_thread_survives_an_engine_that_does_not_answer():
    world = World()
    answered = []

    def state():
        answered.append(None)
        if len(answered) == 1:
            raise EngineUnavailable("busy")
        return {"fine": True}

    world.source.state = state
    stream = LiveStream(world.source, world.browsers)
    import threading

    snapshot_came = threading.Event()
    world.browsers.send = lambda *_: snapshot_came.set()
    stream.start()
    stream.add_viewer("a")
    try:
        assert snapshot_came.wait(60)
    finally:
        stream.stop()


@pytest.mark.parametrize(
    ("standing", "leader", "why"), [("follower", "n2", {}), ("joining", "n2", {"en": "no state", "zh": "没有状态"})]
)
def test_browsers_of_a_member_that_does_not_lead_learn_what_it_is_and_who_leads(world, standing, leader, why):
    def state():
        raise MemberWithoutBroker("n0", standing, leader, 7, why)

    world.source.state = state
    reported = queue.SimpleQueue()
    world.browsers.send = lambda *event: reported.put(event)
    stream = LiveStream(world.source, world.browsers)
    stream.start()
    stream.add_viewer("a")
    try:
        view = {"name": "n0", "standing": standing, "leader": leader, "term": 7, "why": why}
        assert reported.get(timeout=60) == (["a"], "absent", view)
    finally:
        stream.stop()
