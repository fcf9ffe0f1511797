"""What the documents tell a reader to paste into a terminal works as it stands there."""

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.live.glass_process import GlassProcess

ROOT = Path(__file__).parents[3]
COMMAND = Path(sys.executable).with_name("glassmq")


def free_ports(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


@pytest.mark.skipif(not COMMAND.exists(), reason="needs the installed command glassmq")
@pytest.mark.thorough
def test_the_durability_walk_shows_what_it_promises(tmp_path):
    section = (ROOT / "docs" / "durability.md").read_text().partition("## Walkthroughs")[2]
    script = re.search(r"```sh\n(.*?)```", section, re.DOTALL)[1]
    name_server_port, broker_port = free_ports(2)
    script = script.replace("/tmp/try", str(tmp_path / "try")).replace("$PWD/.venv/bin", str(COMMAND.parent))
    ports = f"--no-page --name-server-port {name_server_port} --broker-port {broker_port}"
    assert "--no-page" in script
    with subprocess.Popen(
        ["bash", "-c", script.replace("--no-page", ports)],
        cwd=ROOT,
        env={**os.environ, "NAMESRV_ADDR": f"127.0.0.1:{name_server_port}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as shell:
        try:
            output, _ = shell.communicate(timeout=120)
        finally:
            if shell.returncode is None:
                os.killpg(shell.pid, 9)
    assert shell.returncode == 0, output
    assert "Traceback" not in output
    assert {f"message {n}" for n in range(20)} <= {line.split("  ")[-1] for line in output.splitlines()}
    assert "the last run did not shut down" in output
    assert "were damaged or taken away from outside" in output
    assert "consume queue demo/1 is missing; it is built again" in output
    assert "topics.json.bak is used" in output
    tables = re.findall(r"BROKER +QUEUE +MIN +MAX\n((?:broker-a .*\n)+)", output)
    assert len(tables) == 2
    assert tables[0] == tables[1]


@pytest.mark.skipif(not COMMAND.exists(), reason="needs the installed command glassmq")
def test_the_program_that_sends_in_a_transaction_runs_as_it_stands(tmp_path):
    program = re.search(r"```python\n(.*?)```", (ROOT / "docs" / "transactions.md").read_text(), re.DOTALL)[1]
    with GlassProcess(tmp_path / "data") as server:
        (tmp_path / "pay.py").write_text(program.replace("127.0.0.1:9876", server.name_server))
        done = subprocess.run(
            [sys.executable, "pay.py"], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
        )
    assert done.returncode == 0, done.stderr
    assert "COMMIT_MESSAGE" in done.stdout
    assert (tmp_path / "payments.db").exists()
