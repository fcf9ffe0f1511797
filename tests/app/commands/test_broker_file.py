"""``glassmq serve -c``: RocketMQ's settings file."""

import click
import pytest
from click.testing import CliRunner

from app.command_line import main
from app.commands import serve
from app.commands.broker_file import read_broker_file
from app.live.engine_settings import BadSetting
from engine.replication.ha.ha_config import BrokerRole
from engine.store.files.store_config import FlushDiskType

#: As RocketMQ's distribution has it: conf/broker.conf.
PLAIN = """
brokerClusterName = DefaultCluster
brokerName = broker-a
brokerId = 0
deleteWhen = 04
fileReservedTime = 48
brokerRole = ASYNC_MASTER
flushDiskType = ASYNC_FLUSH
"""
#: conf/2m-2s-sync/broker-b.properties and broker-b-s.properties.
SYNC_MASTER = PLAIN.replace(" = ", "=").replace("broker-a", "broker-b").replace("ASYNC_MASTER", "SYNC_MASTER")
SLAVE = SYNC_MASTER.replace("SYNC_MASTER", "SLAVE").replace("brokerId=0", "brokerId=1")
#: conf/dledger/broker-n0.conf.
GROUP = """
brokerClusterName = RaftCluster
brokerName=RaftNode00
listenPort=30911
namesrvAddr=127.0.0.1:9876
storePathRootDir=/tmp/rmqstore/node00
storePathCommitLog=/tmp/rmqstore/node00/commitlog
enableDLegerCommitLog=true
dLegerGroup=RaftNode00
dLegerPeers=n0-127.0.0.1:40911;n1-127.0.0.1:40912;n2-127.0.0.1:40913
## must be unique
dLegerSelfId=n0
sendMessageThreadPoolNums=16
"""


class Served:
    """What ``serve`` would start with, and what it printed."""

    def __init__(self, monkeypatch, tmp_path):
        self.path = tmp_path / "broker.conf"
        self.settings = None
        monkeypatch.setattr(serve, "_serve", lambda _server, settings: setattr(self, "settings", settings))
        monkeypatch.setattr(serve, "_check_ports", lambda _settings, _page: None)
        monkeypatch.setattr(serve, "_set_up_logging", lambda _level: None)

    def __call__(self, text, *arguments):
        self.path.write_text(text, encoding="utf-8")
        self.settings = None
        self.result = CliRunner().invoke(main, ["serve", "-c", str(self.path), "--no-page", *arguments])
        return self.settings


@pytest.fixture
def served(monkeypatch, tmp_path):
    return Served(monkeypatch, tmp_path)


def test_the_files_of_rocketmq_s_distribution_are_taken(served):
    assert served(PLAIN).store.file_reserved_time_hours == 48
    assert served.result.stderr == ""
    settings = served(SYNC_MASTER)
    assert (settings.broker.broker_name, settings.broker.broker_role) == ("broker-b", BrokerRole.SYNC_MASTER)
    settings = served(SLAVE, "--slave-of", "127.0.0.1:10911")
    assert (settings.broker.broker_id, settings.broker.broker_role) == (1, BrokerRole.SLAVE)
    settings = served(GROUP)
    assert (settings.group.name, len(settings.group.addresses), settings.broker.port) == ("n0", 3, 30911)
    assert (str(settings.data_folder), settings.also_register) == ("/tmp/rmqstore/node00", ("127.0.0.1:9876",))
    for key in ("storePathCommitLog (line 7)", "dLegerGroup (line 9)", "sendMessageThreadPoolNums (line 13)"):
        assert key in served.result.stderr


def test_options_win_over_the_file(served):
    options = {"--broker-name": "x", "--broker-port": "7001", "--data": "/tmp/other", "--also-register": "h:1"}
    words = [word for option in options.items() for word in option]
    settings = served(GROUP + "flushDiskType=SYNC_FLUSH\ntraceOn=false\nbrokerPermission=4", *words)
    assert (settings.broker.broker_name, settings.broker.port) == ("x", 7001)
    assert (str(settings.data_folder), settings.also_register) == ("/tmp/other", ("h:1",))
    assert settings.store.flush_disk_type is FlushDiskType.SYNC_FLUSH
    settings = served("traceOn=false\nbrokerPermission=4", "--broker-setting", "traceOn=true")
    assert (settings.broker.trace_on, settings.broker.broker_permission) == (True, 4)
    assert served("flushDiskType=SYNC_FLUSH", "--flush", "async").store.flush_disk_type is FlushDiskType.ASYNC_FLUSH


def test_values_are_read_in_rocketmq_s_units(served):
    text = "diskMaxUsedSpaceRatio=88\nmapedFileSizeConsumeQueue=300001\ntransactionTimeOut=20\nmaxMsgsNumBatch=7"
    settings = served(text)
    assert settings.store.disk_max_used_space_ratio == 0.88
    assert settings.store.mapped_file_size_consume_queue_entries == 15_001
    assert settings.store.max_messages_num_batch == 7
    assert settings.broker.transaction_time_out_ms == 20_000


def test_of_a_key_that_comes_twice_the_last_counts_and_both_lines_are_named(served):
    assert served("brokerName=a\n# note\nbrokerName=b").broker.broker_name == "b"
    assert "brokerName of line 3 replaces that of line 1" in served.result.stderr


def test_every_bad_line_is_named_with_what_is_allowed(served):
    bad = "\n".join(
        [
            "flushDiskTyp=ASYNC_FLUSH",
            "listenPort=x",
            "",
            "brokerName=a b",
            "namesrvAddr=host",
            "fileReservedTime=48 # two days",
            "brokerRole=\\",
            "  MASTER",
            "xyzzy=1",
        ]
    )
    assert served(bad) is None
    for words in (
        "broker.conf: line 1: there is no setting 'flushDiskTyp'; did you mean flushDiskType?",
        "line 2: 'x' is not a port",
        "line 4: 'a b' is not allowed",
        "line 5: 'host' is no HOST:PORT",
        "line 6: fileReservedTime='48 # two days'",
        "line 7: brokerRole='MASTER': allowed are ASYNC_MASTER, SYNC_MASTER, SLAVE",
        "line 9: there is no setting 'xyzzy' (docs/configuration.md lists all)",
    ):
        assert words in served.result.stderr


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("brokerRole=SLAVE", "broker_id is 0"),
        (SLAVE, "--slave-of HOST:PORT"),
        (GROUP + "dLegerSelfId=n7", "n7"),
        ("=1", "line 1"),
        ("mappedFileSizeCommitLog=7", "mapped_file_size_commit_log is 7"),
    ],
)
def test_settings_that_do_not_go_together_are_refused(served, text, words):
    assert served(text) is None
    assert words in served.result.stderr


@pytest.mark.parametrize("kind", ["missing", "folder", "too large"])
def test_what_is_no_settings_file_is_refused(tmp_path, kind):
    path = tmp_path / "broker.conf"
    if kind == "folder":
        path.mkdir()
    elif kind == "too large":
        path.write_text("a=1\n" * 20_000)
    result = CliRunner().invoke(main, ["serve", "-c", str(path)])
    assert result.exit_code == 2
    assert str(path) in result.stderr


def test_peers_count_only_when_the_group_is_switched_on(tmp_path):
    path = tmp_path / "broker.conf"
    path.write_text(GROUP.replace("enableDLegerCommitLog=true", "enableDLegerCommitLog=false"))
    assert "group_peers" not in read_broker_file(path).options
    path.write_text("enableDLegerCommitLog=perhaps")
    with pytest.raises((BadSetting, click.BadParameter), match="line 1"):
        read_broker_file(path)
