"""Runs ``submitted_program.py`` as a user would: in Pythons that have nothing else of this project."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from engine.pipeline.java import find_java_home
from tests.support.live.live_server import LiveServer

_PROGRAM = Path(__file__).with_name("submitted_program.py")


def assert_it_reads_streams_and_writes(
    command: Sequence[str | Path], package: str, folder: Path, *, driver: Path, worker: Path
) -> None:
    """Run the program after ``command`` against a server in ``folder``.

    :param package: where the program imports ``register`` from.
    :param driver: the driver's Python. ``worker``: that of the workers.
    """
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment |= {"PYSPARK_PYTHON": str(worker), "PYSPARK_DRIVER_PYTHON": str(driver)}
    environment |= {"JAVA_HOME": str(find_java_home()), "SPARK_LOCAL_IP": "127.0.0.1"}
    with LiveServer(folder / "data", page=False) as server:
        server.create_topic("Orders", 2)
        done = subprocess.run(
            [*command, _PROGRAM, server.name_servers[0], package],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=500,
        )
    assert done.returncode == 0, done.stderr[-4_000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert found == {"batch": 20, "usual": 20, "quick": 20, "checksums": {"usual": True, "quick": False}}
