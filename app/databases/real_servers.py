"""Redis, PostgreSQL and MariaDB as processes of this machine, on free ports, with throw-away data.

They are for experiments and tests: any user of this machine may connect while they run. What they acknowledge survives
their own end, but not the end of the machine. Under root they run as ``nobody``: PostgreSQL refuses root.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

#: How long a start may take.
START_S = 60
#: How long an orderly end may take.
END_S = 10
#: Where Debian installs programs that are not on PATH.
_FOLDERS = ("/usr/sbin", "/usr/local/sbin", *sorted(map(str, Path("/usr/lib/postgresql").glob("*/bin")), reverse=True))
_USER = "nobody"


class ServerMissing(Exception):
    """The server cannot be started here; the text names what is missing, or quotes the server."""


class RealServer(ABC):
    """``with RealRedisServer() as server:``; raises :class:`ServerMissing`.

    :ivar url: for :func:`engine.idempotence.stores.store_address.open_store`.
    """

    name: ClassVar[str]
    #: The Debian package.
    package: ClassVar[str]
    programs: ClassVar[tuple[str, ...]]
    #: The signal that ends it cleanly and soon.
    end_signal: ClassVar[int] = signal.SIGTERM
    url: str

    def __init__(self) -> None:
        if missing := self.missing():
            raise ServerMissing(missing)
        self.port = _free_port()
        self.folder = Path(tempfile.mkdtemp(prefix=f"glassmq-{self.package}-"))
        self._process: subprocess.Popen[bytes] | None = None
        self._give_away(self.folder)
        try:
            self.create()
            self.start()
        except BaseException:
            self.close()
            raise

    @classmethod
    def missing(cls) -> str | None:
        """Return one line about what is missing; None when it can be started."""
        if missing := [program for program in cls.programs if find_program(program) is None]:
            return f"{cls.name} is not installed: there is no {' and no '.join(missing)} (Debian: {cls.package})"
        return None

    @abstractmethod
    def create(self) -> None:
        """Create the data folder of the server."""

    @abstractmethod
    def command(self) -> Sequence[str | Path]:
        """Return the command line that starts the server."""

    @abstractmethod
    def is_ready(self) -> bool:
        """Return whether the server answers."""

    def start(self) -> None:
        """Start the server with its existing data, and wait until it answers."""
        self._process = self._popen(self.command())
        deadline_s = time.monotonic() + START_S
        while not self.is_ready():
            if self._process.poll() is not None or time.monotonic() > deadline_s:
                raise ServerMissing(f"{self.name} does not start: {self._last_words()}")
            time.sleep(0.05)

    def kill(self) -> None:
        """Kill the server as ``kill -9`` or a power cut would."""
        self.signal(signal.SIGKILL)
        assert self._process is not None, "it was started"
        self._process.wait()

    def process_ids(self) -> tuple[int, ...]:
        """Return the ids of the server's process and of its children."""
        assert self._process is not None, "it was started"
        pid = self._process.pid
        return (pid, *map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()))

    def signal(self, number: int) -> None:
        """Send a signal to it and its children."""
        for each in self.process_ids():
            os.kill(each, number)

    def close(self) -> None:
        """End the server, and remove its data."""
        self._end()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def run(self, *command: str | Path) -> None:
        """Run a program to its end, in the folder. Raises :class:`ServerMissing` with its output."""
        code = self._popen(command).wait(START_S)
        if code != 0:
            raise ServerMissing(f"{self.name}: {Path(command[0]).name} ended with {code}: {self._last_words()}")

    def _popen(self, command: Sequence[str | Path]) -> subprocess.Popen[bytes]:
        as_user: dict[str, Any] = {}
        if os.geteuid() == 0:
            user = pwd.getpwnam(_USER)
            as_user = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
        # A session of its own: Ctrl-C at the terminal is for this process, which then ends the server. If this process
        # is killed, the server ends too.
        if (setpriv := find_program("setpriv")) is not None:
            command = (setpriv, "--pdeathsig", "KILL", *command)
        with open(self.folder / "output", "ab") as output:
            return subprocess.Popen(
                command,
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                env={"PATH": os.environ.get("PATH", os.defpath), "HOME": str(self.folder), "LC_ALL": "C"},
                **as_user,
            )

    def _give_away(self, folder: Path) -> None:
        if os.geteuid() == 0:
            shutil.chown(folder, _USER, pwd.getpwnam(_USER).pw_gid)

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.send_signal(self.end_signal)
        process.send_signal(signal.SIGCONT)
        try:
            process.wait(END_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _last_words(self) -> str:
        lines = (self.folder / "output").read_text("utf-8", "replace").strip().splitlines()
        return " / ".join(lines[-3:]) or "it printed nothing"


class RealRedisServer(RealServer):
    """A Redis that stores nothing on disk: a restart loses everything."""

    name, package, programs = "Redis", "redis-server", ("redis-server",)

    def create(self) -> None:
        self.url = f"redis://127.0.0.1:{self.port}/0"

    def command(self) -> Sequence[str | Path]:
        options = f"--port {self.port} --bind 127.0.0.1 --dir {self.folder} --appendonly no"
        return (_program("redis-server"), *options.split(), "--save", "")

    def is_ready(self) -> bool:
        return _answer(self.port, b"PING\r\n").startswith(b"+PONG")


class PostgreSqlServer(RealServer):
    """A PostgreSQL with a database ``shop``."""

    name, package, programs = "PostgreSQL", "postgresql", ("initdb", "postgres")
    end_signal = signal.SIGINT  # SIGTERM waits for all sessions

    def create(self) -> None:
        options = "--auth=trust --username=glassmq --encoding=UTF8 --locale=C --no-sync"
        self.run(_program("initdb"), "-D", self.folder / "data", *options.split())
        command = f"{_program('postgres')} --single -D {self.folder / 'data'} postgres"
        self.run("/bin/sh", "-c", f"echo 'CREATE DATABASE shop' | {command}")
        self.url = f"postgresql+psycopg://glassmq@127.0.0.1:{self.port}/shop"

    def command(self) -> Sequence[str | Path]:
        # -F: no fsync.
        options = f"-F -p {self.port} -c listen_addresses=127.0.0.1 -k {self.folder}"
        return (_program("postgres"), "-D", self.folder / "data", *options.split())

    def is_ready(self) -> bool:
        """Return whether it accepts connections: before that it answers the start of a session with an error."""
        start = b"\0\3\0\0user\0glassmq\0database\0shop\0\0"
        return _answer(self.port, (len(start) + 4).to_bytes(4) + start).startswith(b"R")


class MariaDbServer(RealServer):
    """A MariaDB with a database ``shop``."""

    name, package, programs = "MariaDB", "mariadb-server", ("mariadb-install-db", "mariadbd")

    def create(self) -> None:
        options = "--no-defaults --auth-root-authentication-method=normal --skip-test-db"
        self.run(_program("mariadb-install-db"), *options.split(), f"--datadir={self.folder / 'data'}")
        (self.folder / "data" / "shop").mkdir()
        self._give_away(self.folder / "data" / "shop")
        self.url = f"mariadb+pymysql://root@127.0.0.1:{self.port}/shop?charset=utf8mb4"

    def command(self) -> Sequence[str | Path]:
        options = (
            f"--no-defaults --datadir={self.folder / 'data'} --port={self.port} --bind-address=127.0.0.1 "
            f"--socket={self.folder / 'socket'} --pid-file={self.folder / 'pid'} --innodb-flush-log-at-trx-commit=2 "
            "--innodb-buffer-pool-size=64M --skip-name-resolve --character-set-server=utf8mb4"
        )
        return (_program("mariadbd"), *options.split())

    def is_ready(self) -> bool:
        """Return whether it answers: it greets every connection with 4 bytes of length and number, then the version
        10.
        """
        return _answer(self.port, b"")[4:5] == b"\x0a"


#: All servers.
REAL_SERVERS: tuple[type[RealServer], ...] = (RealRedisServer, PostgreSqlServer, MariaDbServer)


def find_program(name: str) -> str | None:
    """Return the path of a program; None when it is not installed."""
    return shutil.which(name, path=os.pathsep.join((os.environ.get("PATH", os.defpath), *_FOLDERS)))


def _program(name: str) -> str:
    found = find_program(name)
    assert found is not None, "missing() was asked before"
    return found


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def _answer(port: int, question: bytes) -> bytes:
    """Return the beginning of the answer at the port; empty when nothing answers."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=2) as connection:
            connection.sendall(question)
            return connection.recv(64)
    except OSError:
        return b""
