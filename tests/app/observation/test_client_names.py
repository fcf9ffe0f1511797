"""Short names of clients: one for each, whichever part of the server asks."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.live.held_view import recorded_names
from app.observation import client_names
from app.observation.client_names import ClientNames
from app.observation.live_state import LiveState
from app.observation.recent_log import RecentLog
from engine.faults.fault_rule import Direction
from engine.faults.frame_record import FrameRecord
from engine.faults.frame_subject import FrameSubject
from engine.protocol.command.remoting_command import RemotingCommand, encode_command
from engine.protocol.request_code import RequestCode
from tests.engine.broker.lab_broker import broker_lab


def record_of(*frames: tuple[str, str, RequestCode]) -> FrameRecord:
    record = FrameRecord("", with_bodies=True, started_ms=0, started_us=0)
    for address, client, code in frames:
        command = RemotingCommand.request(code)
        record.note(address, client, Direction.IN, encode_command(command)[4:], FrameSubject(command, None), None, 0)
    return record


def test_names_are_given_in_the_order_of_the_clients_and_stay():
    names = ClientNames()
    given = [names.of(client, consumes=client.startswith("c")) for client in ("c@1", "p@1", "c@2", "c@1", "p@1")]
    assert given == ["C1", "P1", "C2", "C1", "P1"]
    assert [names.known(client) for client in ("c@2", "unknown")] == ["C2", ""]


def test_a_client_keeps_the_name_that_its_address_had_before_its_first_heartbeat():
    names = ClientNames()
    assert names.of("10.0.0.4:5000", "10.0.0.4:5000", consumes=False) == "P1"
    assert names.of("p@1", "10.0.0.4:5000", consumes=True) == "P1"
    assert names.of("p@2", "10.0.0.4:5000", consumes=False) == "P2"


def test_names_are_bounded_and_none_is_given_twice(monkeypatch):
    monkeypatch.setattr(client_names, "NAMES_MAX", 3)
    names = ClientNames()
    for number in range(20):
        names.of(f"short-lived-{number}", consumes=False)
        assert names.of("consumer", consumes=True) == "C1"
    assert names.known("short-lived-17") == ""
    assert names.of("short-lived-17", consumes=False) == "P21"


def test_names_survive_a_restart_of_the_server_and_the_numbers_go_on(tmp_path):
    file = tmp_path / "names.json"
    names = ClientNames(file)
    names.of("10.0.0.4:5000", "10.0.0.4:5000", consumes=True)
    names.save()
    for client in ("c@1", "c@2"):
        names.of(client, "10.0.0.4:5000", consumes=True)
    names.save()
    again = ClientNames(file)
    assert [again.known(client) for client in ("c@1", "c@2")] == ["C1", "C2"]
    assert again.of("c@3", consumes=True) == "C3"


@pytest.mark.parametrize(
    "content",
    [
        b"\xff{",
        b"[]",
        b'{"last": {"C": 1, "P": 0}, "names": {"c@1": "<b>"}}',
        b'{"last": {"C": 1, "P": 0}, "names": {"c@1": "C2"}}',
        b'{"last": {"C": "1", "P": 0}, "names": {}}',
        b"[" * 100_000,
    ],
)
def test_a_damaged_file_of_names_is_reported_and_names_begin_again(tmp_path, caplog, content):
    file = tmp_path / "names.json"
    file.write_bytes(content)
    names = ClientNames(file)
    assert "cannot be read, they begin again" in caplog.text
    assert names.of("c@1", consumes=True) == "C1"
    names.save()
    assert ClientNames(file).known("c@1") == "C1"


@given(client=st.text(st.characters(codec=None), min_size=1, max_size=80))
def test_any_client_id_keeps_its_name_in_the_file(client):
    with TemporaryDirectory() as folder:
        file = Path(folder, "names.json")
        names = ClientNames(file)
        name = names.of(client, consumes=False)
        names.save()
        assert ClientNames(file).known(client) == name


def test_a_file_of_names_that_cannot_be_written_is_reported(tmp_path, caplog):
    names = ClientNames(tmp_path / "missing" / "names.json")
    names.of("c@1", consumes=True)
    names.save()
    assert "cannot be written" in caplog.text


def test_the_page_and_a_recording_name_a_client_alike_and_a_restarted_broker_does_not_rename_it():
    names = ClientNames()
    with broker_lab() as lab:
        assert lab.name_server is not None
        lab.client().create_topic("orders", queues=1)
        for client in ("one", "two"):
            lab.client(client).heartbeat("billing", {"orders": "*"})
        page = LiveState(lab.name_server, lab.broker, "", RecentLog(), names)
        shown = page.build()["client_names"]
        (one, two) = shown
        record = record_of(("b:2", two, RequestCode.PULL_MESSAGE), ("b:1", one, RequestCode.PULL_MESSAGE))
        recorded = recorded_names(record, names)
        assert recorded == shown == {one: "C1", two: "C2"}
        again = LiveState(lab.name_server, lab.broker, "", RecentLog(), names)
        assert again.build()["client_names"] == again.brief()["client_names"] == shown


def test_a_recorded_client_without_a_heartbeat_is_named_by_what_it_sends():
    names = ClientNames()
    record = record_of(("a:1", "a:1", RequestCode.SEND_MESSAGE_V2), ("a:2", "a:2", RequestCode.GET_ROUTEINFO_BY_TOPIC))
    assert recorded_names(record, names) == {"a:1": "P1", "a:2": "C1"}
    later = record_of(("a:1", "p@1", RequestCode.HEART_BEAT))
    assert recorded_names(later, names) == {"p@1": "P1"}
