"""``glassmq faults`` against a running broker: what is typed is done, and what is said is so."""

from __future__ import annotations

import threading

import pytest
from click.testing import CliRunner

from app.command_line import main
from app.commands.tool import json_or_text
from engine.client.foundation.errors import MQClientError
from tests.support.live.live_server import LiveServer, message


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with LiveServer(tmp_path_factory.mktemp("data"), allow_faults=True) as server:
        yield server


@pytest.fixture
def live(server):
    yield server
    server.host.faults.clear()


def faults(live, *arguments):
    page = f"http://{live.server.page_address}"
    return CliRunner().invoke(main, ["faults", *arguments, "--page", page], prog_name="glassmq")


def said(live, *arguments):
    found = faults(live, *arguments)
    assert found.exit_code == 0, found.output
    return found.output


def rules(live):
    return live.host.faults.view()["rules"]


def test_a_rule_is_added_with_its_options_and_listed_with_what_it_did(live):
    output = said(live, "add", "drop", "PULL_MESSAGE", "--group", "g*", "--times", "3", "--every", "2", "--seed", "7")
    (rule,) = rules(live)
    assert [rule[name] for name in ("what", "frame", "group", "times", "every", "seed")] == [
        "drop",
        "PULL_MESSAGE",
        "g*",
        3,
        2,
        7,
    ]
    assert output == said(live)
    for words in ("drop", "PULL_MESSAGE", "group g*", "next 3, one in 2", "never hit"):
        assert words in output


def test_a_rule_that_was_hit_says_how_often_and_one_that_is_over_that_it_is_spent(live):
    said(live, "add", "duplicate", "SEND_MESSAGE_V2", "--times", "1")
    live.send(message("T"))
    row = next(line for line in said(live, "list").splitlines() if "duplicate" in line)
    assert row.split()[-3:] == ["1", "1", "spent"]


def test_one_rule_or_all_are_removed(live):
    said(live, "add", "drop", "HEART_BEAT")
    said(live, "add", "delay", "HEART_BEAT", "--ms", "5")
    said(live, "clear", str(rules(live)[0]["rule_id"]))
    assert [rule["what"] for rule in rules(live)] == ["delay"]
    assert "No faults are active" in said(live, "clear")
    assert rules(live) == []


def test_commands_come_from_a_file_more_than_one_request_holds(live, tmp_path):
    file = tmp_path / "faults.yaml"
    line = "- {kind: fault, what: drop, frame: HEART_BEAT, client: nobody}\n"
    file.write_text("# what the lab's files say\n" + line * 60 + "- {kind: disk-full}\n")
    output = said(live, "add", "--file", str(file))
    assert len(rules(live)) == 60
    assert "disk is full" in output
    assert "disk is full" not in said(live, "do", "disk-free")


@pytest.mark.parametrize("text", ["kind: fault", "[]", "- drop", "{", "- {kind: fault, what: explode}"])
def test_a_file_that_is_no_list_of_commands_is_refused_and_nothing_happens(live, tmp_path, text):
    file = tmp_path / "faults.yaml"
    file.write_text(text)
    assert faults(live, "add", "--file", str(file)).exit_code in (1, 2)
    assert rules(live) == []


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("none", "No such file or directory"),
        ("", "Is a directory"),
        ("bad", "while parsing"),
        ("bytes", "'utf-8' codec"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_by_name(tmp_path, name, problem):
    (tmp_path / "bad").write_text("[a\nb: c")
    (tmp_path / "bytes").write_bytes(b"\xff")
    file = tmp_path / name
    done = CliRunner().invoke(main, ["faults", "add", "--file", str(file)])
    refusal = done.output.splitlines()[-1]
    assert done.exit_code == 2
    assert f"'--file': {file} cannot be read: {problem}" in refusal
    assert refusal.endswith("; allowed: a YAML file with a list of commands")


def test_a_broker_is_killed_paused_and_started_again(live):
    assert "The broker is killed" in said(live, "do", "crash")
    assert faults(live, "do", "crash").exit_code == 1
    assert "No faults are active" in said(live, "do", "restart")
    said(live, "do", "pause", "ms=30000")
    live.faults_when(lambda view: "paused_ms" in view)
    assert "paused for" in said(live)
    assert "No faults are active" in said(live, "do", "resume")


def test_a_value_is_a_number_a_switch_a_list_or_a_text():
    given = (
        "2500",
        "1.5",
        "true",
        "[1, 2]",
        '"5"',
        "g12",
        "172.17.0.3@1",
        "null",
        "{}",
        "NaN",
        "9" * 5_000,
        "[" * 100_000,
    )
    read = (2500, 1.5, True, [1, 2], "5", *given[5:])
    assert tuple(map(json_or_text, given)) == read


def test_fields_are_numbers_switches_and_texts(live):
    assert "2500 ms more" in said(live, "do", "slow-fsync", "ms=2500")
    assert "off for 12" in said(live, "do", "group-lock", "group=g12", "on=false").replace("g12", "12")
    assert "120 s ahead" in said(live, "do", "advance", "ms=120000")
    said(live, "do", "drop-next", "frame=HEART_BEAT")
    assert rules(live)[0]["times"] == 1


def test_a_held_frame_is_listed_changed_and_let_pass(live):
    said(live, "add", "hold", "SEND_MESSAGE_V2")
    sender = threading.Thread(target=lambda: live.send(message("held", keys="k1"), message("held", keys="k2")))
    sender.start()
    (held,) = live.faults_when(lambda view: view["held"])["held"]
    output = said(live, "list")
    for words in ("held, for 30 s more", "SEND_MESSAGE_V2", "k1", "gives up in"):
        assert words in output
    said(live, "pass", str(held["id"]), "--property", "KEYS=k3", "--body", "another")
    (second,) = live.faults_when(lambda view: view["held"])["held"]
    assert faults(live, "drop", str(held["id"])).exit_code == 1
    assert second["keys"][0] == "k2"
    assert "No faults are active" in said(live, "pass")
    sender.join(60)
    assert [len(live.find("held", key, 9)) for key in ("k1", "k2", "k3")] == [0, 1, 1]
    assert live.find("held", "k3", 9)[0]["body_preview"] == "another"


def test_a_held_frame_is_dropped(live):
    said(live, "add", "hold", "SEND_MESSAGE_V2", "--times", "1")
    errors = []

    def send():
        try:
            live.send(message("lost", keys="k1"))
        except MQClientError as error:
            errors.append(error)

    sender = threading.Thread(target=send)
    sender.start()
    (held,) = live.faults_when(lambda view: view["held"])["held"]
    said(live, "drop", str(held["id"]))
    sender.join(60)
    assert len(errors) == 1
    assert live.find("lost", "k1", 9) == []


def test_what_clients_made_up_cannot_command_the_terminal(live):
    said(live, "add", "drop", "HEART_BEAT", "--group", "\x1b[2J")
    assert "\x1b" not in said(live)


@pytest.mark.parametrize(
    "arguments",
    [
        ("add",),
        ("add", "explode"),
        ("add", "drop", "PULL"),
        ("add", "drop", "--topic", "a*b"),
        ("add", "reject", "--code", "TEAPOT"),
        ("add", "drop", "--ratio", "2"),
        ("do", "explode"),
        ("do", "pause", "ms"),
        ("do", "pause", "ms=1e9"),
        ("clear", "4711"),
        ("pass", "4711"),
        ("pass", "--body", "x"),
        ("pass", "1", "--property", "KEYS"),
        ("drop", "4711"),
    ],
)
def test_what_makes_no_sense_is_refused_and_nothing_is_broken(live, arguments):
    found = faults(live, *arguments)
    assert found.exit_code in (1, 2)
    assert "Error: " in found.output
    assert "Traceback" not in found.output
    assert not live.host.faults.view()["is_active"]


def test_a_refusal_is_said_in_chinese_too(live):
    english, chinese = (faults(live, "clear", "4711", "--lang", lang).output for lang in ("en", "zh"))
    assert "4711" in english
    assert "4711" in chinese
    assert english != chinese


def test_a_broker_that_may_not_be_broken_says_so(tmp_path):
    with LiveServer(tmp_path / "data") as live:
        assert "--allow-faults" in said(live)
        found = faults(live, "add", "drop")
        assert (found.exit_code, "--allow-faults" in found.output) == (1, True)


def test_a_page_out_of_reach_is_distinguished_from_one_that_refuses():
    found = CliRunner().invoke(main, ["faults", "--page", "http://127.0.0.1:1"])
    assert found.exit_code == 2
    assert "glassmq serve" in found.output


def test_a_send_waits_for_its_answer_as_long_as_its_timeout_says(live):
    live.create_topic("parcels", 1)
    said(live, "add", "drop", "reply to SEND_MESSAGE_V2", "--times", "1")
    words = ["send", "parcels", "hello", "--timeout-ms", "300", "--name-server", live.name_servers[0]]
    sent = CliRunner().invoke(main, words, prog_name="glassmq")
    assert (sent.exit_code, "(of 300 allowed)" in sent.output) == (1, True), sent.output
