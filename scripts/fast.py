"""``make fast``: compile the hot path with mypyc, as the source stands.

Usage: ``python -m scripts.fast``. Needs a C compiler, and mypy and setuptools from the extra ``dev``. A build
replaces the last one when it is whole; a failed one leaves none.
"""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
import tempfile
import time
from pathlib import Path

from engine.compiled.compiled_modules import COMPILED_MODULES
from engine.compiled.form import BUILT, SHARED_LIBRARY, BuildUnusable, source_digests, usable_modules, write_manifest

_PROJECT = Path(__file__).parent.parent
_TYPE_OPTIONS = ["--strict", "--explicit-package-bases", "--follow-imports=silent", "--ignore-missing-imports"]


class CannotCompile(Exception):
    """What is missing; the message is for people."""


def build(folder: Path = BUILT) -> None:
    """Compile into ``folder``. Raises :class:`CannotCompile`; ends the process when the source has wrong types."""
    compiler = os.environ.get("CC") or str(sysconfig.get_config_var("CC") or "cc").split()[0]
    if shutil.which(compiler) is None:
        raise CannotCompile(f"there is no C compiler ({compiler}); on Debian: apt-get install gcc libc6-dev")
    try:
        from mypyc.build import mypycify
        from setuptools import Distribution
        from setuptools.command.build_ext import build_ext
    except ImportError as missing:
        raise CannotCompile(f"{missing}; make fast installs it") from None
    sources = source_digests()
    files = [f"{name.replace('.', '/')}.py" for name in COMPILED_MODULES]
    shutil.rmtree(folder, ignore_errors=True)
    os.chdir(_PROJECT)
    with tempfile.TemporaryDirectory(prefix="glassmq-compile-") as work:
        group = SHARED_LIBRARY.removesuffix("__mypyc")
        extensions = mypycify(
            [*_TYPE_OPTIONS, *files], debug_level="0", group_name=group, target_dir=f"{work}/c", multi_file=True
        )
        command = build_ext(Distribution({"name": group, "ext_modules": extensions}))
        command.build_lib, command.build_temp, command.parallel = f"{work}/built", f"{work}/objects", os.cpu_count()
        command.ensure_finalized()
        command.run()
        write_manifest(Path(work, "built"), COMPILED_MODULES, sources)
        shutil.copytree(f"{work}/built", f"{folder}.new", dirs_exist_ok=True)
    Path(f"{folder}.new").rename(folder)


def main() -> int:
    """What the process ends with."""
    try:
        usable_modules()
    except BuildUnusable as reason:
        print(f"Compiling {len(COMPILED_MODULES)} modules, one to three minutes ({reason}) ...", flush=True)
    else:
        print("Compiled already, and nothing has changed since.")
        return 0
    started = time.monotonic()
    try:
        build()
    except CannotCompile as reason:
        print(f"Not compiled: {reason}. GlassMQ runs without it, interpreted.", file=sys.stderr)
        return 1
    print(f"Compiled in {time.monotonic() - started:.0f} s. glassmq serve uses it; --interpreted does not.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
