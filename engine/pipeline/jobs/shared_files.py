"""Files shared by driver and executors, through the Hadoop client that Spark itself uses: local folders, NFS, HDFS.

A job that commits requires two guarantees of the file system: a rename is atomic, and it fails if its target exists.
HDFS gives both. For a local folder the second is implemented by a hard link. Object stores (S3) give neither.
"""

from __future__ import annotations

import os
import uuid
from pathlib import Path
from typing import Any

from py4j.java_gateway import JavaObject, JVMView
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession


class SharedFiles:
    """The files below one folder. Names are relative to it, with ``/``.

    :ivar root: the folder's full URI, for Spark.
    """

    def __init__(self, spark: SparkSession, folder: str) -> None:
        """Open a folder.

        :param folder: a path, or a URI such as ``hdfs://host/archive``; it need not exist.
        """
        jvm = spark._jvm
        assert jvm is not None, "the driver has a JVM"
        self._jvm: JVMView = jvm
        self._conf: JavaObject = spark._jsparkSession.sessionState().newHadoopConf()
        hadoop = jvm.org.apache.hadoop.fs
        path = hadoop.Path(folder)
        self._system: JavaObject = path.getFileSystem(self._conf)
        qualified = self._system.makeQualified(path)
        self.root: str = qualified.toString()
        self._context: JavaObject = hadoop.FileContext.getFileContext(qualified.toUri(), self._conf)
        self._local_root = Path(str(qualified.toUri().getPath())) if self.root.startswith("file:") else None

    def uri(self, name: str) -> str:
        """Return the file's URI for Spark."""
        return f"{self.root}/{name}"

    def names(self, folder: str) -> list[str]:
        """Return the sorted names directly in ``folder``; empty if there is no such folder."""
        if not self.exists(folder):
            return []
        return sorted(status.getPath().getName() for status in self._system.listStatus(self._path(folder)))

    def files_below(self, folder: str, ending: str) -> list[str]:
        """Return all files below ``folder`` with this ending, sorted."""
        found: list[str] = []
        if self.exists(folder):
            prefix = len(self.root) + 1
            listing = self._system.listFiles(self._path(folder), True)
            while listing.hasNext():
                # A Java path prints itself unescaped, as it was created.
                name = listing.next().getPath().toString()
                if name.endswith(ending) and not name.rsplit("/", 1)[1].startswith((".", "_")):
                    found.append(name[prefix:])
        return sorted(found)

    def exists(self, name: str) -> bool:
        """Return whether a file or a folder with this name exists."""
        return bool(self._system.exists(self._path(name)))

    def size(self, name: str) -> int:
        """Return the size of a file in bytes."""
        return int(self._system.getFileStatus(self._path(name)).getLen())

    def parquet_rows(self, name: str) -> int:
        """Return the number of rows of a Parquet file, from its footer."""
        hadoop = self._jvm.org.apache.parquet.hadoop
        reader = hadoop.ParquetFileReader.open(hadoop.util.HadoopInputFile.fromPath(self._path(name), self._conf))
        try:
            return int(reader.getRecordCount())
        finally:
            reader.close()

    def read(self, name: str) -> str:
        """Return the text of a file."""
        stream = self._system.open(self._path(name))
        try:
            return str(self._jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
        finally:
            stream.close()

    def write_new(self, name: str, text: str) -> bool:
        """Create a file with this text, completely or not at all; return False if the name exists."""
        folder, slash, last = name.rpartition("/")
        draft = f"{folder}{slash}.{last}.{uuid.uuid4().hex}"
        self._system.mkdirs(self._path(folder))
        if self._local_root is not None:
            return _link_new(self._local_root / draft, self._local_root / name, text)
        stream = self._system.create(self._path(draft), True)
        stream.write(bytearray(text.encode()))
        stream.close()
        try:
            self._rename(draft, name)
        except Py4JJavaError as error:
            self._system.delete(self._path(draft), False)
            if _is(error, "FileAlreadyExistsException"):
                return False
            raise
        return True

    def move(self, name: str, target: str) -> bool:
        """Rename a file; return False if it does not exist (any more)."""
        self._system.mkdirs(self._path(target.rpartition("/")[0]))
        try:
            self._rename(name, target)
        except Py4JJavaError as error:
            if _is(error, "FileNotFoundException"):
                return False
            raise
        return True

    def flush(self, name: str) -> None:
        """Flush a file or a folder, and the folders above it, to the disk; only a local one, no-op elsewhere."""
        if self._local_root is not None:
            path = self._local_root / name
            for each in (path, *path.parents):
                _flush(each)
                if each == self._local_root:
                    break

    def delete(self, name: str) -> None:
        """Delete a file or a folder with its contents, if it exists."""
        self._system.delete(self._path(name), True)

    def state_before(self, batch_id: int) -> str | None:
        """Return the text of the last micro-batch before this one, as :meth:`keep_state` stored it; None: no text."""
        numbers = [number for number in self._states() if number < batch_id]
        return (self.read(f"{numbers[-1]}.json") or None) if numbers else None

    def keep_state(self, batch_id: int, text: str | None) -> None:
        """Store the text of a micro-batch; None or "": the next one finds no text. A repetition of this one after a
        crash finds the text of the one before it again.
        """
        for number in self._states():
            if number == batch_id or number < batch_id - 1:
                self.delete(f"{number}.json")
        self.write_new(f"{batch_id}.json", text or "")

    def _states(self) -> list[int]:
        names = (name.removesuffix(".json") for name in self.names("") if name.endswith(".json"))
        return sorted(int(name) for name in names if name.isdigit())

    def _rename(self, name: str, target: str) -> None:
        from pyspark import SparkContext

        gateway = SparkContext._gateway
        assert gateway is not None, "the driver has a gateway to its JVM"
        no_options: Any = gateway.new_array(self._jvm.org.apache.hadoop.fs.Options.Rename, 0)
        self._context.rename(self._path(name), self._path(target), no_options)

    def _path(self, name: str) -> JavaObject:
        return self._jvm.org.apache.hadoop.fs.Path(self.uri(name))


def _link_new(draft: Path, target: Path, text: str) -> bool:
    with draft.open("w") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())
    try:
        os.link(draft, target)
        _flush(target.parent)
    except FileExistsError:
        return False
    finally:
        draft.unlink()
    return True


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _is(error: Py4JJavaError, java_class: str) -> bool:
    return str(error.java_exception.getClass().getName()).endswith(java_class)
