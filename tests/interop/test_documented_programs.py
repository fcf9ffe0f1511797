"""Every program in ``docs/clients.md`` runs as it stands there."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.interop.harness.clients import Clients
from tests.interop.harness.cluster import Cluster
from tests.interop.harness.documented_programs import documented_programs, write_program
from tests.interop.harness.installs import cpp_client_python, node_command, node_modules, tool
from tests.interop.harness.process import ManagedProcess
from tests.interop.harness.rocketmq_jars import client_jars

_HOW_IT_IS_RUN_HERE = {
    "cpp_parcels.py",
    "parcels.js",
    "Parcels.java",
    "glassmq_parcels.py",
    "glassmq_send_modes.py",
    "glassmq_request.py",
    "test_parcels.py",
}


@pytest.fixture
def clients(fresh_cluster: Cluster, tmp_path: Path) -> Iterator[Clients]:
    """The programs share a topic, so they get a cluster that no other test uses."""
    started = Clients(fresh_cluster, tmp_path)
    yield started
    started.stop_all()


def _program(name: str, clients: Clients, folder: Path) -> str:
    return str(write_program(name, folder, clients.cluster.name_server))


def _sends_and_receives(process: ManagedProcess) -> None:
    output = process.wait_for_success(90)
    assert re.search(r"^sent .*", output, re.MULTILINE), output
    assert re.search(r"^received .*one vase", output, re.MULTILINE), output


def test_each_documented_program_has_a_test() -> None:
    assert set(documented_programs()) == _HOW_IT_IS_RUN_HERE


def test_the_program_for_the_cpp_client(clients: Clients, tmp_path: Path) -> None:
    program = _program("cpp_parcels.py", clients, tmp_path)
    _sends_and_receives(clients.command("documented C++ program", [str(cpp_client_python()), program]))


def test_the_program_for_ali_ons(clients: Clients, tmp_path: Path) -> None:
    modules = node_modules()
    clients.cluster.create_topic("Parcels", 4)
    program = _program("parcels.js", clients, tmp_path)
    command = ["env", f"NODE_PATH={modules}", node_command(), program]
    _sends_and_receives(clients.command("documented ali-ons program", command))


@pytest.mark.interop_java
def test_the_program_for_the_java_client(clients: Clients, tmp_path: Path) -> None:
    class_path = client_jars().class_path
    program = _program("Parcels.java", clients, tmp_path)
    command = [tool("java"), f"-Duser.home={tmp_path}", "-cp", class_path, program]
    _sends_and_receives(clients.command("documented Java program", command))


def test_the_program_for_the_own_client(clients: Clients, tmp_path: Path) -> None:
    program = _program("glassmq_parcels.py", clients, tmp_path)
    _sends_and_receives(clients.command("documented Python program", [sys.executable, program]))


def test_the_program_that_sends_in_every_way(clients: Clients, tmp_path: Path) -> None:
    program = _program("glassmq_send_modes.py", clients, tmp_path)
    output = clients.command("documented ways to send", [sys.executable, program]).wait_for_success(90)
    assert re.search(r"^sync SEND_OK", output, re.MULTILINE), output
    assert len(re.findall(r"^async SEND_OK", output, re.MULTILINE)) == 5, output
    assert "one queue: True" in output
    assert "acknowledged 5" in output


def test_the_program_that_asks_and_the_trace_of_it(clients: Clients, tmp_path: Path) -> None:
    program = _program("glassmq_request.py", clients, tmp_path)
    output = clients.command("documented request", [sys.executable, program]).wait_for_success(90)
    assert "reply: b'at the depot: parcel-1'" in output
    assert "noted: 1 by the requester, 2 by the clerk" in output
    found = re.search(r"glassmq trace (\w+)", output)
    assert found is not None
    command = [
        sys.executable,
        "-m",
        "app.command_line",
        "trace",
        found[1],
        "--name-server",
        clients.cluster.name_server,
    ]
    trace = clients.command("trace", command).wait_for_success(60)
    assert re.search(r"sent to ParcelQuestions .* customers ", trace), trace
    assert re.search(r"listener called, delivery 1 +clerks", trace), trace
    assert re.search(r"listener ended +clerks .* success", trace), trace


def test_the_test_that_starts_its_own_broker(clients: Clients, tmp_path: Path) -> None:
    program = _program("test_parcels.py", clients, tmp_path)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), program]
    output = clients.command("documented test", command).wait_for_success(90)
    assert "1 passed" in output
