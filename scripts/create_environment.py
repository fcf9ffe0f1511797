"""Create the virtual environment that all else runs in: ``python -m scripts.create_environment FOLDER``.

Runs under the system's Python with nothing but the standard library. Debian keeps the module ``venv`` working
only where the package ``python3.X-venv`` is installed, so that one is installed first (by root) or asked for.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

from scripts import debian_packages

OLDEST_PYTHON = (3, 11)


def missing_modules() -> list[str]:
    """What a virtual environment with pip needs and this Python lacks."""
    return [name for name in ("venv", "ensurepip") if importlib.util.find_spec(name) is None]


def has_working_pip(folder: Path) -> bool:
    """True when ``folder`` is a virtual environment of a suitable Python whose pip answers.

    A folder that was copied from elsewhere, or whose Python was upgraded away, does not.
    """
    python = folder / "bin" / "python"
    check = f"import pip, sys; sys.exit(sys.version_info < {OLDEST_PYTHON} or sys.prefix != {str(folder)!r})"
    try:
        return subprocess.run([str(python), "-c", check], stderr=subprocess.DEVNULL).returncode == 0
    except OSError:
        return False


def create(folder: Path) -> None:
    """Make ``folder`` a virtual environment with pip. Exits with one line that says what is missing."""
    package = f"python{sys.version_info.major}.{sys.version_info.minor}-venv"
    if missing_modules() and debian_packages.can_install():
        debian_packages.install(package)
        importlib.invalidate_caches()
    if missing_modules():
        sys.exit(
            f"{sys.executable} cannot create virtual environments (no {' and no '.join(missing_modules())}). "
            f"On Debian and Ubuntu: sudo apt-get install {package}"
        )
    command = [sys.executable, "-m", "venv", "--clear", str(folder)]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode != 0:
        reason = (result.stderr or result.stdout).strip().splitlines()[-1:]
        sys.exit(f"Could not create the virtual environment {folder}: {' '.join(reason)}")


def main() -> None:
    """Run as a script."""
    folder = Path(sys.argv[1]).resolve()
    if not has_working_pip(folder):
        print(f"Creating the virtual environment {folder} ...", flush=True)
        create(folder)


if __name__ == "__main__":
    main()
