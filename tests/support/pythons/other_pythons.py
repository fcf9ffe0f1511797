"""Other Pythons than the one that runs the tests: those of this machine, and one for WebAssembly, which npm brings."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

from scripts.fetch_page_packages import PROJECT

#: Where the packages of this Python are.
PACKAGES = Path(sysconfig.get_path("purelib")).resolve()
PYODIDE = PROJECT / "node_modules" / "pyodide"


def find_python(version: str) -> Path | None:
    """The interpreter of a version such as ``3.13``, or None: on ``PATH``, among pyenv's, or one of uv's."""
    is_it = f"import sys; sys.exit(sys.version_info[:2] != ({version.replace('.', ', ')}))"
    for path in _candidates(version):
        # pyenv puts programs on PATH that only say which of its versions to choose.
        if subprocess.run([path, "-c", is_it], capture_output=True).returncode == 0:
            return path
    return None


def _candidates(version: str) -> Iterator[Path]:
    name = f"python{version}"
    for folder in os.get_exec_path():
        if (path := Path(folder, name)).exists():
            yield path
    yield from Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")).glob(f"versions/{version}.*/bin/{name}")
    if uv := shutil.which("uv"):
        found = subprocess.run([uv, "python", "find", "--offline", version], capture_output=True, text=True)
        if found.returncode == 0:
            yield Path(found.stdout.strip())


def find_node() -> str | None:
    """Node.js as `make` uses it: that of the virtual environment before the machine's."""
    return shutil.which("node", path=os.pathsep.join([str(Path(sys.executable).parent), *os.get_exec_path()]))


def webassembly(node: str) -> list[str | Path]:
    """The command that runs a Python program under WebAssembly."""
    return [node, Path(__file__).with_name("pyodide_program.mjs"), f"{PROJECT}:{PACKAGES}"]


def run_program(interpreter: list[str | Path], program: Path, *arguments: str | Path, given: str = "") -> str:
    """Run a program with ``given`` as its standard input; return its standard output."""
    done = subprocess.run([*interpreter, program, *arguments], input=given, capture_output=True, text=True)
    assert done.returncode == 0, f"{program.name} failed: {done.stderr[-2_000:]}"
    return done.stdout
