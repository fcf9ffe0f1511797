"""How the live engine starts, is refused a start, and starts again."""

import pytest

from app.live.live_host import LiveHost
from engine.broker.foundation.broker_config import BrokerConfig
from engine.live.live_machines import LiveHostSettings, StartFailed
from engine.name_server.name_server_config import NameServerConfig
from engine.runtime.live.engine_thread import EngineUnavailable
from tests.support.live.live_server import LiveServer, message


@pytest.fixture
def live(tmp_path):
    with LiveServer(tmp_path / "data") as live:
        yield live


def settings_for(folder, name_server_port=0, broker_port=0, **broker):
    return LiveHostSettings(
        data_folder=folder,
        name_server=NameServerConfig(port=name_server_port),
        broker=BrokerConfig(port=broker_port, **broker),
    )


def test_offsets_and_messages_survive_a_graceful_restart(tmp_path):
    with LiveServer(tmp_path / "data", page=False) as live:
        live.send(message("kept", "still here", keys="k"))
        assert (tmp_path / "data" / "abort").exists()
    assert not (tmp_path / "data" / "abort").exists()
    with LiveServer(tmp_path / "data", page=False) as live:
        (record,) = live.host.state()["commit_log"]["records"]
        assert record["body_preview"] == "still here"
        assert live.find("kept", "k", 10)[0]["offset"] == record["offset"]


def test_a_second_broker_on_the_same_data_is_refused_by_name(live, tmp_path):
    second = LiveHost(settings_for(tmp_path / "data"))
    with pytest.raises(StartFailed) as refusal:
        second.start()
    assert str(tmp_path / "data") in str(refusal.value)
    assert "--data" in str(refusal.value)
    assert not second.is_running
    assert live.host.state()["cluster"]


@pytest.mark.parametrize(("part", "option"), [("name_server", "--name-server-port"), ("broker", "--broker-port")])
def test_a_port_in_use_is_named_with_its_option(live, tmp_path, part, option):
    port = int(getattr(live.host, f"{part}_address").rpartition(":")[2])
    with pytest.raises(StartFailed) as refusal:
        LiveHost(settings_for(tmp_path / "other", **{f"{part}_port": port})).start()
    assert str(port) in str(refusal.value)
    assert option in str(refusal.value)


def test_a_data_folder_that_is_a_file_is_named(tmp_path):
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(StartFailed) as refusal:
        LiveHost(settings_for(tmp_path / "file")).start()
    assert str(tmp_path / "file") in str(refusal.value)
    assert "--data" in str(refusal.value)


def test_a_broker_name_that_cannot_be_is_refused(tmp_path):
    with pytest.raises(StartFailed, match="name"):
        LiveHost(settings_for(tmp_path / "data", broker_name="no spaces")).start()


def test_after_a_failed_start_the_ports_and_the_folder_are_free(live, tmp_path):
    port = int(live.host.broker_address.rpartition(":")[2])
    with pytest.raises(StartFailed):
        LiveHost(settings_for(tmp_path / "other", broker_port=port)).start()
    with LiveServer(tmp_path / "other", page=False) as other:
        assert other.host.state()["cluster"]


def test_a_stopped_engine_answers_nothing(tmp_path):
    with LiveServer(tmp_path / "data", page=False) as live:
        pass
    with pytest.raises(EngineUnavailable):
        live.host.state()
