"""The access rules as one value: white addresses, accounts, version (RocketMQ: the content of ``plain_acl.yml``).

YAML is read with every value as a text: ``secretKey: 01234567`` means these eight characters and not an octal number.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from engine.acl.errors import BadAccessConfig
from engine.acl.plain_access_account import PlainAccessAccount, build_account
from engine.acl.remote_address_pattern import RemoteAddressPattern, parse_remote_address
from engine.protocol.body.data_version import DataVersion

WHITE_ADDRESSES = "globalWhiteRemoteAddresses"
ACCOUNTS = "accounts"
DATA_VERSION = "dataVersion"
#: Bounds of the content of one file. The broker is blocked while it reads one: about 2 s for a file of this size.
FILE_MAX_BYTES = 256 * 1024
ACCOUNTS_MAX = 2_000
WHITE_ADDRESSES_MAX = 1_000


@dataclass(frozen=True, slots=True)
class AccessRules:
    """Parsed rules, and ``content``: the same as in the file, for code that changes a part of it."""

    white_addresses: tuple[RemoteAddressPattern, ...] = ()
    accounts: Mapping[str, PlainAccessAccount] = field(default_factory=dict)
    version: DataVersion = field(default_factory=DataVersion)
    content: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def is_white(self, ip: str) -> bool:
        """Return whether every request from ``ip`` is accepted."""
        return any(pattern.matches(ip) for pattern in self.white_addresses)


def read_rules(data: bytes) -> AccessRules:
    """Read the rules in a YAML file. Raises :class:`BadAccessConfig` that names the invalid entry."""
    if len(data) > FILE_MAX_BYTES:
        raise BadAccessConfig(f"it has {len(data)} bytes; allowed: {FILE_MAX_BYTES}")
    try:
        # Not yaml.safe_load: the base loader is safe too, and leaves every value as text.
        content = yaml.load(data.decode("utf-8"), Loader=yaml.BaseLoader)
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise BadAccessConfig(f"it is not YAML: {' '.join(str(error).split())[:200]}") from None
    if content is None or content == "":
        content = {}
    if not isinstance(content, dict):
        raise BadAccessConfig(f"it must have the entries {WHITE_ADDRESSES} and {ACCOUNTS}")
    return parse_rules(content)


def parse_rules(content: Mapping[str, Any]) -> AccessRules:
    """Parse the rules in the content of a file. Raises :class:`BadAccessConfig`."""
    for name in content:
        if name not in (WHITE_ADDRESSES, ACCOUNTS, DATA_VERSION):
            allowed = ", ".join((WHITE_ADDRESSES, ACCOUNTS, DATA_VERSION))
            raise BadAccessConfig(f"there is an unknown entry {str(name)[:40]!r}; allowed: {allowed}")
    accounts: dict[str, PlainAccessAccount] = {}
    entries = _list(content, ACCOUNTS)
    if len(entries) > ACCOUNTS_MAX:
        raise BadAccessConfig(f"there are {len(entries)} accounts; allowed: {ACCOUNTS_MAX}")
    for number, entry in enumerate(entries):
        account = build_account(entry, f"{ACCOUNTS}[{number}]")
        if account.access_key in accounts:
            raise BadAccessConfig(f"{ACCOUNTS}[{number}]: accessKey {account.access_key} already exists")
        accounts[account.access_key] = account
    addresses = _list(content, WHITE_ADDRESSES)
    if not all(isinstance(address, str) for address in addresses):
        raise BadAccessConfig(f"{WHITE_ADDRESSES} must be a list of addresses")
    if len(addresses) > WHITE_ADDRESSES_MAX:
        raise BadAccessConfig(f"there are {len(addresses)} {WHITE_ADDRESSES}; allowed: {WHITE_ADDRESSES_MAX}")
    return AccessRules(tuple(map(parse_remote_address, addresses)), accounts, _version(content), content)


def write_rules(content: Mapping[str, Any], version: DataVersion) -> bytes:
    """Return the file with ``content`` and a new version. Comments of the old file are lost, as in RocketMQ."""
    whole = {**content, DATA_VERSION: [version.to_dict()]}
    return yaml.safe_dump(whole, sort_keys=False, allow_unicode=True, width=120).encode()


def _list(content: Mapping[str, Any], name: str) -> list[Any]:
    value = content.get(name)
    if value is None or value == "":
        return []
    if not isinstance(value, list):
        raise BadAccessConfig(f"{name} must be a list")
    return value


def _version(content: Mapping[str, Any]) -> DataVersion:
    entries = _list(content, DATA_VERSION)
    if not entries:
        return DataVersion()
    try:
        return DataVersion(int(entries[0]["timestamp"]), int(entries[0]["counter"]))
    except (KeyError, TypeError, ValueError):
        raise BadAccessConfig(f"{DATA_VERSION} must hold one entry with whole numbers counter and timestamp") from None
