"""The files of a store as a tree, and the units of one file."""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property
from operator import attrgetter

from app.picture.pages.storage import FileOfStore, PageOfFile, UnitOfFile, WholeUnit
from app.storage.laboratory import kafka_files, rocketmq_files
from app.storage.laboratory.file_units import FileFormat, FileUnit
from app.storage.laboratory.store_side import StoreSide
from engine.runtime.live.live_platform import BLOCK_BYTES

#: Units that one page of a file shows.
UNITS_MAX = 40
#: Bytes of one unit that are shown; of holes and large batches the rest is only counted.
HEX_MAX_BYTES = 8_192

_FORMATS = {"rocketmq": rocketmq_files.format_of, "kafka": kafka_files.format_of}


class UnknownFile(Exception):
    """The store has no file of that name."""


def files_of(side: StoreSide) -> list[FileOfStore]:
    """Return every file with its size, how far it is written, and what it takes of the disk: a hole takes nothing."""
    files: list[FileOfStore] = []
    for path in sorted(path for path in side.runtime.folder.rglob("*") if path.is_file()):
        name = path.relative_to(side.runtime.folder).as_posix()
        status = path.stat()
        files.append(
            {
                "path": name,
                "format": _format_of(side, name).name,
                "size_bytes": status.st_size,
                "used_bytes": len(path.read_bytes().rstrip(b"\0")),
                "disk_bytes": status.st_blocks * BLOCK_BYTES,
            }
        )
    return files


def _format_of(side: StoreSide, path: str) -> FileFormat:
    return _FORMATS[side.runtime.node_name](path)


class StoreFile:
    """One file of a store, split into units.

    Raises :class:`UnknownFile`: only files that :func:`files_of` names are opened, whatever a page requests.
    """

    def __init__(self, side: StoreSide, path: str) -> None:
        known = {found.relative_to(side.runtime.folder).as_posix(): found for found in side.runtime.folder.rglob("*")}
        if path not in known or not known[path].is_file():
            raise UnknownFile(path)
        self.path = path
        self._data = known[path].read_bytes()
        self._format = _format_of(side, path)

    @cached_property
    def units(self) -> list[FileUnit]:
        """Return all units of the file; an empty file has one unit."""
        return self._format.units(self.path, self._data) or [FileUnit("empty", 0, 0, {})]

    def page(self, position: int) -> PageOfFile:
        """Return a page of units, from the unit that contains byte ``position`` on (else the last unit)."""
        first = self._index(position)
        return {
            "path": self.path,
            "format": self._format.name,
            "size_bytes": len(self._data),
            "first": first,
            "unit_count": len(self.units),
            "units": [_unit_json(unit) for unit in self.units[first : first + UNITS_MAX]],
            "previous_at": self.units[max(0, first - UNITS_MAX)].start if first else None,
            "next_at": self.units[first + UNITS_MAX].start if first + UNITS_MAX < len(self.units) else None,
            "last_at": self.units[max(0, len(self.units) - UNITS_MAX)].start,
        }

    def unit(self, position: int) -> WholeUnit:
        """Return the unit with byte ``position``: its fields and its bytes."""
        unit = self.units[self._index(position)]
        shown = self._data[unit.start : unit.start + min(unit.length, HEX_MAX_BYTES)]
        return {
            **_unit_json(unit),
            "fields": self._format.fields(self._data, unit),
            "hex": shown.hex(),
            "hex_omitted_bytes": unit.length - len(shown),
            "contents": kafka_files.contents(self._data, unit),
        }

    def _index(self, position: int) -> int:
        return max(0, bisect_right(self.units, position, key=attrgetter("start")) - 1)


def _unit_json(unit: FileUnit) -> UnitOfFile:
    return {"kind": unit.kind, "start": unit.start, "length": unit.length, "values": unit.values}
