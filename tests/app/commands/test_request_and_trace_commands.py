"""``glassmq request``, ``reply``, ``trace`` and the modes of ``send`` against one running server."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator

import pytest
from click.testing import CliRunner, Result

from app.command_line import main
from tests.support.live.glass_process import ROOT, GlassProcess


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GlassProcess]:
    with GlassProcess(tmp_path_factory.mktemp("data")) as process:
        yield process


def glassmq(server: GlassProcess, *arguments: str) -> Result:
    return CliRunner().invoke(main, [*arguments, "--name-server", server.name_server], prog_name="glassmq")


def test_a_request_prints_the_reply_and_the_replier_what_it_answered(server: GlassProcess):
    command = [sys.executable, "-m", "app.command_line", "reply", "questions", "--group", "answerers"]
    command += ["--body", "you asked: {body}", "--count", "1", "--name-server", server.name_server]
    replier = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert replier.stderr is not None
        assert "waiting for requests in questions" in replier.stderr.readline()
        result = glassmq(server, "request", "questions", "what?", "--timeout-ms", "30000")
        assert result.output == "you asked: what?\n"
        output, _ = replier.communicate(timeout=30)
        assert output == "what?  -> you asked: what?\n"
        assert replier.returncode == 0
    finally:
        replier.kill()
        replier.wait(10)


def test_a_request_that_nobody_answers_says_so_in_one_line(server: GlassProcess):
    result = glassmq(server, "request", "nobody", "hello?", "--timeout-ms", "300")
    assert result.exit_code == 1
    assert re.fullmatch(
        r"Error: the request .* to topic 'nobody' was sent, but no reply came within 300 ms.*\n", result.output
    )


def test_send_in_every_mode_says_what_it_knows(server: GlassProcess):
    result = glassmq(server, "send", "modes", "x {n}", "--mode", "async", "--count", "20")
    assert result.output.count("SEND_OK") == 20
    assert "20 sent in" in result.output
    result = glassmq(server, "send", "modes", "x", "--mode", "oneway")
    assert re.search(r"1 sent in .*; whether they arrived is unknown", result.output)
    result = glassmq(server, "send", "modes", "x", "--mode", "async", "--batch", "2")
    assert result.exit_code == 2
    assert "--batch excludes --mode: a batch is sent synchronously" in result.output


def test_asynchronous_sends_that_fail_are_counted(server: GlassProcess):
    result = glassmq(server, "send", "SCHEDULE_TOPIC_XXXX", "x", "--mode", "async")
    assert result.exit_code == 1
    assert "SCHEDULE_TOPIC_XXXX" in result.output


def test_a_traced_message_is_found_by_its_id_and_an_untraced_one_is_not(server: GlassProcess):
    sent = glassmq(server, "send", "traced", "x", "--trace").output
    found = re.search(r"id (\w+)", sent)
    assert found is not None
    trace = glassmq(server, "trace", found[1])
    assert re.search(
        rf"message {found[1]}\n.*\nsent to traced at {server.broker} +glassmq_send +127.*success", trace.output
    )
    result = glassmq(server, "trace", "F" * 32)
    assert result.exit_code == 1
    assert "no client has recorded anything about message" in result.output
    result = glassmq(server, "trace", found[1], "--topic", "other")
    assert "there is no topic 'other'" in result.output


def test_a_trace_record_that_cannot_be_read_hides_no_other_and_commands_no_terminal(server: GlassProcess):
    glassmq(server, "send", "RMQ_SYS_TRACE_TOPIC", "Pub\x01mine\x02", "--key", "mine")
    good = ["Pub", "1700000000000", "r", "g\x1b[2J", "t", "mine", "", "mine", "h", "1", "1", "0", "o", "true"]
    glassmq(server, "send", "RMQ_SYS_TRACE_TOPIC", "\x01".join(good) + "\x02", "--key", "mine")
    swallowed = ["SubAfter", "call", "mine", "12", "true", "mine", "100", "1700000000005", "g"]
    glassmq(server, "send", "RMQ_SYS_TRACE_TOPIC", "\x01".join(swallowed) + "\x02", "--key", "mine")
    trace = glassmq(server, "trace", "mine")
    assert trace.exit_code == 0
    assert "success: a duplicate, no work was done" in trace.output
    assert "a record is skipped: trace record 0 (Pub, 1 fields)" in trace.output
    assert "sent to t at h  g?[2J" in trace.output
