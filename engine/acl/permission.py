"""The permissions of an account on a topic or a group (RocketMQ: ``Permission``).

RocketMQ has a fourth bit, ANY (publish or subscribe); no request of version 4.9.8 needs it, and no rule can grant it,
so it is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import IntFlag

from engine.acl.errors import BadAccessConfig
from engine.protocol.request_code import RequestCode


class Permission(IntFlag):
    """The permission bits; DENY overrides the others."""

    DENY = 1
    PUB = 4
    SUB = 8


#: The names in rules. RocketMQ reads every other text as DENY; here it is refused, because a typing error that denies
#: access is found sooner that way.
PERMISSIONS_BY_TEXT = {
    "DENY": Permission.DENY,
    "PUB": Permission.PUB,
    "SUB": Permission.SUB,
    "PUB|SUB": Permission.PUB | Permission.SUB,
    "SUB|PUB": Permission.PUB | Permission.SUB,
}

#: Requests of accounts with ``admin: true`` only (RocketMQ: ``Permission.ADMIN_CODE``) ...
ROCKETMQ_ADMIN_CODES = (
    RequestCode.UPDATE_AND_CREATE_TOPIC,
    RequestCode.UPDATE_BROKER_CONFIG,
    RequestCode.DELETE_TOPIC_IN_BROKER,
    RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP,
    RequestCode.DELETE_SUBSCRIPTIONGROUP,
)
#: ... and three more that 4.9.8 allows to every account. An account that may rewrite the rules is not bound by any of
#: them.
RULE_CODES = (
    RequestCode.UPDATE_AND_CREATE_ACL_CONFIG,
    RequestCode.DELETE_ACL_CONFIG,
    RequestCode.UPDATE_GLOBAL_WHITE_ADDRS_CONFIG,
)
ADMIN_CODES = frozenset((*ROCKETMQ_ADMIN_CODES, *RULE_CODES))


def is_granted(needed: Permission, owned: Permission) -> bool:
    """Return whether ``owned`` includes ``needed``."""
    return not owned & Permission.DENY and bool(needed & owned)


def parse_permission(text: str, where: str) -> Permission:
    """Parse ``"PUB|SUB"`` and the like. Raises :class:`BadAccessConfig` that names its position, ``where``."""
    permission = PERMISSIONS_BY_TEXT.get(text.strip())
    if permission is None:
        raise BadAccessConfig(f"{where} is {text[:40]!r}; allowed: {', '.join(PERMISSIONS_BY_TEXT)}")
    return permission


def parse_resource_permissions(entries: Sequence[str], where: str) -> Iterator[tuple[str, Permission]]:
    """Yield the pairs in ``"orders=PUB"`` and the like. Raises :class:`BadAccessConfig`."""
    for number, entry in enumerate(entries):
        name, equals, text = entry.partition("=")
        if not equals or not name.strip():
            raise BadAccessConfig(f"{where}[{number}] is {entry[:80]!r}; write name=permission, such as orders=PUB|SUB")
        yield name.strip(), parse_permission(text, f"{where}[{number}]")
