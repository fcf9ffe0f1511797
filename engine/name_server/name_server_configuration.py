"""The settings of a running name server (RocketMQ: ``Configuration`` with ``NamesrvConfig``).

Only ``orderMessageEnable`` can change; the other settings are only used at the start. A change is stored in
``config/nameServerConfig.json``, as the old and the new value: the next start uses the new value if the name server is
started with the old one, and discards it otherwise.
"""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Mapping

from engine.name_server.errors import NameServerConfigRefused
from engine.name_server.name_server_config import NameServerConfig
from engine.protocol.response_code import ResponseCode
from engine.remoting.errors import RequestRefused
from engine.runtime.port import Disk, DiskFault
from engine.store.files.config_file import ConfigFile

logger = logging.getLogger("glassmq.name_server")

PATH = "config/nameServerConfig.json"
_ORDER_MESSAGE_ENABLE = "orderMessageEnable"
_BOOLEANS = {"true": True, "false": False}
_JAVA_NAMES = {"host": "bindAddress", "port": "listenPort"}


class NameServerConfiguration:
    """Reads and changes ``config``, which is the name server's own."""

    def __init__(self, config: NameServerConfig, disk: Disk) -> None:
        self._config = config
        self._file = ConfigFile(disk, PATH)
        self._is_persistent = True
        self._at_start = config.order_message_enable

    def settings(self, port: int) -> dict[str, str]:
        """Return all settings under RocketMQ's names or similar ones; ``port`` is the one that is really bound."""
        settings: dict[str, str] = {}
        for field in dataclasses.fields(self._config):
            value = getattr(self._config, field.name)
            first, *rest = field.name.removesuffix("_ms").split("_")
            name = _JAVA_NAMES.get(field.name, first + "".join(word.capitalize() for word in rest))
            settings[name] = str(value).lower() if isinstance(value, bool) else str(value)
        return settings | {"listenPort": str(port)}

    def update(self, wanted: Mapping[str, str]) -> None:
        """Change settings, all or none. Raises :class:`NameServerConfigRefused` and :class:`RequestRefused`."""
        known = self.settings(0)
        value = self._config.order_message_enable
        for name, text in wanted.items():
            if name != _ORDER_MESSAGE_ENABLE and name in known:
                raise RequestRefused(
                    f"{name} can only be given when the name server starts; while it runs {_ORDER_MESSAGE_ENABLE} "
                    "can change",
                    ResponseCode.NO_PERMISSION,
                )
            if name != _ORDER_MESSAGE_ENABLE:
                raise NameServerConfigRefused(f"there is no setting {name[:100]!r}; {_ORDER_MESSAGE_ENABLE} can change")
            if text.strip().lower() not in _BOOLEANS:
                raise NameServerConfigRefused(f"{name}={text[:100]!r}; allowed: true, false")
            value = _BOOLEANS[text.strip().lower()]
        if value != self._config.order_message_enable:
            self._save(value)
            self._config.order_message_enable = value
            logger.info("setting %s is %s", _ORDER_MESSAGE_ENABLE, value)

    def _save(self, value: bool) -> None:
        if not self._is_persistent:
            return
        change = {"from": self._at_start, "to": value}
        try:
            self._file.save({"changes": {_ORDER_MESSAGE_ENABLE: change}})
        except DiskFault as fault:
            raise NameServerConfigRefused(f"the settings could not be saved: {fault}") from fault

    def load(self) -> None:
        """Read the file and apply the changes that are still valid."""
        try:
            content = self._file.load()
        except DiskFault:
            self._is_persistent = False
            return
        changes = content.get("changes") if content is not None else None
        change = changes.get(_ORDER_MESSAGE_ENABLE) if isinstance(changes, dict) else None
        first, last = (change.get("from"), change.get("to")) if isinstance(change, dict) else (None, None)
        if isinstance(last, bool) and first == self._config.order_message_enable:
            self._config.order_message_enable = last
