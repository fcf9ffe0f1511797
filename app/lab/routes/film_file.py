"""The start page's film as a file that a server finds, so that no visitor waits for it.

``make install`` makes it, and a wheel has it. Its name has a digest of all that the film is made of: a file of other
sources is not found, and the film is made on request.
"""

from __future__ import annotations

import gzip
import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from app.foundation.json_text import dump_json
from app.foundation.whole_file import write_whole
from engine.lab.scenario.scenario_files import scenario_text

if TYPE_CHECKING:
    from app.picture.session.film import Demonstration

SCENARIO = "start-page"
#: The folder of the file.
BUILT = Path(__file__).resolve().parents[2] / "built"
_PACKAGES = (BUILT.parent, BUILT.parent.parent / "engine")
_SUFFIXES = (".py", ".lark", ".json")
#: Folders of what is made from sources.
_MADE = {"built", "bundled"}


@dataclass(frozen=True, slots=True)
class FilmFile:
    """The film as it is sent: compressed JSON, and its ETag for caches."""

    packed: bytes

    @property
    def etag(self) -> str:
        """The same for the same film."""
        return hashlib.sha256(self.packed).hexdigest()[:20]

    def unpacked(self) -> bytes:
        """Return the film uncompressed, for clients that cannot decompress it."""
        return gzip.decompress(self.packed)


def pack_film(film: Demonstration) -> FilmFile:
    """Return ``film`` ready to be sent. There is no time in the gzip header, so that the same film gives the same
    bytes.
    """
    return FilmFile(gzip.compress(dump_json(film), 6, mtime=0))


def built_film() -> FilmFile | None:
    """Return the film that was made of these sources at build time, if there is one."""
    try:
        return FilmFile(_path().read_bytes())
    except FileNotFoundError:
        return None


def write_built_film(film: Demonstration) -> None:
    """Write the file, and remove those of other sources."""
    BUILT.mkdir(exist_ok=True)
    write_whole(_path(), pack_film(film).packed)
    for path in set(BUILT.glob("start-page-*")) - {_path()}:
        path.unlink()


def _path() -> Path:
    return BUILT / f"start-page-{sources_digest()}.json.gz"


@cache
def sources_digest() -> str:
    """Return a digest of the scenario, the engine and this application, which takes pictures of its worlds."""
    digest = hashlib.sha256(scenario_text(SCENARIO).encode())
    for package in _PACKAGES:
        for path in sorted(package.rglob("*.*")):
            name = path.relative_to(package)
            if path.suffix in _SUFFIXES and not _MADE.intersection(name.parts):
                content = path.read_bytes()
                digest.update(f"{package.name}/{name.as_posix()}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()[:16]
