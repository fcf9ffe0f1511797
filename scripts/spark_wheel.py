"""Builds ``glassmq-spark``, a wheel with the Spark data source and what it needs; for ``make wheel``.

``python -m scripts.spark_wheel FOLDER`` writes it there. Its one package is ``glassmq_spark``: a package ``engine``
could clash with another one, and with GlassMQ in the same environment.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from pathlib import Path

from engine.pipeline.shipping import archive

ROOT = Path(__file__).parent.parent
PACKAGE = "glassmq_spark"
_MODULE_NAME = re.compile(r"\bengine(?=\.[a-z])")
_INIT = f'''"""Topics of RocketMQ and GlassMQ in Spark: ``format("rocketmq")``, after ``register(spark)``."""

from {PACKAGE}.pipeline.registration import register

__all__ = ["register"]
'''
#: Decompress bodies of clients of RocketMQ 5.
_CODECS = ("lz4", "zstandard")


def write_project(folder: Path) -> None:
    """Write the sources, under the name of the package, and a project that builds them."""
    with zipfile.ZipFile(archive(folder, jobs=False)) as sources:
        for name in sources.namelist():
            path = folder / PACKAGE / name.removeprefix("engine/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(_renamed(sources.read(name)) if name.endswith(".py") else sources.read(name))
    (folder / PACKAGE / "__init__.py").write_text(_INIT)
    (folder / "LICENSE").write_bytes((ROOT / "LICENSE").read_bytes())
    (folder / "pyproject.toml").write_text(_project())


def _renamed(source: bytes) -> bytes:
    return _MODULE_NAME.sub(PACKAGE, source.decode()).replace("glassmq[spark]", "glassmq-spark").encode()


def _project() -> str:
    """Return the ``pyproject.toml``. The version and all requirements are those of GlassMQ."""
    ours = tomllib.loads((ROOT / "pyproject.toml").read_text())
    codecs = [line for line in ours["project"]["dependencies"] if line.startswith(_CODECS)]
    project = {
        "name": "glassmq-spark",
        "description": "A data source of Apache Spark for topics of RocketMQ and GlassMQ.",
        "requires-python": ours["project"]["requires-python"],
        "license": ours["project"]["license"],
        "license-files": ours["project"]["license-files"],
        "dependencies": ours["project"]["optional-dependencies"]["spark"] + codecs,
        "dynamic": ["version"],
    }
    version = ours["tool"]["hatch"]["version"]
    tables = {
        "build-system": ours["build-system"],
        "project": project,
        "tool.hatch.version": version,
        "tool.hatch.version.raw-options": {"root": str(ROOT)},
        "tool.hatch.build.targets.wheel": {"packages": [PACKAGE]},
    }
    # JSON's texts and lists of texts are TOML's as well.
    return "\n".join(
        line
        for name, table in tables.items()
        for line in (f"[{name}]", *(f"{key} = {json.dumps(value)}" for key, value in table.items()))
    )


def main() -> None:
    """Run as a script."""
    if len(sys.argv) != 2:
        sys.exit("usage: python -m scripts.spark_wheel FOLDER")
    with tempfile.TemporaryDirectory() as folder:
        write_project(Path(folder))
        pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "wheel", "--no-deps", "--wheel-dir", sys.argv[1], folder], check=True)


if __name__ == "__main__":
    main()
