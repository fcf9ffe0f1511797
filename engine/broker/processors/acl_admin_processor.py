"""Reads and changes the rules (RocketMQ: part of ``AdminBrokerProcessor``). Codes 50 to 53.

Code 54, which hands out all rules with their secret keys, is of later versions; 4.9.8 does not serve it.

RocketMQ without ``aclEnable`` fails here with a NullPointerException and leaves code 52 unanswered; this broker says
why.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from engine.acl.errors import AccessConfigNotSaved, BadAccessConfig
from engine.protocol.command.acl_headers import (
    CreateAccessConfigRequestHeader,
    DeleteAccessConfigRequestHeader,
    GetBrokerAclConfigResponseHeader,
    UpdateGlobalWhiteAddrsConfigRequestHeader,
)
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.json_form.json_text import dumps_json
from engine.protocol.response_code import ResponseCode
from engine.remoting.channel import Channel

if TYPE_CHECKING:
    from engine.acl.plain_permission_manager import PlainPermissionManager
    from engine.broker.broker import Broker

_OFF = "this broker has no rules: aclEnable is off"


class AclAdminProcessor:
    """What mqadmin's updateAclConfig, deleteAclConfig, updateGlobalWhiteAddr and clusterAclConfigVersion ask for."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    def update_access_config(self, channel: Channel, request: RemotingCommand) -> RemotingCommand:
        """Code 50: add an account or change one; what the request leaves out stays as it is."""
        header = CreateAccessConfigRequestHeader.decode(request.ext_fields)
        changes: dict[str, object] = {"accessKey": header.access_key, "admin": "true" if header.admin else "false"}
        texts = {
            "secretKey": header.secret_key,
            "whiteRemoteAddress": header.white_remote_address,
            "defaultTopicPerm": header.default_topic_perm,
            "defaultGroupPerm": header.default_group_perm,
        }
        changes.update({name: text for name, text in texts.items() if text})
        lists = {"topicPerms": header.topic_perms, "groupPerms": header.group_perms}
        changes.update({name: _split(text) for name, text in lists.items() if text})
        failed = ResponseCode.UPDATE_AND_CREATE_ACL_CONFIG_FAILED
        return self._change(request, failed, lambda manager: manager.update_access_config(changes))

    def delete_access_config(self, channel: Channel, request: RemotingCommand) -> RemotingCommand:
        """Code 51: remove an account."""
        access_key = DeleteAccessConfigRequestHeader.decode(request.ext_fields).access_key
        failed = ResponseCode.DELETE_ACL_CONFIG_FAILED
        return self._change(request, failed, lambda manager: manager.delete_access_config(access_key))

    def update_global_white_addrs_config(self, channel: Channel, request: RemotingCommand) -> RemotingCommand:
        """Code 53: replace the white addresses of all accounts."""
        header = UpdateGlobalWhiteAddrsConfigRequestHeader.decode(request.ext_fields)
        addresses = _split(header.global_white_addrs)
        failed = ResponseCode.UPDATE_GLOBAL_WHITE_ADDRS_CONFIG_FAILED
        return self._change(request, failed, lambda manager: manager.update_global_white_addresses(addresses))

    def get_broker_acl_config_version(self, channel: Channel, request: RemotingCommand) -> RemotingCommand:
        """Code 52: the version of the rules."""
        manager = self._broker.permission_manager
        if manager is None:
            return request.reply(ResponseCode.SYSTEM_ERROR, _OFF)
        version = manager.rules.version.to_dict()
        header = GetBrokerAclConfigResponseHeader(
            version=dumps_json(version).decode(),
            broker_name=self._broker.config.broker_name,
            broker_addr=self._broker.address,
            cluster_name=self._broker.config.cluster_name,
            all_acl_file_version=dumps_json({manager.path: version}).decode(),
        )
        return request.reply(ResponseCode.SUCCESS, None, header)

    def _change(
        self, request: RemotingCommand, failed: ResponseCode, change: Callable[[PlainPermissionManager], None]
    ) -> RemotingCommand:
        manager = self._broker.permission_manager
        if manager is None:
            return request.reply(failed, _OFF)
        try:
            change(manager)
        except (BadAccessConfig, AccessConfigNotSaved) as error:
            return request.reply(failed, str(error))
        return request.reply(ResponseCode.SUCCESS)


def _split(text: str) -> list[str]:
    """The parts of a list joined by commas; RocketMQ's mqadmin leaves blanks."""
    return [part.strip() for part in text.split(",") if part.strip()]
