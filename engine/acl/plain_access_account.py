"""One account of the rules (RocketMQ: ``PlainAccessConfig`` as written, ``PlainAccessResource`` as used)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from engine.acl.errors import AccessDenied, BadAccessConfig
from engine.acl.permission import ADMIN_CODES, Permission, is_granted, parse_permission, parse_resource_permissions
from engine.acl.remote_address_pattern import RemoteAddressPattern, parse_remote_address
from engine.protocol.names import TOPIC_MAX_LENGTH, group_of_retry_or_dlq_topic, is_retry_topic, retry_topic

#: The minimum length of access key and secret key (RocketMQ: ``AclConstants.ACCESS_KEY_MIN_LENGTH``).
KEY_MIN_LENGTH = 6
#: Bounds of one account: the content of a request is checked by these before it is written anywhere.
TEXT_MAX_LENGTH = 1_024
PERMISSIONS_MAX = 1_000

FIELDS = (
    "accessKey",
    "secretKey",
    "whiteRemoteAddress",
    "admin",
    "defaultTopicPerm",
    "defaultGroupPerm",
    "topicPerms",
    "groupPerms",
)
_BOOLEANS = {"true": True, "false": False, "": False}


@dataclass(frozen=True, slots=True)
class PlainAccessAccount:
    """An account and its permissions. ``resource_permissions`` lists groups under the names of their retry topics."""

    access_key: str
    secret_key: bytes = field(repr=False)
    white_remote_address: RemoteAddressPattern
    is_admin: bool
    default_topic_permission: Permission
    default_group_permission: Permission
    resource_permissions: Mapping[str, Permission]

    def check(self, request_code: int, needed: Mapping[str, Permission]) -> None:
        """Raise :class:`AccessDenied` unless this account may send ``request_code``, which needs ``needed``.

        An admin without its own rules for topics and groups may do everything; one with such rules is bound by them.
        """
        if request_code in ADMIN_CODES and not self.is_admin:
            raise AccessDenied(
                f"Need admin permission for request code={request_code}, but accessKey={self.access_key} is not"
            )
        if self.is_admin and not self.resource_permissions:
            return
        for resource, permission in needed.items():
            is_group = is_retry_topic(resource)
            default = self.default_group_permission if is_group else self.default_topic_permission
            if not is_granted(permission, self.resource_permissions.get(resource, default)):
                kind = "group" if is_group else "topic"
                name = group_of_retry_or_dlq_topic(resource) if is_group else resource
                raise AccessDenied(f"No default permission for {kind}:{str(name)[:TOPIC_MAX_LENGTH]}")


def build_account(fields: object, where: str) -> PlainAccessAccount:
    """Build an account from its entry in the rules' file (or in a request). Raises :class:`BadAccessConfig`."""
    if not isinstance(fields, Mapping):
        raise BadAccessConfig(f"{where} must be an entry with accessKey and secretKey")
    for name in fields:
        if name not in FIELDS:
            raise BadAccessConfig(f"{where} has a field {str(name)[:40]!r}; allowed: {', '.join(FIELDS)}")
    access_key, secret_key = _text(fields, "accessKey", where), _text(fields, "secretKey", where)
    for name, key in (("accessKey", access_key), ("secretKey", secret_key)):
        if len(key) <= KEY_MIN_LENGTH:
            raise BadAccessConfig(f"{where}.{name} must have more than {KEY_MIN_LENGTH} characters, it has {len(key)}")
    admin = _text(fields, "admin", where).lower()
    if admin not in _BOOLEANS:
        raise BadAccessConfig(f"{where}.admin is {admin[:40]!r}; allowed: true, false")
    topics = parse_resource_permissions(_texts(fields, "topicPerms", where), f"{where}.topicPerms")
    groups = parse_resource_permissions(_texts(fields, "groupPerms", where), f"{where}.groupPerms")
    return PlainAccessAccount(
        access_key=access_key,
        secret_key=secret_key.encode(),
        white_remote_address=parse_remote_address(_text(fields, "whiteRemoteAddress", where)),
        is_admin=_BOOLEANS[admin],
        default_topic_permission=_default(fields, "defaultTopicPerm", where),
        default_group_permission=_default(fields, "defaultGroupPerm", where),
        resource_permissions={**dict(topics), **{retry_topic(group): permission for group, permission in groups}},
    )


def _default(fields: Mapping[str, object], name: str, where: str) -> Permission:
    text = _text(fields, name, where)
    return parse_permission(text, f"{where}.{name}") if text else Permission.DENY


def _text(fields: Mapping[str, object], name: str, where: str) -> str:
    value = fields.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise BadAccessConfig(f"{where}.{name} must be one value")
    _check_length(value, f"{where}.{name}")
    return value.strip()


def _texts(fields: Mapping[str, object], name: str, where: str) -> list[str]:
    value = fields.get(name)
    if value is None or value == "":
        return []
    if not isinstance(value, list) or not all(isinstance(entry, str) for entry in value):
        raise BadAccessConfig(f"{where}.{name} must be a list of entries such as orders=PUB|SUB")
    if len(value) > PERMISSIONS_MAX:
        raise BadAccessConfig(f"{where}.{name} has {len(value)} entries; allowed: {PERMISSIONS_MAX}")
    for number, entry in enumerate(value):
        _check_length(entry, f"{where}.{name}[{number}]")
    return value


def _check_length(text: str, where: str) -> None:
    if len(text) > TEXT_MAX_LENGTH:
        raise BadAccessConfig(f"{where} has {len(text)} characters; allowed: {TEXT_MAX_LENGTH}")
