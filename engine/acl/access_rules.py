"""The access rules as one value: white addresses, accounts, version (RocketMQ: the content of ``plain_acl.yml``).

YAML is read with every value as a text: ``secretKey: 01234567`` means these eight characters and not an octal number.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from engine.acl.errors import BadAccessConfig
from engine.acl.plain_access_account import TEXT_MAX_LENGTH, PlainAccessAccount, build_account, read_entry
from engine.acl.remote_address_pattern import RemoteAddressPattern, parse_remote_address
from engine.fields.field import Field
from engine.protocol.body.data_version import DataVersion

WHITE_ADDRESSES = "globalWhiteRemoteAddresses"
ACCOUNTS = "accounts"
DATA_VERSION = "dataVersion"
#: Bounds of the content of one file. The broker is blocked while it reads one: about 2 s for a file of this size.
FILE_MAX_BYTES = 256 * 1024
#: accounts, an account, its topicPerms; the rest is room for what a table of fields refuses by name.
DEPTH_MAX = 8
ACCOUNTS_MAX = 2_000
WHITE_ADDRESSES_MAX = 1_000
_FIELDS = (
    Field(WHITE_ADDRESSES, "names", 0, WHITE_ADDRESSES_MAX, default=(), each=TEXT_MAX_LENGTH),
    Field(ACCOUNTS, "list", 0, ACCOUNTS_MAX, default=(), is_secret=True),
    Field(DATA_VERSION, "list", default=()),
)
#: Not a safe loader: the base loader is safe too, and leaves every value as text. An installation may lack libyaml's.
_LOADER = getattr(yaml, "CBaseLoader", yaml.BaseLoader)


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
        text = data.decode("utf-8")
        _check_events(text)
        content = yaml.load(text, Loader=_LOADER)
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise BadAccessConfig(f"it is not YAML: {' '.join(str(error).split())[:200]}") from None
    if content is None or content == "":
        content = {}
    return parse_rules(content)


def _check_events(text: str) -> None:
    """Refuse nesting over which the parser would work for a minute, and names that occur twice in an entry.

    RocketMQ uses the last one, so a forgotten line would decide what an account may do. Raises
    :class:`BadAccessConfig`.
    """
    #: Of each open entry, the names so far; None: a list.
    entries: list[set[str] | None] = []
    is_name_next: list[bool] = []
    for event in yaml.parse(text, Loader=_LOADER):
        if isinstance(event, yaml.CollectionEndEvent):
            entries.pop()
            is_name_next.pop()
            continue
        if not isinstance(event, yaml.NodeEvent):
            continue
        names = entries[-1] if entries else None
        line = event.start_mark.line + 1 if event.start_mark is not None else 1
        if names is not None:
            if is_name_next[-1] and isinstance(event, yaml.ScalarEvent):
                if event.value in names:
                    raise BadAccessConfig(f"line {line}: {event.value} occurs twice in one entry; allowed: once")
                names.add(event.value)
            is_name_next[-1] = not is_name_next[-1]
        if isinstance(event, yaml.CollectionStartEvent):
            if len(entries) >= DEPTH_MAX:
                raise BadAccessConfig(f"line {line}: nested deeper than {DEPTH_MAX} levels")
            entries.append(set() if isinstance(event, yaml.MappingStartEvent) else None)
            is_name_next.append(True)


def parse_rules(content: Mapping[str, Any]) -> AccessRules:
    """Parse the rules in the content of a file. Raises :class:`BadAccessConfig`."""
    entries = read_entry(_FIELDS, content, "")
    accounts: dict[str, PlainAccessAccount] = {}
    for number, entry in enumerate(entries[ACCOUNTS]):
        account = build_account(entry, f"{ACCOUNTS}[{number}]")
        if account.access_key in accounts:
            raise BadAccessConfig(f"{ACCOUNTS}[{number}]: accessKey {account.access_key} already exists")
        accounts[account.access_key] = account
    white_addresses = tuple(map(parse_remote_address, entries[WHITE_ADDRESSES]))
    return AccessRules(white_addresses, accounts, _version(entries[DATA_VERSION]), content)


def write_rules(content: Mapping[str, Any], version: DataVersion) -> bytes:
    """Return the file with ``content`` and a new version. Comments of the old file are lost, as in RocketMQ."""
    whole = {**content, DATA_VERSION: [version.to_dict()]}
    return yaml.safe_dump(whole, sort_keys=False, allow_unicode=True, width=120).encode()


def _version(entries: list[Any]) -> DataVersion:
    if not entries:
        return DataVersion()
    try:
        return DataVersion(int(entries[0]["timestamp"]), int(entries[0]["counter"]))
    except (KeyError, TypeError, ValueError):
        raise BadAccessConfig(f"{DATA_VERSION} must hold one entry with whole numbers counter and timestamp") from None
