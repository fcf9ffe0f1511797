"""The command line: help, refusals in one line, a real server from start to stop."""

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from datetime import datetime
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from app.command_line import COMMANDS, main
from app.foundation.terminal_text import body_text
from tests.support.live.glass_process import GlassProcess

ROOT = Path(__file__).parents[3]


def run(*arguments):
    return CliRunner().invoke(main, [*arguments], prog_name="glassmq")


def refused(*arguments, code=2):
    """The one line that says why; everything before it is click's usage hint."""
    result = run(*arguments)
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    *_, line = result.output.strip().splitlines()
    assert line.startswith("Error: ")
    return line


def test_help_lists_every_command_with_an_example():
    output = run("--help").output
    for name, (text, example) in COMMANDS.items():
        assert f"  {name} " in output
        assert text in output
        assert " ".join(example.split()) in " ".join(output.split())


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself_with_examples(name):
    result = run(name, "--help")
    assert result.exit_code == 0
    assert "Examples:" in result.output
    command = main.get_command(click.Context(main), name)
    assert all(option.help for option in command.params if isinstance(option, click.Option) and option.name != "help")


def test_help_imports_neither_engine_nor_flask():
    code = (
        "import sys; from app.command_line import main\n"
        "try: main(['--help'], prog_name='glassmq')\n"
        "except SystemExit: pass\n"
        "assert not [m for m in sys.modules if m.split('.')[0] in ('engine', 'flask', 'uvloop', 'asyncio')]"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)


def test_a_server_is_put_together_without_flask():
    """The engine answers first; Flask is imported while it does."""
    code = "import sys, app.commands.serve; assert not {'flask', 'werkzeug', 'socketio', 'jinja2'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def test_the_version_is_printed():
    assert run("--version").output.startswith("glassmq ")


def test_an_unknown_command_is_answered_with_the_known_ones():
    line = refused("server")
    assert "'server'" in line
    assert "serve" in line
    assert "consume" in line


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.1.5", "::", "broker.lan"])
def test_a_page_beyond_loopback_without_a_token_does_not_start(host):
    line = refused("serve", "--http-host", host)
    assert host in line
    assert "allowed: a loopback address, or --token" in line


@pytest.mark.parametrize("token", ["short", "", "with space in it", "semi;colon;here", "中文令牌中文令牌", "x" * 300])
def test_a_token_that_could_not_travel_is_refused(token):
    assert "the value is not allowed; allowed: 8 to 200" in refused("serve", "--token", token)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--broker-port", "70000"), ("--broker-port", "65535")),
        (("--http-port", "x"), ("--http-port", "x")),
        (("--flush", "maybe"), ("--flush", "async", "sync")),
        (("--log-level", "loud"), ("--log-level", "debug")),
        (("--broker-port", "abc"), ("--broker-port", "'abc' is not allowed; allowed: 1 to 65535")),
        (("--broker-port", "-1"), ("--broker-port", "65535")),
        (("--broker-name", "a b"), ("--broker-name", "'a b' is not allowed", "letters, digits and % | - _")),
        (("--broker-setting", "brokerIp=1"), ("--broker-setting", "brokerIp", "did you mean brokerIP1?")),
        (("--data", ""), ("--data", "empty")),
        (("--data", "pyproject.toml"), ("--data", "pyproject.toml is a file")),
        (("--store-setting", "flushDiskType=sync"), ("--store-setting", "--flush")),
        (("--store-setting", "mappedFileSizeCommitLog=7"), ("mappedFileSizeCommitLog", "'7'", "512")),
        (("--store-setting", "mappedFileSizeCommitLog=4194304"), ("mappedFileSizeCommitLog", "4259848")),
        (("--store-setting", "mappedFileSizeCommitLog=9999999999"), ("mappedFileSizeCommitLog", "2147483647")),
        (("--store-setting", "maxIndexNum=1"), ("maxIndexNum", "2")),
        (("--group-peers", "n0-127.0.0.1:1"), ("--group-peers", "--group-self", "go together")),
        (("--group-peers", "n0", "--group-self", "n0"), ("--group-peers", "n0-127.0.0.1:40911;n1-127.0.0.1:40912")),
        (("--group-peers", "n0-10.1.1.1:1", "--group-self", "n0"), ("allowed: loopback addresses, or --tls-mode enf",)),
        (
            ("--group-peers", "n0-127.0.0.1:1", "--group-self", "n0", "--broker-setting", "aclEnable=true"),
            ("--group-peers", "aclEnable", "allowed: --tls-mode enforcing with --tls-client-ca, or no aclEnable"),
        ),
        (
            ("--group-peers", "n0-127.0.0.1:1", "--group-self", "n0", "--slave-of", "127.0.0.1:1"),
            ("--group-peers", "--slave-of"),
        ),
        (("--unknown",), ("--unknown",)),
    ],
)
def test_a_bad_option_is_refused_by_name(arguments, words):
    line = refused("serve", *arguments)
    for word in words:
        assert word in line


@pytest.mark.parametrize("option", ["--tls-ca", "--tls-cert", "--tls-key"])
@pytest.mark.parametrize("command", [("topics", "list"), ("send", "orders", "hello")])
def test_a_file_that_the_system_refuses_is_one_line_with_its_name(command, option):
    result = CliRunner().invoke(main, [*command, option, "x" * 300])
    assert result.exit_code == 1
    assert re.fullmatch(r"Error: /.*x{300}: File name too long\n", result.output)


@pytest.mark.parametrize("option", ["--name-server-port", "--broker-port", "--http-port"])
def test_a_port_in_use_is_one_line_with_its_option(tmp_path, option):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        others = {"--name-server-port": "0", "--broker-port": "0", "--http-port": "0", option: str(port)}
        arguments = [word for pair in others.items() for word in pair]
        line = refused("serve", "--data", str(tmp_path / "data"), *arguments, code=1)
    assert str(port) in line
    assert option in line


def test_all_ports_in_use_are_named_at_once_with_a_command_that_starts_a_second_instance(tmp_path):
    with contextlib.ExitStack() as taken:
        sockets = [taken.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(3)]
        ports = [str(one.getsockname()[1]) for one in sockets]
        options = ["--name-server-port", "--broker-port", "--http-port"]
        arguments = [word for pair in zip(options, ports, strict=True) for word in pair]
        line = refused("serve", "--data", str(tmp_path / "data"), *arguments, code=1)
    for option, port in zip(options, ports, strict=True):
        assert f"127.0.0.1:{port} ({option})" in line
    command = line.partition("glassmq serve ")[2].split()
    assert command[::2] == [*options, "--data"]
    advised = [int(port) for port in command[1:6:2]]
    assert len(set(advised)) == 3
    assert not {*map(str, advised)} & {*ports}


def test_a_setting_like_no_other_is_answered_with_all_settings_in_rocketmq_s_names():
    output = run("serve", "--broker-setting", "nonsense=1").output
    names = output.partition("allowed are:\n")[2].split()
    assert {"autoCreateTopicEnable", "brokerIP1", "traceOn"} <= {*names}
    assert not {"listenPort", "namesrvAddr", "port"} & {*names}


def test_the_default_of_the_data_folder_is_shown_as_one_would_type_it():
    assert "[default: ./data]" in " ".join(run("serve", "--help").output.split())


def test_a_data_folder_that_cannot_be_is_one_line_with_its_option(tmp_path):
    (tmp_path / "file").write_text("")
    line = refused(
        *("serve", "--no-page", "--name-server-port", "0", "--broker-port", "0"),
        *("--data", str(tmp_path / "file" / "below")),
        code=1,
    )
    assert str(tmp_path / "file") in line
    assert "--data" in line


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_an_unwritable_data_folder_is_one_line_with_its_option(tmp_path):
    tmp_path.chmod(0o500)
    line = refused(
        *("serve", "--no-page", "--broker-port", "0", "--name-server-port", "0", "--data", str(tmp_path)), code=1
    )
    assert str(tmp_path) in line
    assert "--data" in line


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with GlassProcess(tmp_path_factory.mktemp("data"), page=True) as process:
        yield process


def test_the_printed_addresses_answer(server):
    assert urllib.request.urlopen(f"{server.addresses['page']}healthz", timeout=60).read() == b'{"status":"ok"}'
    for address in (server.name_server, server.broker, server.addresses["VIP channel"]):
        host, _, port = address.rpartition(":")
        socket.create_connection((host, int(port)), timeout=60).close()


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux's /proc")
def test_a_started_server_takes_less_than_100_mb(server):
    urllib.request.urlopen(f"{server.addresses['page']}live", timeout=60).read()
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    (kilobytes,) = (int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS"))
    assert kilobytes < 100 * 1024


def test_a_second_server_on_the_same_data_is_one_line_with_its_option(server):
    data = server.addresses["data"]
    line = refused(*("serve", "--no-page", "--name-server-port", "0", "--broker-port", "0", "--data", data), code=1)
    assert data in line
    assert "--data" in line


def tool(server, *arguments):
    command = [sys.executable, "-m", "app.command_line", *arguments, "--name-server", server.name_server]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert "Traceback" not in done.stderr
    return done.returncode, done.stdout, done.stderr


def test_the_tools_send_list_show_and_consume(server):
    code, output, _ = tool(server, "send", "cli_topic", "body {n}", "--tag", "t", "--key", "k", "--count", "3")
    assert code == 0
    assert output.count("SEND_OK") == 3
    message_id = output.splitlines()[0].split()[-1]
    _, output, _ = tool(server, "topics")
    assert ["cli_topic", "4", "3"] in [line.split() for line in output.splitlines()]
    assert "TBW102" not in output
    assert "TBW102" in tool(server, "topics", "--all")[1]
    _, output, _ = tool(server, "message", message_id)
    assert "body 0" in output
    assert "cli_topic" in output
    code, output, _ = tool(server, "consume", "cli_topic", "--group", "cli_group", "--count", "3", "--trace")
    assert code == 0
    assert "cli_group" in tool(server, "trace", message_id)[1]
    assert sorted(line.split("  ")[-1] for line in output.splitlines()) == ["body 0", "body 1", "body 2"]
    _, output, _ = tool(server, "groups")
    assert ["cli_group", "0"] in [line.split()[::2] for line in output.splitlines()]
    _, output, _ = tool(server, "groups", "cli_group")
    assert output.count("cli_topic") == 4


def test_consuming_by_sql_needs_the_brokers_setting(server):
    tool(server, "send", "no_sql", "x")
    code, _, errors = tool(server, "consume", "no_sql", "--group", "by_sql", "--sql", "age > 5", "--count", "1")
    assert code == 1
    assert "enablePropertyFilter=false" in errors


def test_messages_with_properties_are_consumed_by_sql(tmp_path):
    with GlassProcess(tmp_path / "data", "--broker-setting", "enablePropertyFilter=true") as server:
        for age in (7, 3):
            tool(server, "send", "people", f"age {age}", "--property", f"age={age}")
        _, output, _ = tool(server, "consume", "people", "--group", "young", "--sql", "age < 5", "--count", "1")
        assert output.splitlines()[0].endswith("age 3")
        code, _, errors = tool(server, "consume", "people", "--group", "wrong", "--sql", "age betwen 0", "--count", "1")
        assert code == 1
        assert "  age betwen 0\n      ^" in errors


def test_a_batch_goes_in_one_request_and_what_is_left_over_too(server):
    code, output, _ = tool(server, "send", "in_batches", "body {n}", "--count", "10", "--batch", "4", "--key", "k")
    assert code == 0
    assert [line.split("  ")[-1].split(" ", 4)[-1] for line in output.splitlines()[:3]] == [
        "0 to 3, one request",
        "0 to 3, one request",
        "0 to 1, one request",
    ]
    assert output.splitlines()[3].startswith("10 sent in")
    _, output, _ = tool(server, "consume", "in_batches", "--group", "of_batches", "--count", "10")
    assert sorted(line.split("  ")[-1] for line in output.splitlines()) == [f"body {number}" for number in range(10)]


def test_messages_beyond_the_count_stay_unconsumed_and_come_first_the_next_time(server):
    assert tool(server, "send", "counted", "body {n}", "--count", "12", "--quiet")[0] == 0
    code, first, errors = tool(server, "consume", "counted", "--group", "counting", "--count", "3")
    assert (code, len(first.splitlines())) == (0, 3)
    assert errors == "waiting for messages of counted for group counting (Ctrl-C ends)\n"
    _, groups, _ = tool(server, "groups")
    assert ["counting", "4", "9"] in [line.split() for line in groups.splitlines()]
    code, rest, _ = tool(server, "consume", "counted", "--group", "counting", "--count", "9")
    assert code == 0
    assert "retry" not in rest
    bodies = [line.split("  ")[-1] for line in (first + rest).splitlines()]
    assert sorted(bodies) == sorted(f"body {n}" for n in range(12))


def test_consume_orderly_prints_each_queue_in_order_and_frees_its_locks(server):
    assert tool(server, "send", "in_order", "step {n}", "--count", "12", "--quiet")[0] == 0
    for _ in range(2):
        code, output, errors = tool(server, "consume", "in_order", "--group", "stepwise", "--count", "6", "--orderly")
        assert (code, len(errors.splitlines())) == (0, 1)
        places = [(int(line.split()[1]), int(line.split()[3])) for line in output.splitlines()]
        assert len(places) == 6, "the second one need not wait for the locks of the first"
        for queue in {queue for queue, _ in places}:
            offsets = [offset for each, offset in places if each == queue]
            assert offsets == sorted(offsets)


def test_consume_says_for_what_it_waits_and_that_the_topic_does_not_exist_yet(server):
    command = [sys.executable, "-m", "app.command_line", "consume", "later", "--group", "patient", "--count", "1"]
    with subprocess.Popen(
        [*command, "--name-server", server.name_server],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert "topic later does not exist yet" in process.stderr.readline()
        assert process.stderr.readline() == "waiting for messages of later for group patient (Ctrl-C ends)\n"
        assert tool(server, "send", "later", "at last")[0] == 0
        output, errors = process.communicate(timeout=60)
    assert "at last" in output
    assert errors == ""


def test_topics_leaves_out_what_the_broker_and_retries_need_and_keeps_dead_letters(server):
    assert tool(server, "send", "visible", "x")[0] == 0
    assert tool(server, "consume", "visible", "--group", "visible_group", "--count", "1")[0] == 0
    assert tool(server, "send", "%DLQ%visible_group", "given up")[0] == 0
    names = [line.split()[0] for line in tool(server, "topics")[1].splitlines()[1:]]
    assert {"visible", "%DLQ%visible_group"} <= {*names}
    assert not [name for name in names if name.startswith(("%RETRY%", "DefaultCluster", "broker-a", "TBW102"))]
    every = tool(server, "topics", "--all")[1]
    for name in ("%RETRY%visible_group", "DefaultCluster_REPLY_TOPIC", "TBW102"):
        assert name in every


@pytest.mark.parametrize(
    ("body", "text"),
    [(b"\xff\x00\x01", "0xff0001"), (b"\x1b[2J", "0x1b5b324a"), (b"", ""), ("你好\tGlass".encode(), "你好\tGlass")],
)
def test_a_body_that_is_no_text_is_shown_as_hexadecimal_digits(body, text):
    assert body_text(body) == text


def test_message_shows_times_as_dates_with_milliseconds(server):
    message_id = tool(server, "send", "timed", "x")[1].split()[-1]
    output = tool(server, "message", message_id)[1]
    for word in ("born", "stored"):
        line = next(line for line in output.splitlines() if line.startswith(word))
        found = re.search(r"  (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.(\d{3}) [+-]\d{4}) \((\d+) ms\)", line)
        assert found, line
        shown = datetime.strptime(found[1], "%Y-%m-%d %H:%M:%S.%f %z")
        assert round(shown.timestamp() * 1000) == int(found[3])


def test_consume_ends_when_nobody_reads_its_output(server):
    assert tool(server, "send", "piped", "x", "--count", "20", "--quiet")[0] == 0
    command = [sys.executable, "-m", "app.command_line", "consume", "piped", "--group", "pipe"]
    with subprocess.Popen(
        [*command, "--name-server", server.name_server], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        process.stdout.readline()
        process.stdout.close()
        tool(server, "send", "piped", "x" * 5_000, "--count", "20", "--quiet")
        assert process.wait(60) is not None
        assert b"Traceback" not in process.stderr.read()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("send", "no spaces", "x"), ("no spaces",)),
        (("send", "t", "x", "--property", "novalue"), ("novalue", "NAME=VALUE")),
        (
            ("send", "t", "x", "--property", "KEYS=x"),
            ("'KEYS' is not allowed", "not reserved by RocketMQ; see --tag, --key, --delay-level"),
        ),
        (("send", "t", "x", "--property", "a="), ("--property", "a value that is not empty")),
        (("topics", "no_such_topic"), ("no_such_topic",)),
        (("groups", "no_such_group"), ("there is no group 'no_such_group'",)),
        (("message", "0" * 32), ("0" * 32,)),
        (("message", "zz"), ("ZZ", "32 hexadecimal digits")),
        (("message", "0" * 32, "--topic", "no_such_topic"), ("there is no topic 'no_such_topic'",)),
        (("send", "t", "x", "--tag", "a || b"), ("--tag", "'a || b'", "one tag")),
        (("send", "t", "x", "--tag", " a"), ("--tag", "' a'", "blanks")),
        (("send", "t", "x", "--batch", "2", "--count", "2", "--delay-level", "3"), ("message 0 has delay level 3",)),
        (("consume", "t", "--group", "g", "--expression", "a ||"), ("'a ||'", "empty tag")),
        (("consume", "t"), ("--group",)),
        (
            ("consume", "t", "--group", "g", "--sql", "a > 1", "--expression", "b"),
            ("--sql excludes --expression", "allowed: --sql without --expression"),
        ),
        (("consume", "t", "--group", "bad group"), ("bad group",)),
    ],
)
def test_what_a_tool_cannot_do_is_said_in_one_line(server, arguments, words):
    code, _, errors = tool(server, *arguments)
    assert code in (1, 2)
    line = errors.strip().splitlines()[-1]
    assert line.startswith("Error: ")
    for word in words:
        assert word in line


TOOL_CALLS = [("topics",), ("groups",), ("message", "0" * 32), ("send", "t", "x"), ("consume", "t", "--group", "g")]


@pytest.mark.parametrize("arguments", TOOL_CALLS)
def test_a_tool_without_a_name_server_says_which_address_did_not_answer(arguments):
    with socket.create_server(("127.0.0.1", 0)) as closed:
        address = f"127.0.0.1:{closed.getsockname()[1]}"
    line = refused(*arguments, "--name-server", address, code=1)
    assert address in line
    assert "Is `glassmq serve` running there?" in line


@pytest.mark.parametrize("arguments", TOOL_CALLS)
def test_a_tool_that_is_sent_to_a_broker_asks_whether_that_is_the_name_server(server, arguments):
    line = refused(*arguments, "--name-server", server.broker, code=1)
    assert server.broker in line
    assert "a broker's port?" in line
    assert "  " not in line


def test_a_tool_asks_the_next_name_server_when_the_first_does_not_answer(server):
    with socket.create_server(("127.0.0.1", 0)) as closed:
        address = f"127.0.0.1:{closed.getsockname()[1]}"
    assert run("topics", "--name-server", f"{address};{server.name_server}").exit_code == 0


def test_a_name_server_address_that_is_none_is_refused():
    assert "nowhere" in refused("topics", "--name-server", "nowhere")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_server_gracefully(tmp_path, number):
    with GlassProcess(tmp_path / "data") as server:
        tool(server, "send", "graceful", "x")
        assert (tmp_path / "data" / "abort").exists()
        assert server.stop(number) == 0
        assert not (tmp_path / "data" / "abort").exists()
        assert (tmp_path / "data" / "config" / "topics.json").exists()
        assert "Traceback" not in server.errors
