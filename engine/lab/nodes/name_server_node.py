"""A node that is a name server."""

from __future__ import annotations

from engine.lab.nodes.scenario_node import ScenarioNode
from engine.lab.scenario.kinds.name_server import NameServerSpec
from engine.name_server.name_server import NameServer
from engine.name_server.name_server_config import NameServerConfig

NAME_SERVER_PORT = 9876


class NameServerNode(ScenarioNode):
    """A name server's node.

    :ivar name_server: None while the process does not run.
    """

    spec: NameServerSpec

    engine_name = "name_server"
    name_server: NameServer | None = None

    @property
    def address(self) -> str:
        """Return the address for the other nodes."""
        return f"{self.runtime.identity.host_ip}:{NAME_SERVER_PORT}"

    async def _start(self) -> None:
        config = self.config(NameServerConfig, host="", port=NAME_SERVER_PORT)
        self.name_server = NameServer(self.runtime, config)
        await self.name_server.start()
