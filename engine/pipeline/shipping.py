"""The engine's version, and its shipment to Spark's executors, which then need only what Spark needs (``addPyFile``).

``python -m engine.pipeline.shipping FILE.zip`` writes an archive with the data source for ``spark-submit --py-files``.
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
from weakref import WeakKeyDictionary

from engine.pipeline.reached_modules import reached_modules

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

#: ``engine``, or the package that ``scripts/spark_wheel.py`` makes of it.
_PACKAGE = (__package__ or "").partition(".")[0]
#: What a program with the data source imports; the archive for it has these modules and those that they import.
_OF_THE_SOURCE = tuple(
    f"{_PACKAGE}.pipeline.{name}" for name in ("registration", "shipping", "source.bodies", "source.data_source")
)
#: Context -> whether it has the modules of the jobs, apart from those of the data source.
_shipped: WeakKeyDictionary[SparkContext, bool] = WeakKeyDictionary()


def ship(spark: SparkSession, *, jobs: bool) -> None:
    """Let the executors of this session import ``engine``, and the Python processes next to the driver, too.

    A context that has the modules is left as it is: Spark refuses a second archive of the same name.

    :param jobs: False: only the data source is shipped.

    Those processes plan streams. They are started like the executors' (``PYSPARK_PYTHON``), but do not receive what was
    shipped, so they find it by ``PYTHONPATH``. Call this before a data source is registered.
    """
    context = spark.sparkContext
    if context in _shipped and (_shipped[context] or not jobs):
        return
    path = str(archive(jobs=jobs))
    context.addPyFile(path)
    _shipped[context] = jobs
    context.environment["PYTHONPATH"] = os.pathsep.join(filter(None, (path, context.environment.get("PYTHONPATH"))))


def archive(folder: Path | None = None, *, jobs: bool = True) -> Path:
    """Create an archive of the package ``engine`` in ``folder``, by default in a temporary one, and return its path.

    :param jobs: False: the archive has only the data source.

    This process removes the temporary folder when it ends; Spark's executors may fetch the file until then.
    """
    sources = _sources() if jobs else _sources_of_data_source()
    digest = hashlib.sha256(b"".join(name.encode() + b"\0" + data for name, data in sources)).hexdigest()[:12]
    path = (folder or _temporary_folder()) / f"glassmq_engine_{digest}.zip"
    _write_archive(path, sources)
    return path


def _temporary_folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="glassmq-shipping-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _write_archive(path: Path, sources: list[tuple[str, bytes]]) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archived:
        for name, data in sources:
            # Without a date the same sources always give the same archive, so that its name identifies it.
            archived.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)


@cache
def engine_digest() -> str:
    """Return a digest of the sources that determine a lab's world: runs of two engines are not runs of one
    experiment.
    """
    digest = hashlib.sha256()
    for path, text in _sources():
        if path.endswith((".py", ".lark")) and not path.startswith(f"{_PACKAGE}/pipeline/"):
            path = path.removeprefix(f"{_PACKAGE}/")
            digest.update(f"{path}\0{len(text)}\0".encode())
            digest.update(text)
    return digest.hexdigest()[:16]


def _sources() -> list[tuple[str, bytes]]:
    """Return path and content of every file of the package ``engine``, sorted, wherever it was imported from: a folder,
    a wheel or a zip.
    """
    return sorted(_files(files(_PACKAGE), f"{_PACKAGE}/"))


def _sources_of_data_source() -> list[tuple[str, bytes]]:
    """Return what a program with the data source imports of ``engine``, and the data files next to it."""
    sources = dict(_sources())
    found = reached_modules(_OF_THE_SOURCE, sources, for_types=True)
    folders = {path.rpartition("/")[0] for path in found}
    return [
        (path, data)
        for path, data in sources.items()
        if path in found or (not path.endswith((".py", ".lark")) and path.rpartition("/")[0] in folders)
    ]


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
    _write_archive(Path(sys.argv[1]), _sources_of_data_source())


if __name__ == "__main__":
    main()
