"""The port: everything the engine needs from outside asyncio, and nothing else.

The engine is ordinary ``asyncio`` code. What asyncio does not cover (wall clock, frames over a network, files, random
numbers, the call into a user's listener) it takes from one :class:`Runtime` object per node. It has two
implementations: ``engine.runtime.live`` (sockets, mapped files, the real clock) and ``engine.runtime.lab`` (virtual
time, simulated links and disks). Engine code cannot distinguish them; therefore the lab's findings are also true of the
live broker.

RocketMQ has no such class: there the same role is distributed over ``System.currentTimeMillis``, Netty,
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
    """The base of faults that the world outside can cause in the engine."""


class ConnectFailed(RuntimeFault):
    """No node answered at the address, or not in time."""


class AddressInUse(RuntimeFault):
    """Another process listens on the wanted address already."""


class DiskFault(RuntimeFault):
    """A file operation failed; the message names the path and the reason."""


class DiskFull(DiskFault):
    """There is no space left for a write or for a new file."""


class FolderLocked(DiskFault):
    """Another process has the data folder's lock."""


class Clock(Protocol):
    """The clock of one node. Waiting is done by asyncio (``asyncio.sleep``)."""

    def now_ms(self) -> int:
        """Return the wall-clock time in milliseconds since 1970, as seen by this node (it may be skewed)."""
        ...

    def monotonic_us(self) -> int:
        """Return the microseconds since an arbitrary start; it never jumps. For durations only."""
        ...


class Connection(Protocol):
    """One end of an open connection that carries whole frames, in order."""

    @property
    def remote_address(self) -> str:
        """Return the ``"ip:port"`` of the other end."""
        ...

    @property
    def local_address(self) -> str:
        """Return the ``"ip:port"`` of this end."""
        ...

    @property
    def is_closing(self) -> bool:
        """Return True once ``close`` was called or the connection was lost: frames sent now are discarded."""
        ...

    @property
    def unsent_bytes(self) -> int:
        """Return the number of bytes accepted by ``send_frame`` that have not left this node yet."""
        ...

    @property
    def has_room(self) -> bool:
        """Return False while the other end has not read its share of the data: then deferrable frames should wait.

        Meanwhile no frames of an accepted connection are passed to the handler.
        """
        ...

    def send_frame(self, frame: bytes) -> None:
        """Queue one complete frame, its 4-byte length prefix included. Never blocks, never raises.

        The queue is bounded: a peer that does not read until the bound is reached is disconnected.
        """
        ...

    def close(self) -> None:
        """Send queued frames, then close. The handler's ``connection_lost`` follows."""
        ...


class FrameHandler(Protocol):
    """The handler of one connection. All methods are synchronous and must not block."""

    def connection_made(self, connection: Connection) -> None:
        """Handle the opening of the connection. Called exactly once, first."""
        ...

    def frame_received(self, frame: bytes) -> None:
        """Handle one whole frame, WITHOUT its 4-byte length prefix (it starts with the header-length word)."""
        ...

    def connection_lost(self, reason: str) -> None:
        """Handle the end of the connection. Called exactly once, last. ``reason`` is for people."""
        ...


class Listener(Protocol):
    """A listening address."""

    @property
    def address(self) -> str:
        """Return the ``"ip:port"`` that is really bound (port 0 is resolved)."""
        ...

    @property
    def unsent_bytes(self) -> int:
        """Return the unsent bytes of all connections accepted here; it may be slightly more than the current value."""
        ...

    @property
    def cut_connections(self) -> int:
        """Return how many connections accepted here were closed because all together had too much unsent."""
        ...

    async def listen_also(self, port: int) -> str:
        """Accept connections at another ``port`` of the same host (0 = any free one); return ``"ip:port"``.

        They count with those of the first port against the same limits. Raises :class:`AddressInUse`.
        """
        ...

    async def close(self) -> None:
        """Stop listening and close every accepted connection."""
        ...


class Network(Protocol):
    """A network that carries frames."""

    async def listen(
        self,
        host: str,
        port: int,
        handler_factory: Callable[[], FrameHandler],
        unsent_limit_bytes: int = UNSENT_ALL_LIMIT_BYTES,
    ) -> Listener:
        """Accept connections at ``host:port`` (0 = any free port). Raises :class:`AddressInUse`.

        If all of them together have more than ``unsent_limit_bytes`` unsent, those that do not read are closed.
        """
        ...

    async def connect(self, address: str, handler: FrameHandler, timeout_ms: int) -> Connection:
        """Connect to ``"host:port"``. Raises :class:`ConnectFailed`."""
        ...


class DiskFile(Protocol):
    """A file of fixed size, mapped into memory: writes are visible to reads immediately, and durable after
    ``flush``.
    """

    @property
    def path(self) -> str: ...

    @property
    def size_bytes(self) -> int: ...

    def write_at(self, position: int, data: bytes | bytearray | memoryview) -> None:
        """Copy ``data`` to ``position``. Raises :class:`DiskFull` if the disk cannot take it."""
        ...

    def read_at(self, position: int, length: int) -> bytes:
        """Return a copy of ``length`` bytes from ``position``."""
        ...

    def view_at(self, position: int, length: int) -> memoryview:
        """Return a view of the same bytes, not copied if possible.

        It may change with the next write, and prevents the file from being closed: release it before anything else
        runs.
        """
        ...

    def written_end(self) -> int:
        """Return the position after which the file is a hole, all zeros. It may be too large, up to the file's size,
        but never too small.
        """
        ...

    async def flush(self, start: int, end: int) -> None:
        """Make bytes ``start..end`` durable. They survive a crash once this returned. Raises
        :class:`DiskFault`.
        """
        ...

    def flush_now(self) -> None:
        """Flush the whole file, blocking. For start-up and shutdown only."""
        ...

    def close(self) -> None:
        """Unmap. The content stays on disk."""
        ...


class AppendFile(Protocol):
    """A file that grows at its end and is read by position (Kafka: ``FileRecords`` over a ``FileChannel``).

    As with :class:`DiskFile`, appended data can be read immediately and is durable after ``flush``.
    """

    @property
    def path(self) -> str: ...

    @property
    def size_bytes(self) -> int:
        """Return the current size."""
        ...

    def append(self, data: bytes | bytearray | memoryview) -> int:
        """Append ``data`` and return the position of its first byte.

        Raises :class:`DiskFull`, :class:`DiskFault`; the file is then as long as before.
        """
        ...

    def read_at(self, position: int, length: int) -> bytes:
        """Return a copy of ``length`` bytes from ``position``, or fewer if the file ends before."""
        ...

    def truncate(self, size_bytes: int) -> None:
        """Cut the file to ``size_bytes``, which is at most the present size. Raises :class:`DiskFault`."""
        ...

    async def flush(self) -> None:
        """Make all that was appended before this call durable. Raises :class:`DiskFault`."""
        ...

    def flush_now(self) -> None:
        """Flush as ``flush`` does, but block. For start-up and shutdown only."""
        ...

    def close(self) -> None:
        """Close the file. The content stays on disk."""
        ...


class FolderLock(Protocol):
    """The lock of a data folder, held while one broker owns it."""

    def release(self) -> None: ...


class Disk(Protocol):
    """One node's files. Paths are ``/``-separated and relative to the node's data folder."""

    @property
    def boot_id(self) -> str:
        """Return the id of the machine's current boot.

        While it stays the same, the operating system keeps what a process has written, even after that process was
        killed. Empty if the machine does not provide it.
        """
        ...

    def open_file(self, path: str, size_bytes: int) -> DiskFile:
        """Open (or create, zero-filled and sparse) a mapped file; an existing shorter file is extended.

        Missing parent folders are created. Raises :class:`DiskFull`, :class:`DiskFault`.
        """
        ...

    def open_append(self, path: str) -> AppendFile:
        """Open (or create, empty) a file that grows. Missing parent folders are created.

        Raises :class:`DiskFull`, :class:`DiskFault`.
        """
        ...

    def exists(self, path: str) -> bool: ...

    def file_size_bytes(self, path: str) -> int:
        """Return the size of a file. Raises :class:`DiskFault` if it does not exist."""
        ...

    def list_folder(self, path: str) -> list[str]:
        """Return the names (not paths) of files and folders in it, sorted; empty if the folder does not exist."""
        ...

    def remove(self, path: str) -> None:
        """Remove a file, or a folder with all its content. Nothing happens if it does not exist."""
        ...

    def rename(self, old_path: str, new_path: str) -> None:
        """Rename durably, replacing the target."""
        ...

    def read_whole(self, path: str) -> bytes:
        """Return the content of a small file. Raises :class:`DiskFault` if it does not exist."""
        ...

    def write_whole(self, path: str, data: bytes) -> None:
        """Replace a small file atomically and durably: write ``path + ".tmp"``, sync, rename."""
        ...

    async def off_loop(self, work: Callable[[], _T]) -> _T:
        """Run ``work`` without blocking the node; return its result or raise its exception.

        Meant for long work on whole files. It runs concurrently with the node's code (live: in a thread), so it must
        touch nothing but files and its arguments. A cancelled caller still waits for its end: work that continued alone
        could overwrite later work.
        """
        ...

    def modified_ms(self, path: str) -> int:
        """Return when the file was last written, in milliseconds since 1970."""
        ...

    def used_ratio(self) -> float:
        """Return the used share of the disk that contains the folder, 0.0 to 1.0."""
        ...

    def room_bytes(self) -> tuple[int, int]:
        """Return the size of the disk that contains the folder, and how much of it this process may still use."""
        ...

    def lock_folder(self) -> FolderLock:
        """Take the folder's exclusive lock (file ``lock``). Raises :class:`FolderLocked`."""
        ...


def checked_path(path: str) -> str:
    """Return ``path`` if it is relative, ``/``-separated and stays inside the folder.

    Raises :class:`DiskFault` otherwise: names of topics and groups, which come from clients, become names of folders.
    """
    parts = path.split("/")
    if "\0" in path or any(part in ("", ".", "..") for part in parts):
        raise DiskFault(
            f"path {path!r} is not allowed: it must be relative, without empty parts, '.', '..' or a NUL byte"
        )
    return path


@dataclass(frozen=True, slots=True)
class NodeIdentity:
    """The values that make the ids of a node unique (RocketMQ: ``MessageClientIDSetter``, ``UtilAll.getPid``)."""

    host_ip: str
    process_id: int
    instance_hash: int


class Runtime(Protocol):
    """The access of one node to the outside world. One object per node incarnation."""

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
        """Names in the node's process, each taken by one object at a time; an object that is gone frees its name."""
        ...

    def random_for(self, purpose: str) -> random.Random:
        """Return a separate generator per purpose, so that an additional draw in one place does not change any
        other.
        """
        ...

    async def call_listener(self, listener: Callable[..., Any], *arguments: Any) -> Any:
        """Call user code. A coroutine function is awaited; a plain one runs where it may block (live: a thread).

        Exceptions of the listener are passed on unchanged.
        """
        ...
