"""Headers of access-control administration: codes 50 to 53."""

from __future__ import annotations

from engine.protocol.command.command_header import CommandHeader


class CreateAccessConfigRequestHeader(CommandHeader):
    """The header of UPDATE_AND_CREATE_ACL_CONFIG (50). The last two fields are lists joined by commas:
    ``topicA=PUB,topicB=SUB``.
    """

    access_key: str
    secret_key: str | None = None
    white_remote_address: str | None = None
    admin: bool = False
    default_topic_perm: str | None = None
    default_group_perm: str | None = None
    topic_perms: str | None = None
    group_perms: str | None = None


class DeleteAccessConfigRequestHeader(CommandHeader):
    """The header of DELETE_ACL_CONFIG (51)."""

    access_key: str


class UpdateGlobalWhiteAddrsConfigRequestHeader(CommandHeader):
    """The header of UPDATE_GLOBAL_WHITE_ADDRS_CONFIG (53): addresses joined by commas, and the file to change if there
    are several.
    """

    global_white_addrs: str
    acl_file_full_path: str | None = None


class GetBrokerAclConfigResponseHeader(CommandHeader):
    """Reply to GET_BROKER_CLUSTER_ACL_INFO (52); the versions are JSON text."""

    version: str
    broker_name: str
    broker_addr: str
    cluster_name: str
    all_acl_file_version: str | None = None
