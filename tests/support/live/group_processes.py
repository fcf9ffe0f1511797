"""Three ``glassmq serve --group-peers`` processes on free ports, which a test kills and starts again."""

from __future__ import annotations

from contextlib import ExitStack

from tests.interop.harness.ports import free_broker_port, free_port
from tests.support.live.glass_process import GlassProcess
from tests.support.waiting import wait_until

MEMBERS = ("n0", "n1", "n2")
#: An election and the start of a broker, on a loaded machine.
ELECTION_LIMIT_S = 60


class GroupProcesses:
    """Use in a ``with``: there is a leader when entered.

    :ivar processes: by the member's name; killed ones, too.
    """

    def __init__(self, folder):
        self._folder = folder
        self._peers = ";".join(f"{name}-127.0.0.1:{free_port()}" for name in MEMBERS)
        self._name_servers = {name: f"127.0.0.1:{free_port()}" for name in MEMBERS}
        self._broker_ports = {name: str(free_broker_port()) for name in MEMBERS}
        self._stack = ExitStack()
        self.processes = {}

    def __enter__(self):
        for name in MEMBERS:
            self.start(name)
        self.next_leader(0)
        return self

    def __exit__(self, *_):
        self._stack.close()

    @property
    def name_servers(self):
        """As clients are given them."""
        return ";".join(self._name_servers.values())

    def folder_of(self, name):
        return self._folder / name

    def start(self, name):
        """Start a member with whatever files it has."""
        others = [word for other in MEMBERS if other != name for word in ("--also-register", self._name_servers[other])]
        options = ["--group-peers", self._peers, "--group-self", name, "--broker-port", self._broker_ports[name]]
        port = self._name_servers[name].rpartition(":")[2]
        process = GlassProcess(self.folder_of(name), *options, "--name-server-port", port, *others)
        self.processes[name] = self._stack.enter_context(process)

    def leadership(self):
        """(term, member) of the one that took office last; as a killed one has, too."""
        return max((self._last_term(process), name) for name, process in self.processes.items())

    @staticmethod
    def _last_term(process):
        terms = [line.rpartition(" ")[2] for line in list(process.stderr) if "leads its group in term" in line]
        return int(terms[-1]) if terms else 0

    def next_leader(self, term):
        """(term, member) of the first one that leads in a later term."""
        wait_until(lambda: self.leadership()[0] > term, "an election", ELECTION_LIMIT_S)
        return self.leadership()

    def kill(self, name):
        """SIGKILL."""
        self.processes[name].kill()

    def stop_all(self):
        """In order; what each has of the commit log, to its last byte."""
        for process in self.processes.values():
            assert process.stop() == 0
        return {name: self._log_of(name) for name in MEMBERS}

    def _log_of(self, name):
        paths = sorted((self.folder_of(name) / "commitlog").iterdir())
        return b"".join(path.read_bytes() for path in paths).rstrip(b"\0")
