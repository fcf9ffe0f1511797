"""The listeners that docs/semantics/idempotence.md gives to users of the Java client compile against it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.engine.idempotence.test_documents import program
from tests.interop.harness.installs import maven_class_path, tool


@pytest.mark.interop_java
@pytest.mark.parametrize("name", ["MessageTableListener.java", "StateRecordListener.java"])
def test_the_documented_listener_compiles(name: str, tmp_path: Path) -> None:
    source = tmp_path / name
    source.write_text(program(name), "utf-8")
    command = [
        tool("javac"),
        "-Xlint:all",
        "-Werror",
        "-cp",
        maven_class_path("idempotence.xml"),
        "-d",
        str(tmp_path),
        str(source),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
