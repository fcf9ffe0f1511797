"""Sends this very engine to Spark's executors, which then need only what Spark itself needs (``addPyFile``).

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
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: The same sources always give the same archive, so that it is known by its name.
_NO_DATE = (1980, 1, 1, 0, 0, 0)


def ship(spark: SparkSession) -> None:
    """Let the executors of this session import ``engine``, and the Python processes beside the driver, too.

    Those plan streams. They are started like the executors' (``PYSPARK_PYTHON``), but what was shipped is not given to
    them, so they find it by ``PYTHONPATH``. Call it before a data source is registered.
    """
    context, path = spark.sparkContext, str(archive())
    context.addPyFile(path)
    context.environment["PYTHONPATH"] = os.pathsep.join(filter(None, (path, context.environment.get("PYTHONPATH"))))


def archive(folder: Path | None = None) -> Path:
    """An archive of the package ``engine`` in ``folder``; by default in a temporary one.

    This process removes the temporary folder when it ends; until then Spark's executors may fetch the file.
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
    """Write the archive."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archived:
        for name, data in _sources():
            archived.writestr(zipfile.ZipInfo(name, _NO_DATE), data, zipfile.ZIP_DEFLATED)


def _sources() -> list[tuple[str, bytes]]:
    """Name and content of every file of the package ``engine``, sorted."""
    root = Path(__file__).resolve().parents[1]
    files = sorted(path for path in root.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return [((Path(root.name) / path.relative_to(root)).as_posix(), path.read_bytes()) for path in files]


def main() -> None:
    """Run as a script."""
    if len(sys.argv) != 2:
        sys.exit("usage: python -m engine.pipeline.shipping FILE.zip")
    write_archive(Path(sys.argv[1]))


if __name__ == "__main__":
    main()
