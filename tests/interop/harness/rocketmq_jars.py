"""Where the jars of the real RocketMQ come from.

Two sources, in this order:

1. ``ROCKETMQ_HOME``, the variable RocketMQ's own scripts use: the folder of an unpacked RocketMQ release, with its
   jars in ``lib/``. It alone has the benchmark programs of 4.9.
2. Maven Central: client and mqadmin in version 4.9.8; name server and broker in 4.9.7, because 4.9.8 of these two
   is not there; the example programs in 4.7.0, the newest of the 4.x line there, which run on the 4.9.8 client.

Every label carries the version found in the jar's name, so no table can call 4.9.7 by the name of 4.9.8.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.interop.harness.installs import ClientUnavailable, compiled_drivers, maven_class_path

HOME_VARIABLE = "ROCKETMQ_HOME"


@dataclass(frozen=True)
class Jars:
    """A class path and the RocketMQ version in it."""

    class_path: str
    version: str


@cache
def release_folder() -> Path | None:
    """The ``lib`` folder that ``ROCKETMQ_HOME`` names, or None where the variable is not set."""
    home = os.environ.get(HOME_VARIABLE)
    if not home:
        return None
    library = Path(home) / "lib"
    if not list(library.glob("rocketmq-broker-*.jar")):
        raise ClientUnavailable(f"{HOME_VARIABLE}={home}: no lib/rocketmq-broker-*.jar there")
    return library


@cache
def server_jars() -> Jars:
    """Name server and broker."""
    library = release_folder()
    class_path = f"{library}/*" if library else maven_class_path("server.xml")
    names = " ".join(path.name for path in library.iterdir()) if library else class_path
    return Jars(class_path, _version_of("rocketmq-broker", names))


@cache
def client_jars() -> Jars:
    """The Java client and mqadmin, unmodified from Maven Central."""
    class_path = maven_class_path("client.xml")
    return Jars(class_path, _version_of("rocketmq-client", class_path))


@cache
def driver_jars() -> Jars:
    """Our own Java drivers on top of the unmodified client."""
    client = client_jars()
    return Jars(f"{compiled_drivers()}{os.pathsep}{client.class_path}", client.version)


@cache
def vip_driver_jars() -> Jars:
    """The same drivers on the newest client that sends to the VIP channel unless it is configured otherwise."""
    return _old_driver_jars("vip-client.xml")


@cache
def executer_driver_jars() -> Jars:
    """The same drivers on the last client without a TransactionListener: 4.3.0 brought that."""
    return _old_driver_jars("executer-client.xml")


def _old_driver_jars(pom_name: str) -> Jars:
    class_path = maven_class_path(pom_name)
    version = _version_of("rocketmq-client", class_path)
    return Jars(f"{compiled_drivers()}{os.pathsep}{class_path}", version)


@cache
def example_jars() -> Jars:
    """Example and benchmark programs of a release. Raises :class:`ClientUnavailable` without a release folder."""
    library = release_folder()
    if library is None or not list(library.glob("rocketmq-example-*.jar")):
        raise ClientUnavailable(
            f"no rocketmq-example of RocketMQ 4.9 on Maven Central; set {HOME_VARIABLE} to the folder of an unpacked "
            "RocketMQ 4.9.8 release"
        )
    names = " ".join(path.name for path in library.iterdir())
    return Jars(f"{library}/*", _version_of("rocketmq-example", names))


@cache
def best_example_jars() -> Jars:
    """Example programs: of the release folder, else those that Maven Central has."""
    if release_folder() is not None:
        return example_jars()
    class_path = maven_class_path("examples.xml")
    return Jars(class_path, _version_of("rocketmq-example", class_path))


def _version_of(artifact: str, text: str) -> str:
    found = re.search(rf"{artifact}-(\d[\w.]*?)\.jar", text)
    if found is None:
        raise ClientUnavailable(f"no {artifact} jar in {text[:200]}")
    return found.group(1)
