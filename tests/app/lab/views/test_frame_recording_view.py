"""Recorded frames of real clients as a film of the lab's page."""

from __future__ import annotations

import base64

import pytest

from app.foundation.patch import apply_patch
from app.lab.foundation.refusal import LabRefused
from app.lab.views import frame_recording_view, recorded_frames
from app.picture.session.film import FrameStrip, RecordedFilm
from engine.protocol.command.remoting_command import RemotingCommand, encode_command
from engine.protocol.request_code import RequestCode
from tests.support.picture.schema_problems import schema_problems


def row(number, at_us, client, direction, command, answers=0, action=""):
    frame = base64.b64encode(encode_command(command)[4:]).decode()
    return [number, at_us, client, direction, frame, len(command.body), answers, action]


def frame_file(**changes):
    send = RemotingCommand.request(RequestCode.SEND_MESSAGE, body=b"hello")
    pull = RemotingCommand.request(RequestCode.PULL_MESSAGE)
    rows = [
        row(7, 5_000, "p@1", "in", send),
        row(8, 6_000, "p@1", "out", send.reply(0), answers=7),
        row(9, 9_000, "c@2", "in", pull, action="drop"),
    ]
    return {"format": "glassmq-frames", "version": 1, "broker": "broker-a", "frames": rows, **changes}


def film_of(data):
    return frame_recording_view.frame_recording_view(recorded_frames.read_frames(data))


def pictures(film):
    view = film["view"]
    yield view
    for patch in film["patches"]:
        view = apply_patch(view, patch)
        yield view


def test_clients_that_send_and_those_that_pull_have_their_names_and_their_counts():
    *_, last = pictures(film_of(frame_file()))
    counts = {
        name: (node["role"], node["full_name"], node["sent"], node["got"]) for name, node in last["nodes"].items()
    }
    assert counts == {
        "B1": ("wire_broker", "broker-a", 1, 1),
        "P1": ("wire_producer", "p@1", 1, 1),
        "C1": ("wire_consumer", "c@2", 1, 0),
    }


def test_a_recorded_film_follows_the_schema():
    assert list(schema_problems(film_of(frame_file()), RecordedFilm)) == []
    strip = frame_recording_view.frame_recording_strip(frame_file())
    assert list(schema_problems(strip, FrameStrip)) == []


def test_a_reply_names_its_request_and_comes_from_it():
    film = film_of(frame_file())
    reply = film["frames"]["8"]
    assert (reply["source"], reply["target"], reply["reply_to"], reply["reply_to_name"]) == (
        "B1",
        "P1",
        7,
        "SEND_MESSAGE",
    )
    assert [(entry[3], entry[4]) for entry in film["journal"]] == [
        ("SEND_MESSAGE", 0),
        ("reply to SEND_MESSAGE", 1),
        ("PULL_MESSAGE", 0),
    ]


def test_the_bytes_of_a_frame_are_those_of_the_wire_and_a_dropped_one_is_lost():
    film = film_of(frame_file())
    send = encode_command(RemotingCommand.request(RequestCode.SEND_MESSAGE, body=b"hello"))
    assert film["frames"]["7"]["hex"] == send.hex()
    assert film["frames"]["7"]["body_text"] == "hello"
    assert [film["frames"][number]["dropped"] for number in "789"] == [False, False, True]


def test_a_strip_shows_the_newest_frames_under_the_names_of_the_live_page():
    names = {"gone@0": "C1", "c@2": "C2", "p@1": "P31"}
    reported = frame_recording_view.frame_recording_strip(frame_file(names=names))
    assert reported["lanes"] == [["B1", "broker-a"], ["P31", "p@1"], ["C2", "c@2"]]
    assert [(frame["id"], frame["source"], frame["target"]) for frame in reported["frames"]] == [
        (7, "P31", "B1"),
        (8, "B1", "P31"),
        (9, "C2", "B1"),
    ]
    film = film_of(frame_file(names=names))
    assert [*film["view"]["nodes"]] == ["B1", "P31", "C2"]


@pytest.mark.parametrize("name", ["B1", "P1", "", "c@2", "C" * 1_001])
def test_a_name_in_a_file_that_cannot_be_a_client_s_or_is_given_twice_is_replaced(name):
    if len(name) > 1_000:
        with pytest.raises(LabRefused):
            film_of(frame_file(names={"c@2": name}))
        return
    film = film_of(frame_file(names={"p@1": "P1", "c@2": name}))
    assert [*film["view"]["nodes"]] == ["B1", "P1", "C1"]


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (None, "file: None is not allowed; allowed: an object with format"),
        ({"format": "glassmq-run", "version": 1}, "format: 'glassmq-run' is not allowed; allowed: glassmq-frames"),
        (frame_file(frames=[]), "frames: has 0 entries; allowed: a list of 1 to 2000 entries"),
        (frame_file(frames=[[]] * (recorded_frames.FRAMES_MAX + 1)), "frames: has 2001 entries"),
        (frame_file(frames=[[1, 2]]), "frames[0]: [1, 2] is not allowed; allowed: [number, at_us, client,"),
        (frame_file(frames=[[1, 2, "c", "in", "not base64!", 0, 0, ""]]), "row 1 of the frames cannot be read"),
        (frame_file(frames=[[1, 2, "c", "in", "AAAA", 0, 0, ""]]), "row 1 of the frames cannot be read"),
        (frame_file(frames=[[1, 2, "", *frame_file()["frames"][0][3:]]]), "frames[0].client: has 0 characters"),
        (frame_file(frames=frame_file()["frames"][:1] * 2), "row 2 of the frames cannot be read"),
        (frame_file(frames=[[1, -2, *frame_file()["frames"][0][2:]]]), "frames[0].at_us: -2 is not allowed"),
        (
            frame_file(frames=[[1, 2, "c", "up", *frame_file()["frames"][0][4:]]]),
            "frames[0].direction: 'up' is not allowed; allowed: in, out",
        ),
        (
            frame_file(frames=[[n, 2, f"c{n}", *frame_file()["frames"][0][3:]] for n in range(61)]),
            "too many clients",
        ),
    ],
)
def test_a_file_that_is_none_is_refused_by_name(data, problem):
    with pytest.raises(LabRefused) as caught:
        film_of(data)
    assert problem in str(caught.value)
