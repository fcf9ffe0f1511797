"""``glassmq serve -c``: RocketMQ's settings file."""

from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from app.command_line import main
from app.commands import serve
from app.commands.broker_file import read_broker_file
from engine.broker.foundation.broker_config import BrokerConfig
from engine.live.engine_settings import BadSetting
from engine.replication.ha.ha_config import HaRole
from engine.store.files.store_config import FlushDiskType, MessageStoreConfig

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
        monkeypatch.setattr(serve, "_serve", lambda server, _lines: setattr(self, "settings", server.settings))
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
    assert (settings.broker.broker_name, settings.broker.broker_role) == ("broker-b", HaRole.SYNC_MASTER)
    settings = served(SLAVE, "--slave-of", "127.0.0.1:10911")
    assert (settings.broker.broker_id, settings.broker.broker_role) == (1, HaRole.SLAVE)
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
    text = "diskMaxUsedSpaceRatio=88\nmapedFileSizeConsumeQueue=300001\nmaxMsgsNumBatch=7"
    settings = served(f"{text}\ntransactionTimeOut=500\ntransactionCheckInterval=999")
    assert settings.store.disk_max_used_space_ratio == 0.88
    assert settings.store.mapped_file_size_consume_queue_entries == 15_001
    assert settings.store.max_messages_num_batch == 7
    assert (settings.broker.transaction_time_out_ms, settings.broker.transaction_check_interval_ms) == (500, 999)
    assert "transactionTimeOut of line 4 is 500 milliseconds" in served.result.stderr
    assert "transactionCheckInterval of line 5 is 999 milliseconds" in served.result.stderr
    served("transactionTimeOut=6000")
    assert "milliseconds" not in served.result.stderr


def test_of_a_key_that_comes_twice_the_last_counts_and_both_lines_are_named(served):
    assert served("brokerName=a\n# note\nbrokerName=b").broker.broker_name == "b"
    assert "brokerName of line 3 replaces that of line 1" in served.result.stderr
    assert served("mapedFileSizeCommitLog=7\nmappedFileSizeCommitLog=16777216").store == MessageStoreConfig()
    assert "mappedFileSizeCommitLog of line 2 replaces that of line 1" in served.result.stderr


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
        "line 2: listenPort: 'x' is not allowed; allowed: 1 to 65535, and 0 for any free one",
        "line 4: brokerName: 'a b' is not allowed",
        "line 5: namesrvAddr: 'host' is not allowed; allowed: HOST:PORT, such as 127.0.0.1:9876",
        "line 6: fileReservedTime='48 # two days'",
        "line 7: brokerRole='MASTER'; allowed: ASYNC_MASTER, SYNC_MASTER, SLAVE",
        "line 9: there is no setting 'xyzzy' (docs/configuration.md lists all)",
    ):
        assert words in served.result.stderr


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("brokerRole=SLAVE", "line 1: brokerId is 0 and brokerRole SLAVE"),
        (SLAVE, "--slave-of HOST:PORT"),
        (GROUP + "dLegerSelfId=n7", "n7"),
    ],
)
def test_settings_that_do_not_go_together_are_refused(served, text, words):
    assert served(text) is None
    assert words in served.result.stderr


#: Values that parse, and that no broker can use.
UNUSABLE = """
flushIntervalCommitLog=0
deleteWhen=99
messageDelayLevel=1x 2y
mapedFileSizeCommitLog=7
mapedFileSizeConsumeQueue=0
haListenPort=99999
listenPort=65536
brokerPermission=9
maxMessageSize=10_000
diskMaxUsedSpaceRatio=0
diskSpaceWarningLevelRatio=1e-400
transactionCheckInterval=0
fileReservedTime=٤٨
dLegerPeers=n0
=1
"""


def test_every_unusable_value_is_named_with_its_line_its_key_and_what_is_allowed_at_once(served):
    assert served(UNUSABLE + "brokerId=1\ngroupHeartbeatInterval=5") is None
    said = served.result.stderr.partition("broker.conf: line ")[2].split("; line ")
    problems = {int(number): problem for number, _, problem in (one.partition(": ") for one in said)}
    assert problems.pop(17).startswith("brokerId is 1 and brokerRole ASYNC_MASTER: a master has id 0")
    assert problems.pop(18).startswith("groupHeartbeatInterval is 5, groupElectionTimeoutMin 1000")
    for number, entry in enumerate(UNUSABLE.split("\n")[1:-1], start=2):
        problem = problems.pop(number)
        assert all(part in problem for part in entry.split("="))
        assert any(words in problem for words in ("must be", "allowed", "write members as", "write name=value"))
    assert not problems
    for ours in MessageStoreConfig.__slots__ + BrokerConfig.__slots__:
        assert "_" not in ours or ours not in served.result.stderr


def test_what_follows_from_a_bad_line_only_is_not_reported(served):
    assert served("brokerRole=MASTER\nbrokerId=1") is None
    assert "brokerRole='MASTER'" in served.result.stderr
    assert "a master has id 0" not in served.result.stderr


def test_a_byte_order_mark_is_no_part_of_the_first_key(served):
    assert served("\ufeffbrokerName=a").broker.broker_name == "a"


@pytest.mark.parametrize("kind", ["missing", "folder", "too large", "endless"])
def test_what_is_no_settings_file_is_refused(tmp_path, kind):
    path = tmp_path / "broker.conf"
    if kind == "folder":
        path.mkdir()
    elif kind == "too large":
        path.write_text("a=1\n" * 20_000)
    elif kind == "endless":
        path = Path("/dev/zero")
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


@pytest.mark.parametrize("arguments", [("--no-page",), ("--ephemeral",)])
def test_a_token_that_is_not_used_is_not_checked(monkeypatch, arguments):
    monkeypatch.setattr("app.commands.serve._serve", lambda *_, **__: click.echo("served"))
    ports = [] if "--ephemeral" in arguments else ["--broker-port", "0", "--name-server-port", "0"]
    done = CliRunner().invoke(main, ["serve", *arguments, *ports], env={"GLASSMQ_TOKEN": "odd one"})
    assert (done.exit_code, done.output) == (0, "served\n")


def test_roles_that_need_more_are_refused_with_what_is_allowed(served):
    assert served(GROUP, "--broker-port", "0") is None
    assert "it excludes --broker-port 0; allowed: a --broker-port above 0, and no brokerRole" in served.result.stderr
    assert served(SLAVE) is None
    assert "brokerRole: SLAVE needs a master; allowed: other roles, or --slave-of HOST:PORT" in served.result.stderr
