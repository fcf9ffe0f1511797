"""The engine's version, and its shipment to Spark's executors, which then need only what Spark needs (``addPyFile``).

``python -m engine.pipeline.shipping FILE.zip`` writes the same archive for ``spark-submit --py-files``.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: The same sources always give the same archive, so that its name identifies it.
_NO_DATE = (1980, 1, 1, 0, 0, 0)


def ship(spark: SparkSession) -> None:
    """Let the executors of this session import ``engine``, and the Python processes next to the driver, too.

    Those processes plan streams. They are started like the executors' (``PYSPARK_PYTHON``), but do not receive what was
    shipped, so they find it by ``PYTHONPATH``. Call this before a data source is registered.
    """
    context, path = spark.sparkContext, str(archive())
    context.addPyFile(path)
    context.environment["PYTHONPATH"] = os.pathsep.join(filter(None, (path, context.environment.get("PYTHONPATH"))))


def archive(folder: Path | None = None) -> Path:
    """Create an archive of the package ``engine`` in ``folder``, by default in a temporary one, and return its path.

    This process removes the temporary folder when it ends; Spark's executors may fetch the file until then.
    """
    sources = _sources()
    digest = hashlib.sha256(b"".join(name.encode() + b"\0" + data for name, data in sources)).hexdigest()[:12]
    path = (folder or _temporary_folder()) / f"glassmq_engine_{digest}.zip"
    write_archive(path)
    return path


def _temporary_folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="glassmq-shipping-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def write_archive(path: Path) -> None:
    """Write the archive of the package ``engine``."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archived:
        for name, data in _sources():
            archived.writestr(zipfile.ZipInfo(name, _NO_DATE), data, zipfile.ZIP_DEFLATED)


@cache
def engine_digest() -> str:
    """Return a digest of the sources that determine a lab's world: runs of two engines are not runs of one
    experiment.
    """
    digest = hashlib.sha256()
    for path, text in _sources():
        if path.endswith((".py", ".lark")) and not path.startswith("engine/pipeline/"):
            path = path.removeprefix("engine/")
            digest.update(f"{path}\0{len(text)}\0".encode())
            digest.update(text)
    return digest.hexdigest()[:16]


def _sources() -> list[tuple[str, bytes]]:
    """Return path and content of every file of the package ``engine``, sorted, wherever it was imported from: a folder,
    a wheel or a zip.
    """
    return sorted(_files(files("engine"), "engine/"))


def _files(folder: Traversable, path: str) -> Iterator[tuple[str, bytes]]:
    for entry in folder.iterdir():
        if entry.is_file():
            yield path + entry.name, entry.read_bytes()
        elif entry.name != "__pycache__":
            yield from _files(entry, f"{path}{entry.name}/")


def main() -> None:
    """Run as a script."""
    if len(sys.argv) != 2:
        sys.exit("usage: python -m engine.pipeline.shipping FILE.zip")
    write_archive(Path(sys.argv[1]))


if __name__ == "__main__":
    main()
