"""Gets the unmodified clients from their registries, once, into a git-ignored folder of the repository.

A registry that does not give a client is no failure of GlassMQ: :class:`ClientUnavailable` says what is missing
and why, and the tests of that client are reported as skipped with that text.
"""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[3]
CACHE = REPOSITORY / ".cache" / "interop"
JAVA_SOURCES = Path(__file__).resolve().parents[1] / "java"

CPP_CLIENT = "rocketmq==0.4.4"
NODE_PACKAGES = ("ali-ons@3.12.0", "urllib@2")
_DEPENDENCY_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1"
_INSTALL_DEADLINE_S = 600


class ClientUnavailable(Exception):
    """A client or tool that a test needs is not to be had here; the text is the reason for the skip."""


#: What failed once in this run is not tried again: a registry out of reach costs its time-out only once.
_failures: dict[Path, ClientUnavailable] = {}


@cache
def cpp_client_python() -> Path:
    """The interpreter of a virtual environment that holds the C++ client and nothing else."""
    folder = CACHE / "cpp-client"
    python = folder / "bin" / "python"

    def install() -> None:
        _run([sys.executable, "-m", "venv", str(folder)], f"a virtual environment for {CPP_CLIENT}")
        _run([str(python), "-m", "pip", "install", "--quiet", CPP_CLIENT], f"PyPI {CPP_CLIENT}")
        _run([str(python), "-c", "import rocketmq.client"], f"loading the native library of PyPI {CPP_CLIENT}")

    _install_once(folder, CPP_CLIENT, install)
    return python


@cache
def node_modules() -> Path:
    """The ``node_modules`` folder with the npm client; ``node`` runs its drivers."""
    node_command()
    npm = tool("npm")
    folder = CACHE / "ali-ons"

    def install() -> None:
        folder.mkdir(parents=True)
        (folder / "package.json").write_text('{"private": true}\n', "utf-8")
        command = [npm, "install", "--no-audit", "--no-fund", "--prefix", str(folder), *NODE_PACKAGES]
        _run(command, f"npm {' '.join(NODE_PACKAGES)}")

    _install_once(folder, " ".join(NODE_PACKAGES), install)
    return folder / "node_modules"


@cache
def node_command() -> str:
    """The ``node`` program."""
    return tool("node")


@cache
def maven_class_path(pom_name: str) -> str:
    """The class path of one of our poms (``tests/interop/java/*.xml``), resolved by Maven once."""
    maven = tool("mvn")
    tool("java")
    pom = JAVA_SOURCES / pom_name
    folder = CACHE / pom.stem
    target = folder / "class-path.txt"

    def resolve() -> None:
        folder.mkdir(parents=True)
        goal = f"{_DEPENDENCY_PLUGIN}:build-classpath"
        command = [maven, "--quiet", "--batch-mode", "--file", str(pom), goal, f"-Dmdep.outputFile={target}"]
        _run(command, f"Maven artifacts of {pom_name}")

    _install_once(folder, pom.read_text("utf-8"), resolve)
    return target.read_text("utf-8").strip()


@cache
def compiled_drivers() -> Path:
    """Folder with the class files of our own Java drivers, compiled against the unmodified client."""
    compiler = tool("javac")
    class_path = maven_class_path("client.xml")
    sources = sorted(JAVA_SOURCES.glob("*.java"))
    folder = CACHE / "java-drivers"

    def compile_sources() -> None:
        folder.mkdir(parents=True)
        command = [compiler, "-nowarn", "-cp", class_path, "-d", str(folder), *map(str, sources)]
        _run(command, "javac of tests/interop/java")

    _install_once(folder, "".join(source.read_text("utf-8") for source in sources), compile_sources)
    return folder


def tool(name: str) -> str:
    """Path of a program: on PATH, or in the virtual environment of this run."""
    found = shutil.which(name) or shutil.which(name, path=str(Path(sys.executable).parent))
    if found is None:
        raise ClientUnavailable(f"no `{name}` on this machine")
    return found


def _run(command: list[str], what: str) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_INSTALL_DEADLINE_S)
    except subprocess.TimeoutExpired as expired:
        raise ClientUnavailable(f"{what}: no answer within {_INSTALL_DEADLINE_S} s") from expired
    if done.returncode != 0:
        lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        reason = next((line for line in lines if "ERROR" in line or "error" in line), lines[-1] if lines else "")
        raise ClientUnavailable(f"{what}: {reason.strip()[:300]}")


def _install_once(folder: Path, recipe: str, install: Callable[[], None]) -> None:
    """Run ``install`` unless ``folder`` already holds the result of the same ``recipe``.

    Test workers may ask at the same time: a file lock lets one install and the others wait. A half-made folder
    carries no stamp and is made anew.
    """
    if folder in _failures:
        raise _failures[folder]
    digest = hashlib.sha256(recipe.encode()).hexdigest()
    stamp = folder / ".installed"
    with _locked(folder.name):
        if stamp.is_file() and stamp.read_text("ascii") == digest:
            return
        shutil.rmtree(folder, ignore_errors=True)
        try:
            install()
        except ClientUnavailable as failure:
            _failures[folder] = failure
            raise
        stamp.write_text(digest, "ascii")


@contextmanager
def _locked(name: str) -> Iterator[None]:
    CACHE.mkdir(parents=True, exist_ok=True)
    ignore_all = CACHE.parent / ".gitignore"
    if not ignore_all.exists():
        ignore_all.write_text("*\n", "ascii")
    with (CACHE / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
