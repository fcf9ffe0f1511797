"""The Python part of the site: Pyodide's own files, and one archive with every module that the worker needs.

The modules are compiled at the build, by the Python that will run them; sources stay outside the archive and are loaded
when the page shows them.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import zstandard

import app
import engine
from app.foundation.page_folders import PageFolders
from engine.lab.scenario.scenario_files import tutorials_folder
from engine.pipeline.reached_modules import reached_modules

#: What Pyodide loads by itself.
RUNTIME_FILES = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json")
#: What the application imports: all work as pure Python.
PACKAGES = (
    "blinker",
    "click",
    "dateutil",
    "flask",
    "itsdangerous",
    "jinja2",
    "lark",
    "markdown_it",
    "markupsafe",
    "mdurl",
    "pluggy",
    "sqlite_fts4",
    "sqlite_utils",
    "werkzeug",
    "yaml",
)
#: Packages that are one file.
MODULES = ("click_default_group",)
#: Python's standard library, compiled: what Pyodide needs to start. The archive has the rest.
STANDARD_LIBRARY = "python_stdlib.zip"
#: What the worker never imports of the standard library: developers' tools, other protocols, codecs of old systems, and
#: Python's own form of what is compiled.
UNUSED_LIBRARY = (
    r"(_pyrepl|tomllib|unittest|wsgiref|xml|xmlrpc)/|(_pydatetime|_pyio|argparse|bdb|cmd|cProfile|code|compileall"
    r"|configparser|doctest|filecmp|fileinput|ftplib|imaplib|mailbox|modulefinder|netrc|optparse|pdb|pickletools|plistlib"
    r"|poplib|profile|pstats|pyclbr|pydoc|rlcompleter|runpy|shelve|smtplib|symtable|tabnanny|timeit|trace|tracemalloc|wave"
    r"|tarfile|webbrowser|zipapp)\.py|http/cookiejar\.py|multiprocessing/(dummy/|(forkserver|heap|managers|pool|popen_\w+"
    r"|resource_\w+|shared_memory|sharedctypes|spawn|synchronize)\.py)"
    r"|encodings/(big5|cp(?!437)|euc|gb|hp|hz|iso|johab|koi|kz|mac_|palmos|ptcp|shift|tis)"
)
#: The application's module that the page's worker imports; that of a search is among what it imports.
WORKER = "app.site.worker"
#: What it never uses of the packages: tools for terminals and tests.
LEFT_OUT = re.compile(
    r"click/(_termui_impl|_winconsole|shell_completion|testing)\.|dateutil/(rrule\.|tz/win\.|zoneinfo/)|flask/testing\."
    r"|jinja2/(ext|sandbox)\.|lark/(tools|__pyinstaller)/|sqlite_utils/cli|werkzeug/(debug|middleware)/|werkzeug/_reloader\."
)
#: Files that modules read.
DATA_SUFFIXES = (".json", ".lark", ".yaml", ".md")
ARCHIVE = "glassmq.zst"
LOCK_FILE = "pyodide-lock.json"
#: What the worker fetches of Pyodide's files, and counts while it does, as it counts the archive.
_FETCHED_FILES = ("pyodide.asm.wasm", STANDARD_LIBRARY, LOCK_FILE)
#: Pyodide reads it in a second; the highest levels would win little more.
_LEVEL = 19


class SiteProblem(Exception):
    """The site cannot be built; the message says why and what helps."""


def find_node() -> str:
    """Return Node.js as ``make`` uses it: that of the virtual environment before the machine's."""
    node = shutil.which("node", path=os.pathsep.join([str(Path(sys.executable).parent), *os.get_exec_path()]))
    if node is None:
        raise SiteProblem("Node.js is missing: it compiles the modules for the browser (make install brings one)")
    return node


def default_pyodide() -> Path:
    """Return where npm puts Pyodide."""
    return Path(app.__file__ or "").resolve().parent.parent / "node_modules" / "pyodide"


def check_runtime(pyodide: Path) -> None:
    """Raise :class:`SiteProblem` where a file of Pyodide is missing."""
    missing = [name for name in RUNTIME_FILES if not (pyodide / name).is_file()]
    if missing:
        raise SiteProblem(
            f"Pyodide is not in {pyodide}: {', '.join(missing)} missing; run npm ci in GlassMQ's folder,"
            " or name another folder with --pyodide"
        )


def write_python(pyodide: Path, target: Path) -> tuple[str, int]:
    """Write everything that the worker loads below ``target``; return Pyodide's version and the bytes of it all.

    Pyodide's files are in a folder of its version: browsers keep its WebAssembly by its address, see
    static/site/python.js. Raises :class:`SiteProblem`, ``OSError``.
    """
    version: str = json.loads((pyodide / "package.json").read_text(encoding="utf-8"))["version"]
    runtime = target / version
    runtime.mkdir(parents=True, exist_ok=True)
    for name in RUNTIME_FILES:
        shutil.copyfile(pyodide / name, runtime / name)
    # Pyodide needs the file, and the site none of the packages that it lists.
    lock = json.loads((runtime / LOCK_FILE).read_text(encoding="utf-8"))
    (runtime / LOCK_FILE).write_text(json.dumps(lock | {"packages": {}}), encoding="utf-8")
    own = own_modules()
    with tempfile.TemporaryDirectory(prefix="glassmq-site-") as folder:
        modules = Path(folder)
        _copy_modules(own, modules)
        _copy_data(modules)
        _compile(pyodide, modules)
        _copy(modules / STANDARD_LIBRARY, STANDARD_LIBRARY, runtime)
        (modules / STANDARD_LIBRARY).unlink()
        _pack(modules, target / ARCHIVE)
    for path, source in own.items():
        if path.startswith("engine/"):
            _copy(source, path, target / "sources")
    return version, sum(file.stat().st_size for file in (target / ARCHIVE, *map(runtime.joinpath, _FETCHED_FILES)))


def own_modules() -> dict[str, Path]:
    """Return path in the archive -> source, of what the worker reaches of engine and application."""
    folders = [Path(package.__file__ or "").parent for package in (engine, app)]
    own = {path: source for folder in folders for source, path in _sources(folder, folder.name)}
    contents = {path: source.read_bytes() for path, source in own.items()}
    reached = reached_modules([WORKER], contents, for_types=False)
    return {path: source for path, source in own.items() if path in reached}


def _copy_modules(own: Mapping[str, Path], target: Path) -> None:
    for path, source in own.items():
        _copy(source, path, target)
    for name in (*PACKAGES, *MODULES):
        file = _file_of(name)
        if name in MODULES:
            _copy(file, file.name, target)
        else:
            for source, path in _sources(file.parent, name):
                _copy(source, path, target)


def _file_of(name: str) -> Path:
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        raise SiteProblem(f"the package {name} is not installed")
    return Path(spec.origin)


def _sources(folder: Path, name: str) -> Iterator[tuple[Path, str]]:
    """Yield the modules below a folder and their paths in the archive."""
    for source in sorted(folder.rglob("*.py")):
        path = f"{name}/{source.relative_to(folder).as_posix()}"
        if not LEFT_OUT.match(path):
            yield source, path


def _compile(pyodide: Path, modules: Path) -> None:
    program = Path(__file__).with_name("compile_modules.mjs")
    command: list[str | Path] = [find_node(), program, pyodide.resolve(), modules, UNUSED_LIBRARY]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SiteProblem(f"the modules could not be compiled: {done.stderr[-2_000:] or done.stdout[-2_000:]}")


def _copy_data(target: Path) -> None:
    """Copy what the modules read next to them: texts, grammars, and the files of lessons and scenarios."""
    for package in (engine, app):
        folder = Path(package.__file__ or "").parent
        _copy_files(folder, folder.name, target)
    _copy_files(_file_of("lark").parent, "lark", target)
    _copy_files(tutorials_folder(), "tutorials", target)
    _copy_files(PageFolders.find().templates, "templates", target, (".html",))


def _copy_files(folder: Path, name: str, target: Path, suffixes: tuple[str, ...] = DATA_SUFFIXES) -> None:
    for source in sorted(folder.rglob("*")):
        path = f"{name}/{source.relative_to(folder).as_posix()}"
        if source.suffix in suffixes and not LEFT_OUT.match(path):
            _copy(source, path, target)


def _copy(source: Path, path: str, target: Path) -> None:
    file = target / path
    file.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, file)


def _pack(modules: Path, archive: Path) -> None:
    """Pack all files in one stream, as modules resemble each other: paths and sizes in a line of JSON, then contents.

    The same files give the same archive.
    """
    files = sorted(file for file in modules.rglob("*") if file.is_file())
    contents = [file.read_bytes() for file in files]
    paths = [file.relative_to(modules).as_posix() for file in files]
    index = json.dumps(list(zip(paths, map(len, contents), strict=True)))
    parameters = zstandard.ZstdCompressionParameters.from_level(_LEVEL, window_log=25, enable_ldm=True)
    packed = b"".join([f"{index}\n".encode(), *contents])
    archive.write_bytes(zstandard.ZstdCompressor(compression_params=parameters).compress(packed))
