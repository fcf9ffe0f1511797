"""Administration of the access rules (RocketMQ: part of ``AdminBrokerProcessor``), codes 50 to 53.

Code 54, which returns all rules with their secret keys, belongs to later versions; 4.9.8 does not serve it.

RocketMQ without ``aclEnable`` fails here with a NullPointerException and leaves code 52 unanswered; this broker reports
the reason.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.acl.errors import AccessConfigNotSaved, BadAccessConfig
from engine.broker.foundation.broker_address import BrokerAddress
from engine.broker.foundation.broker_config import BrokerConfig
from engine.protocol.command.acl_headers import (
    CreateAccessConfigRequestHeader,
    DeleteAccessConfigRequestHeader,
    GetBrokerAclConfigResponseHeader,
    UpdateGlobalWhiteAddrsConfigRequestHeader,
)
from engine.protocol.json_form.json_text import dumps_json
from engine.protocol.request_code import RequestCode
from engine.protocol.response_code import ResponseCode
from engine.remoting.errors import RequestRefused
from engine.remoting.processor import answers

if TYPE_CHECKING:
    from engine.acl.plain_permission_manager import PlainPermissionManager


@dataclass(frozen=True)
class AclAdminProcessor:
    """The processor of mqadmin's updateAclConfig, deleteAclConfig, updateGlobalWhiteAddr and clusterAclConfigVersion.

    :ivar manager: None: there are no access rules.
    """

    config: BrokerConfig
    address: BrokerAddress
    manager: PlainPermissionManager | None

    @answers(RequestCode.UPDATE_AND_CREATE_ACL_CONFIG, CreateAccessConfigRequestHeader)
    def update_access_config(self, header: CreateAccessConfigRequestHeader) -> None:
        """Add or change an account (code 50); fields that the request omits stay as they are."""
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
        self._change(failed, lambda manager: manager.update_access_config(changes))

    @answers(RequestCode.DELETE_ACL_CONFIG, DeleteAccessConfigRequestHeader)
    def delete_access_config(self, header: DeleteAccessConfigRequestHeader) -> None:
        """Remove an account (code 51)."""
        failed = ResponseCode.DELETE_ACL_CONFIG_FAILED
        self._change(failed, lambda manager: manager.delete_access_config(header.access_key))

    @answers(RequestCode.UPDATE_GLOBAL_WHITE_ADDRS_CONFIG, UpdateGlobalWhiteAddrsConfigRequestHeader)
    def update_global_white_addrs_config(self, header: UpdateGlobalWhiteAddrsConfigRequestHeader) -> None:
        """Replace the white addresses of all accounts (code 53)."""
        addresses = _split(header.global_white_addrs)
        failed = ResponseCode.UPDATE_GLOBAL_WHITE_ADDRS_CONFIG_FAILED
        self._change(failed, lambda manager: manager.update_global_white_addresses(addresses))

    @answers(RequestCode.GET_BROKER_CLUSTER_ACL_INFO)
    def get_broker_acl_config_version(self) -> GetBrokerAclConfigResponseHeader:
        """Return the version of the rules (code 52)."""
        manager = self._manager_or_refusal(ResponseCode.SYSTEM_ERROR)
        version = manager.rules.version.to_dict()
        return GetBrokerAclConfigResponseHeader(
            version=dumps_json(version).decode(),
            broker_name=self.config.broker_name,
            broker_addr=self.address.text,
            cluster_name=self.config.cluster_name,
            all_acl_file_version=dumps_json({manager.path: version}).decode(),
        )

    def _change(self, failed: ResponseCode, change: Callable[[PlainPermissionManager], None]) -> None:
        try:
            change(self._manager_or_refusal(failed))
        except (BadAccessConfig, AccessConfigNotSaved) as error:
            raise RequestRefused(str(error), failed) from error

    def _manager_or_refusal(self, failed: ResponseCode) -> PlainPermissionManager:
        if self.manager is None:
            raise RequestRefused("this broker has no rules: aclEnable is off", failed)
        return self.manager


def _split(text: str) -> list[str]:
    """Split a list joined by commas; RocketMQ's mqadmin leaves blanks."""
    return [part.strip() for part in text.split(",") if part.strip()]
