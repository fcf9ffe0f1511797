"""Starts the drivers of the unmodified clients, each as a process with a home folder of its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.interop.harness.cluster import Cluster
from tests.interop.harness.installs import (
    JAVA_SOURCES,
    REPOSITORY,
    cpp_client_python,
    go_client,
    maven_class_path,
    node_command,
    node_modules,
    tool,
    transaction_client,
)
from tests.interop.harness.process import ManagedProcess
from tests.interop.harness.rocketmq_jars import Jars, best_example_jars, client_jars, driver_jars, vip_driver_jars
from tests.support.waiting import wait_until

DRIVERS = Path(__file__).resolve().parents[1] / "drivers"
#: Small and quick to start: most of these processes live for a few seconds.
_CLIENT_HEAP = ("-Xms64m", "-Xmx256m", "-XX:TieredStopAtLevel=1")
#: Room and the full compiler for a producer under load.
_LOAD_HEAP = ("-Xms512m", "-Xmx512m")
#: The Netty of old clients looks into classes of Java that newer ones hide; Java 8 does not read the variable.
_OLD_NETTY = {
    "JDK_JAVA_OPTIONS": "--add-opens=java.base/java.nio=ALL-UNNAMED --add-opens=java.base/sun.nio.ch=ALL-UNNAMED"
}


class Clients:
    """Starts client processes against one cluster and stops whatever still runs at the end of the test."""

    def __init__(self, cluster: Cluster, folder: Path) -> None:
        self.cluster = cluster
        self._folder = folder
        #: Further settings of every Java program, such as ``-Dtls.enable=true``.
        self.java_settings: tuple[str, ...] = ()
        #: Whom mqadmin signs for: access key and secret key.
        self.tools_account: tuple[str, str] | None = None
        self._started: list[ManagedProcess] = []

    def cpp(self, action: str, group: str, topic: str, **options: Any) -> ManagedProcess:
        """The C++ client; ``options`` are those of ``drivers/cpp_client.py``."""
        command = [str(cpp_client_python()), str(DRIVERS / "cpp_client.py"), action]
        command += ["--name-server", self.cluster.name_server, "--group", group, "--topic", topic]
        for name, value in options.items():
            option = f"--{name.replace('_', '-')}"
            command += [option] if value is True else [option, str(value)]
        return self._start(f"C++ client {action}", command)

    def transactions(self, group: str, topic: str, **options: str) -> ManagedProcess:
        """The transactional producer; ``options`` are those of ``drivers/transaction_client.py``."""
        python, library = transaction_client()
        command = [str(python), str(DRIVERS / "transaction_client.py"), "--name-server", self.cluster.name_server]
        command += ["--group", group, "--topic", topic]
        for name, value in options.items():
            command += [f"--{name}", value]
        return self._start("transaction client", command, {"LD_LIBRARY_PATH": str(library)})

    def ali_ons(self, action: str, group: str, topic: str, *options: object) -> ManagedProcess:
        """The npm client ali-ons; ``options`` are count and body size in bytes."""
        modules = node_modules()
        command = [node_command(), str(DRIVERS / "ali_ons.cjs"), action, self.cluster.name_server, group, topic]
        return self._start(f"ali-ons {action}", [*command, *map(str, options)], {"NODE_PATH": str(modules)})

    def ali_ons_with_account(
        self, account: tuple[str, str], group: str, topic: str, other_topic: str
    ) -> ManagedProcess:
        """A producer and a consumer in one process that sign for ``account``; see ``accountable`` in the driver."""
        command = [node_command(), str(DRIVERS / "ali_ons.cjs"), "accountable", self.cluster.name_server, group, topic]
        environment = {"NODE_PATH": str(node_modules()), "ACCESS_KEY": account[0], "SECRET_KEY": account[1]}
        return self._start("ali-ons with an account", [*command, other_topic], environment)

    def go(self, action: str, group: str, topic: str, count: int) -> ManagedProcess:
        """The Go client v2; see ``drivers/go/main.go``."""
        command = [str(go_client()), action, self.cluster.name_server, group, topic, str(count)]
        return self._start(f"Go client {action}", command)

    def java_driver(
        self, action: str, *options: object, binary: bool = False, name_server: str | None = None
    ) -> ManagedProcess:
        """Our Java driver on the unmodified Java client."""
        name = f"Java client {action}"
        arguments = [action, name_server or self.cluster.name_server, *map(str, options)]
        return self._java(name, driver_jars(), "InteropClient", arguments, binary)

    def failing(self, language: str, group: str, topic: str) -> ManagedProcess:
        """A consumer, ``cpp`` or ``java``, that consumes no message, so that each is sent back."""
        if language == "cpp":
            return self.cpp("consume", group, topic, failing=True)
        return self.java_driver("failing", group, topic)

    def java_vip_driver(self, action: str, group: str, topic: str, count: int = 0) -> ManagedProcess:
        """The same on a client that sends to the VIP channel by default."""
        arguments = [action, self.cluster.name_server, group, topic, str(count)]
        jars = vip_driver_jars()
        return self._java(
            f"Java client {jars.version} {action}", jars, "InteropClient", arguments, environment=_OLD_NETTY
        )

    def spring(self, version: str, group: str, topic: str, count: int) -> ManagedProcess:
        """``java/spring/SpringClient.java`` on this version of RocketMQ's Spring Boot starter."""
        jars = Jars(maven_class_path(f"spring-{version}.xml"), version)
        program = str(JAVA_SOURCES / "spring" / "SpringClient.java")
        arguments = [self.cluster.name_server, group, topic, str(count)]
        return self._java(f"Spring {version}", jars, program, arguments, heap=_LOAD_HEAP)

    def java_with_account(self, account: tuple[str, str], group: str, topic: str, count: int) -> ManagedProcess:
        """``java/AccountClient.java``: a producer that signs for ``account``."""
        arguments = [self.cluster.name_server, group, topic, str(count)]
        keys = {"ACCESS_KEY": account[0], "SECRET_KEY": account[1]}
        return self._java("Java client with an account", driver_jars(), "AccountClient", arguments, environment=keys)

    def article_program(
        self, class_name: str, *options: object, jars: Jars | None = None, mended: tuple[str, str] | None = None
    ) -> ManagedProcess:
        """One of the programs in ``java/articles``; ``mended``: with the first text of its source replaced."""
        program = class_name
        if mended is not None:
            source = (JAVA_SOURCES / "articles" / f"{class_name}.java").read_text("utf-8")
            assert mended[0] in source
            path = self._folder / f"{class_name}.java"
            path.write_text(source.replace(*mended), "utf-8")
            program = str(path)
        arguments = [self.cluster.name_server, *map(str, options)]
        return self._java(class_name, jars or driver_jars(), program, arguments, environment=_OLD_NETTY if jars else {})

    def java_example(self, class_name: str, *options: object, binary: bool = False) -> ManagedProcess:
        """One of RocketMQ's own example programs (``org.apache.rocketmq.example.<class_name>``)."""
        main_class = f"org.apache.rocketmq.example.{class_name}"
        heap = _LOAD_HEAP if class_name.startswith("benchmark.") else _CLIENT_HEAP
        return self._java(class_name, best_example_jars(), main_class, [*map(str, options)], binary, heap)

    def java_load(self, options: Mapping[str, object]) -> ManagedProcess:
        """Start ``java/LoadClient.java`` with binary headers; ``options`` are those after the name server."""
        arguments = [self.cluster.name_server, *(f"{name}={value}" for name, value in options.items())]
        return self._java("Java load", driver_jars(), "LoadClient", arguments, binary=True, heap=_LOAD_HEAP)

    def command(self, name: str, command: list[str]) -> ManagedProcess:
        """Any other program."""
        return self._start(name, command, {"PYTHONPATH": str(REPOSITORY)})

    def mqadmin(self, *arguments: str, name_server: str | None = None) -> ManagedProcess:
        """RocketMQ's own mqadmin."""
        main_class = "org.apache.rocketmq.tools.command.MQAdminStartup"
        where = ["-n", name_server or self.cluster.name_server]
        return self._java(f"mqadmin {arguments[0]}", client_jars(), main_class, [*arguments, *where])

    def mqadmin_session(self, commands: Sequence[Sequence[str]]) -> ManagedProcess:
        """Many mqadmin commands, one after the other in one process; see ``java/MqadminSession.java``."""
        script = self._folder / f"mqadmin-{len(self._started)}.txt"
        script.write_text("".join("\t".join(words) + "\n" for words in commands), "utf-8")
        arguments = [self.cluster.name_server, str(script)]
        return self._java("mqadmin session", driver_jars(), "MqadminSession", arguments)

    def dashboard_calls(self, *arguments: str) -> ManagedProcess:
        """``java/DashboardCalls.java``, over the VIP channel; ``arguments`` are those after the name server."""
        setting = "-Dcom.rocketmq.sendMessageWithVIPChannel=true"
        arguments = (self.cluster.name_server, *arguments)
        return self._java("dashboard calls", driver_jars(), "DashboardCalls", arguments, settings=(setting,))

    def stop_all(self) -> None:
        for process in self._started:
            process.stop(grace_s=1.0)

    def _java(
        self,
        name: str,
        jars: Jars,
        main_class: str,
        arguments: Sequence[str],
        binary: bool = False,
        heap: tuple[str, ...] = _CLIENT_HEAP,
        environment: Mapping[str, str] | None = None,
        settings: Sequence[str] = (),
    ) -> ManagedProcess:
        home = self._next_home()
        settings = [*self.java_settings, *settings, "-Dfile.encoding=UTF-8", f"-Duser.home={home}"]
        settings.append(f"-Drocketmq.namesrv.addr={self.cluster.name_server}")
        if binary:
            settings.append("-Drocketmq.serialize.type=ROCKETMQ")
        command = [tool("java"), *heap, *settings, "-cp", jars.class_path, main_class, *arguments]
        return self._start(
            name, command, {"ROCKETMQ_HOME": str(_tools_home(home, self.tools_account)), **(environment or {})}, home
        )

    def _start(
        self, name: str, command: list[str], environment: dict[str, str] | None = None, home: Path | None = None
    ) -> ManagedProcess:
        home = home or self._next_home()
        process = ManagedProcess(name, command, home / "output.log", {"HOME": str(home), **(environment or {})}, home)
        self._started.append(process)
        return process

    def _next_home(self) -> Path:
        home = self._folder / f"client-{len(self._started)}"
        home.mkdir(parents=True)
        return home


def _tools_home(home: Path, account: tuple[str, str] | None) -> Path:
    """mqadmin wants a logback file under ROCKETMQ_HOME and stays silent where it finds none; its account too."""
    settings = home / "conf"
    settings.mkdir(exist_ok=True)
    (settings / "logback_tools.xml").write_text('<configuration><root level="OFF"/></configuration>\n', "ascii")
    if account is not None:
        (settings / "tools.yml").write_text(f"accessKey: {account[0]}\nsecretKey: {account[1]}\n", "ascii")
    return home


def messages(*processes: ManagedProcess) -> list[dict[str, Any]]:
    """Everything these consumers reported as received."""
    return [event for process in processes for event in process.events() if event["event"] == "message"]


def sent(process: ManagedProcess) -> list[dict[str, Any]]:
    return [event for event in process.events() if event["event"] == "sent"]


def wait_for_bodies(expected: Iterable[str], *consumers: ManagedProcess, deadline_s: float = 60.0) -> None:
    """Wait until these consumers together received every expected body (duplicates do not matter here)."""
    wanted = set(expected)

    def all_there() -> bool:
        return wanted <= {event["body"] for event in messages(*consumers)}

    def state() -> str:
        missing = wanted - {event["body"] for event in messages(*consumers)}
        ends = "\n".join(f"{consumer.name}:\n{consumer.output_end(600)}" for consumer in consumers)
        return f"{len(missing)} of {len(wanted)} missing, for example {sorted(missing)[:5]}\n{ends}"

    wait_until(all_there, f"{len(wanted)} messages", deadline_s, state)
