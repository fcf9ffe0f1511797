"""The port: everything the engine needs from outside asyncio, and nothing else.

The engine is ordinary ``asyncio`` code. What asyncio does not cover (wall clock, frames over a network,
files, random numbers, the call into a user's listener) it takes from one :class:`Runtime` object per node.
Two implementations stand behind it: ``engine.runtime.live`` (sockets, mapped files, the real clock) and
``engine.runtime.lab`` (virtual time, simulated links and disks). Engine code cannot tell which one it runs
on; that is what makes the lab's findings true of the live broker.

RocketMQ has no such class: there the same role is spread over ``System.currentTimeMillis``, Netty,
``MappedByteBuffer``, ``ThreadLocalRandom`` and thread pools.
"""

from __future__ import annotations

import random
from collections.abc import Callable, MutableMapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from engine.runtime.connection_limits import UNSENT_ALL_LIMIT_BYTES

_T = TypeVar("_T")

#: The longest frame that either side accepts, in bytes, without its 4-byte length prefix
#: (RocketMQ: ``com.rocketmq.remoting.frameMaxLength``).
FRAME_MAX_LENGTH_BYTES = 16_777_216


class RuntimeFault(Exception):
    """Base of what the world outside the engine can do to it."""


class ConnectFailed(RuntimeFault):
    """Nobody answered at the address, or not in time."""


class AddressInUse(RuntimeFault):
    """Another process listens on the wanted address already."""


class DiskFault(RuntimeFault):
    """A file operation failed; the message names the path and the reason."""


class DiskFull(DiskFault):
    """There is no room left for a write or for a new file."""


class FolderLocked(DiskFault):
    """Another process holds the data folder's lock."""


class Clock(Protocol):
    """Tells the time of one node. Waiting is asyncio's business (``asyncio.sleep``)."""

    def now_ms(self) -> int:
        """Wall-clock time in milliseconds since 1970, as this node believes it (it may be skewed)."""
        ...

    def monotonic_us(self) -> int:
        """Microseconds since an arbitrary start; never jumps. For durations only."""
        ...


class Connection(Protocol):
    """One end of an open connection that carries whole frames, in order."""

    @property
    def remote_address(self) -> str:
        """``"ip:port"`` of the other end."""
        ...

    @property
    def local_address(self) -> str:
        """``"ip:port"`` of this end."""
        ...

    @property
    def is_closing(self) -> bool:
        """True once ``close`` was called or the connection was lost: frames sent now go nowhere."""
        ...

    @property
    def unsent_bytes(self) -> int:
        """Bytes accepted by ``send_frame`` that have not left this node yet."""
        ...

    @property
    def has_room(self) -> bool:
        """False while the other end has not read its share of what was sent: what can wait should.

        Of an accepted connection no frames are handed to the handler meanwhile.
        """
        ...

    def send_frame(self, frame: bytes) -> None:
        """Queue one complete frame, its 4-byte length prefix included. Never blocks, never raises.

        The queue is bounded: an end that does not read until the bound is reached is disconnected.
        """
        ...

    def close(self) -> None:
        """Send what is queued, then close. The handler's ``connection_lost`` follows."""
        ...


class FrameHandler(Protocol):
    """What a node does with one connection. All methods are synchronous and must not block."""

    def connection_made(self, connection: Connection) -> None:
        """The connection is open. Called exactly once, first."""
        ...

    def frame_received(self, frame: bytes) -> None:
        """One whole frame arrived, WITHOUT its 4-byte length prefix (it starts with the header-length word)."""
        ...

    def connection_lost(self, reason: str) -> None:
        """The connection is gone. Called exactly once, last. ``reason`` is for people."""
        ...


class Listener(Protocol):
    """A listening address."""

    @property
    def address(self) -> str:
        """``"ip:port"`` really bound (port 0 is resolved)."""
        ...

    @property
    def unsent_bytes(self) -> int:
        """What all connections accepted here have not sent yet, together; at most a little more than it is now."""
        ...

    @property
    def cut_connections(self) -> int:
        """How many connections accepted here were ended because all together had too much unsent."""
        ...

    async def listen_also(self, port: int) -> str:
        """Accept connections at a further ``port`` of the same host (0 = any free one); return ``"ip:port"``.

        They count with those of the first port against the same limits. Raises :class:`AddressInUse`.
        """
        ...

    async def close(self) -> None:
        """Stop listening and close every accepted connection."""
        ...


class Network(Protocol):
    """Frames in, frames out."""

    async def listen(
        self,
        host: str,
        port: int,
        handler_factory: Callable[[], FrameHandler],
        unsent_limit_bytes: int = UNSENT_ALL_LIMIT_BYTES,
    ) -> Listener:
        """Accept connections at ``host:port`` (0 = any free port). Raises :class:`AddressInUse`.

        When all of them together have more than ``unsent_limit_bytes`` unsent, those that do not read are ended.
        """
        ...

    async def connect(self, address: str, handler: FrameHandler, timeout_ms: int) -> Connection:
        """Connect to ``"host:port"``. Raises :class:`ConnectFailed`."""
        ...


class DiskFile(Protocol):
    """A file of fixed size, mapped into memory: writes are visible to reads at once, durable after ``flush``."""

    @property
    def path(self) -> str: ...

    @property
    def size_bytes(self) -> int: ...

    def write_at(self, position: int, data: bytes | bytearray | memoryview) -> None:
        """Copy ``data`` to ``position``. Raises :class:`DiskFull` where the disk cannot take it."""
        ...

    def read_at(self, position: int, length: int) -> bytes:
        """A copy of ``length`` bytes from ``position``."""
        ...

    def view_at(self, position: int, length: int) -> memoryview:
        """The same bytes, not copied where that can be avoided. It may change with the next write, and keeps the file
        from being closed: use it up before anything else runs."""
        ...

    def written_end(self) -> int:
        """Behind it the file is a hole: all zeros. It may be too large, up to the file's size, but never too small."""
        ...

    async def flush(self, start: int, end: int) -> None:
        """Make bytes ``start..end`` durable. They survive a crash once this returned. Raises
        :class:`DiskFault`.
        """
        ...

    def flush_now(self) -> None:
        """As ``flush`` of the whole file, but blocks. For start-up and shutdown only."""
        ...

    def close(self) -> None:
        """Unmap. The content stays on disk."""
        ...


class AppendFile(Protocol):
    """A file that grows at its end and is read by position (Kafka: ``FileRecords`` over a ``FileChannel``).

    As with :class:`DiskFile`, what was appended can be read at once and is durable after ``flush``.
    """

    @property
    def path(self) -> str: ...

    @property
    def size_bytes(self) -> int:
        """How long it is now."""
        ...

    def append(self, data: bytes | bytearray | memoryview) -> int:
        """Write ``data`` behind what is there; the position that its first byte got.

        Raises :class:`DiskFull`, :class:`DiskFault`; the file is then as long as before.
        """
        ...

    def read_at(self, position: int, length: int) -> bytes:
        """A copy of ``length`` bytes from ``position``, or of what there is up to the file's end."""
        ...

    def truncate(self, size_bytes: int) -> None:
        """Cut off what lies behind ``size_bytes``, which is at most the present size. Raises :class:`DiskFault`."""
        ...

    async def flush(self) -> None:
        """Make all that was appended before this call durable. Raises :class:`DiskFault`."""
        ...

    def flush_now(self) -> None:
        """As ``flush``, but blocks. For start-up and shutdown only."""
        ...

    def close(self) -> None:
        """The content stays on disk."""
        ...


class FolderLock(Protocol):
    """Held while one broker owns a data folder."""

    def release(self) -> None: ...


class Disk(Protocol):
    """One node's files. Paths are ``/``-separated and relative to the node's data folder."""

    @property
    def boot_id(self) -> str:
        """Which run of the machine this is: as long as it is the same, the operating system keeps what a process has
        written, also after that process was killed. Empty where the machine does not tell.
        """
        ...

    def open_file(self, path: str, size_bytes: int) -> DiskFile:
        """Open (or create, zero-filled and sparse) a mapped file; an existing shorter file is extended.

        Missing parent folders are made. Raises :class:`DiskFull`, :class:`DiskFault`.
        """
        ...

    def open_append(self, path: str) -> AppendFile:
        """Open (or create, empty) a file that grows. Missing parent folders are made.

        Raises :class:`DiskFull`, :class:`DiskFault`.
        """
        ...

    def exists(self, path: str) -> bool: ...

    def file_size_bytes(self, path: str) -> int:
        """Raises :class:`DiskFault` when there is no such file."""
        ...

    def list_folder(self, path: str) -> list[str]:
        """Names (not paths) of files and folders in it, sorted; empty when there is no such folder."""
        ...

    def remove(self, path: str) -> None:
        """Remove a file, or a folder with all that is in it. Nothing happens when it is not there."""
        ...

    def rename(self, old_path: str, new_path: str) -> None:
        """Rename durably, replacing the target."""
        ...

    def read_whole(self, path: str) -> bytes:
        """The content of a small file. Raises :class:`DiskFault` when there is none."""
        ...

    def write_whole(self, path: str, data: bytes) -> None:
        """Replace a small file atomically and durably: write ``path + ".tmp"``, sync, rename."""
        ...

    async def off_loop(self, work: Callable[[], _T]) -> _T:
        """What ``work`` returns or raises; it may take long over whole files, and others are served meanwhile.

        It runs beside the node's code (live: in a thread), so it must touch nothing but files and what it was given.
        A caller that is cancelled still waits for its end: what went on alone could overwrite what comes next.
        """
        ...

    def modified_ms(self, path: str) -> int:
        """When the file was last written, in milliseconds since 1970."""
        ...

    def used_ratio(self) -> float:
        """Used share of the disk that holds the folder, 0.0 to 1.0."""
        ...

    def room_bytes(self) -> tuple[int, int]:
        """The size of the disk that holds the folder, and how much of it this process may still use."""
        ...

    def lock_folder(self) -> FolderLock:
        """Take the folder's exclusive lock (file ``lock``). Raises :class:`FolderLocked`."""
        ...


def checked_path(path: str) -> str:
    """``path`` itself when it is relative, ``/``-separated and stays inside the folder.

    Raises :class:`DiskFault` otherwise: names of topics and groups become names of folders, and those come
    from clients.
    """
    parts = path.split("/")
    if "\0" in path or any(part in ("", ".", "..") for part in parts):
        raise DiskFault(
            f"path {path!r} is not allowed: it must be relative, without empty parts, '.', '..' or a NUL byte"
        )
    return path


@dataclass(frozen=True, slots=True)
class NodeIdentity:
    """What makes the ids that a node hands out unique (RocketMQ: ``MessageClientIDSetter``, ``UtilAll.getPid``)."""

    host_ip: str
    process_id: int
    instance_hash: int


class Runtime(Protocol):
    """All that one node may use of the world outside. One object per node incarnation."""

    @property
    def node_name(self) -> str: ...

    @property
    def identity(self) -> NodeIdentity: ...

    @property
    def clock(self) -> Clock: ...

    @property
    def network(self) -> Network: ...

    @property
    def disk(self) -> Disk: ...

    @property
    def process_names(self) -> MutableMapping[str, object]:
        """Names that one object at a time may have in the node's process; an object that is gone has none."""
        ...

    def random_for(self, purpose: str) -> random.Random:
        """A generator of its own per purpose: adding a draw in one place shifts no other."""
        ...

    async def call_listener(self, listener: Callable[..., Any], *arguments: Any) -> Any:
        """Call user code. A coroutine function is awaited; a plain one runs where it may block (live: a thread).

        Exceptions of the listener pass through unchanged.
        """
        ...
