"""One account of the rules (RocketMQ: ``PlainAccessConfig`` as written, ``PlainAccessResource`` as used)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from engine.acl.errors import AccessDenied, BadAccessConfig
from engine.acl.permission import ADMIN_CODES, Permission, is_granted, parse_permission, parse_resource_permissions
from engine.acl.remote_address_pattern import RemoteAddressPattern, parse_remote_address
from engine.fields.field import Field, read_fields
from engine.fields.refusal import FieldRefused
from engine.protocol.names import TOPIC_MAX_LENGTH, group_of_retry_or_dlq_topic, is_retry_topic, retry_topic
from engine.texts import plain

#: The minimum length of access key and secret key (RocketMQ: ``AclConstants.ACCESS_KEY_MIN_LENGTH``).
KEY_MIN_LENGTH = 6
#: Bounds of one account: the content of a request is checked by these before it is written anywhere.
TEXT_MAX_LENGTH = 1_024
PERMISSIONS_MAX = 1_000


def _check_admin(text: str) -> None:
    if text.lower() not in ("true", "false"):
        raise ValueError


_KEY = partial(Field, kind="text", low=KEY_MIN_LENGTH + 1, high=TEXT_MAX_LENGTH, strip=True)
_TEXT = partial(Field, kind="text", high=TEXT_MAX_LENGTH, default="", strip=True)
_PERMISSIONS = partial(Field, kind="names", high=PERMISSIONS_MAX, default=(), each=TEXT_MAX_LENGTH)
ACCOUNT_FIELDS = (
    _KEY("accessKey"),
    _KEY("secretKey", is_secret=True),
    _TEXT("whiteRemoteAddress"),
    _TEXT("admin", check=_check_admin, says=plain("true, false")),
    _TEXT("defaultTopicPerm"),
    _TEXT("defaultGroupPerm"),
    _PERMISSIONS("topicPerms"),
    _PERMISSIONS("groupPerms"),
)


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
    read = read_entry(ACCOUNT_FIELDS, fields, where)
    topics = parse_resource_permissions(read["topicPerms"], f"{where}.topicPerms")
    groups = parse_resource_permissions(read["groupPerms"], f"{where}.groupPerms")

    def default(name: str) -> Permission:
        return parse_permission(read[name], f"{where}.{name}") if read[name] else Permission.DENY

    return PlainAccessAccount(
        access_key=read["accessKey"],
        secret_key=read["secretKey"].encode(),
        white_remote_address=parse_remote_address(read["whiteRemoteAddress"]),
        is_admin=read["admin"].lower() == "true",
        default_topic_permission=default("defaultTopicPerm"),
        default_group_permission=default("defaultGroupPerm"),
        resource_permissions={**dict(topics), **{retry_topic(group): permission for group, permission in groups}},
    )


def read_entry(table: tuple[Field, ...], data: object, where: str) -> dict[str, Any]:
    """Return the fields of an entry; an empty one, in YAML a name without a value, is absent.

    Raises :class:`BadAccessConfig`, which shows nothing of what is not an entry: it may hold a secret.
    """
    if not isinstance(data, Mapping):
        raise BadAccessConfig(f"{where} must be an entry with {', '.join(field.name for field in table)}")
    try:
        return read_fields(table, {name: value for name, value in data.items() if value != ""}, where)
    except FieldRefused as refused:
        raise BadAccessConfig(str(refused)) from None
