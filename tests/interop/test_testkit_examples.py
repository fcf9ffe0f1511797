"""The examples of ``docs/testkit/other-languages.md``, each with the unmodified client of its language."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from engine.client import Message
from engine.testkit import GlassMQ
from tests.interop.harness.clients import Clients, messages
from tests.interop.harness.glassmq_cluster import cluster_of
from tests.interop.harness.installs import cpp_client_python, node_command, node_modules, tool
from tests.interop.harness.process import ManagedProcess
from tests.support.live.kit_clients import send

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "docs" / "examples" / "testkit"
#: Go compiles the client once for its tests; Maven fetches JUnit once.
_DEADLINE_S = 240.0

Run = Callable[..., ManagedProcess]


@pytest.fixture
def run(real_client: None, tmp_path: Path) -> Iterator[Run]:
    """Runs a command in a copy of the example, with `glassmq` on PATH; it must end well."""
    programs = tmp_path / "bin"
    programs.mkdir()
    command = programs / "glassmq"
    command.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m app.command_line "$@"\n', "utf-8")
    command.chmod(0o755)
    started: list[ManagedProcess] = []

    def run(example: str, *command: str, **environment: str) -> ManagedProcess:
        folder = tmp_path / example
        shutil.copytree(EXAMPLES / example, folder)
        environment |= {"PATH": f"{programs}{os.pathsep}{os.environ.get('PATH', os.defpath)}", "TMPDIR": str(tmp_path)}
        process = ManagedProcess(f"example {example}", [*command], tmp_path / "output.log", environment, folder)
        started.append(process)
        process.wait_for_success(_DEADLINE_S)
        return process

    yield run
    for process in started:
        process.stop(grace_s=1.0)


def test_the_node_example_passes(run: Run) -> None:
    process = run("node", node_command(), "--test", "--test-force-exit", NODE_PATH=str(node_modules()))
    assert "# pass 2" in process.output().replace("ℹ", "#")


def test_the_example_with_the_cpp_client_passes(run: Run, tmp_path: Path) -> None:
    process = run("cpp", str(cpp_client_python()), "-m", "unittest", "-v", "order_tests", HOME=str(tmp_path))
    assert "Ran 2 tests" in process.output()


@pytest.mark.interop_java
def test_the_go_example_passes(run: Run) -> None:
    process = run("go", tool("go"), "test", "-v", "./...", HOME=os.environ["HOME"])
    assert process.output().count("--- PASS") == 2


@pytest.mark.interop_java
def test_the_junit_example_passes(run: Run) -> None:
    process = run("java", tool("mvn"), "-B", "-Dstyle.color=never", "test")
    assert "Tests run: 2, Failures: 0, Errors: 0, Skipped: 0" in process.output()


@pytest.mark.parametrize("language", ["cpp", pytest.param("java", marks=pytest.mark.interop_java)])
def test_advance_lets_all_retries_pass(language: str, real_client: None, tmp_path: Path) -> None:
    with GlassMQ() as glassmq:
        send(glassmq, Message("orders", b"1"))
        clients = Clients(cluster_of(glassmq), tmp_path)
        try:
            consumer = clients.failing(language, "billing", "orders")
            glassmq.wait_for("SCHEDULE_TOPIC_XXXX", timeout=60)
            glassmq.advance(hours=5, settle=10)
            glassmq.assert_dead_letter("billing", count=1, timeout=30)
            assert [event["reconsume_times"] for event in messages(consumer)] == [*range(17)]
        finally:
            clients.stop_all()


def test_the_junit_extension_is_short() -> None:
    lines = (EXAMPLES / "java" / "src" / "test" / "java" / "GlassMQ.java").read_text("utf-8").splitlines()
    assert len(lines) <= 100
