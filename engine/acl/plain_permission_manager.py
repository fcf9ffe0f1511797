"""The manager of the access rules, which reloads their file and checks requests (RocketMQ: ``PlainPermissionManager``).

Simplified: one file, ``config/plain_acl.yml`` in the broker's data folder. RocketMQ reads ``conf/plain_acl.yml`` of its
home folder and all files in ``conf/acl`` next to it.

The broker checks the file every 5 s. An unusable one changes nothing: the old rules stay in force, and the log says
what is wrong with the new ones.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from engine.acl.access_rules import ACCOUNTS, WHITE_ADDRESSES, AccessRules, parse_rules, read_rules, write_rules
from engine.acl.acl_signer import ACCESS_KEY, is_signed
from engine.acl.errors import AccessConfigNotSaved, AccessDenied, BadAccessConfig, WrongSignature
from engine.acl.needed_permissions import needed_permissions
from engine.acl.permission import Permission
from engine.protocol.body.data_version import DataVersion
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.names import TRACE_TOPIC
from engine.runtime.port import Clock, Disk, DiskFault

logger = logging.getLogger("glassmq.acl")


class PlainPermissionManager:
    """The rules of one broker.

    :param disk: the disk with the file.
    :param path: its path there.
    :param clock: for the times of changes.
    """

    def __init__(self, disk: Disk, path: str, clock: Clock) -> None:
        self._disk = disk
        self._clock = clock
        self._data = b""
        self.path = path
        self.rules = AccessRules()
        #: Why the current file cannot be used; None: it is in force.
        self.problem: str | None = None

    # ------------------------------------------------------------------------------ the file

    def load(self) -> None:
        """Read the file at the start. Raises :class:`BadAccessConfig` if it is missing or unusable."""
        try:
            self._data = self._disk.read_whole(self.path)
        except DiskFault as fault:
            raise BadAccessConfig(f"aclEnable is on, but there are no rules: {fault}") from fault
        try:
            self.rules = read_rules(self._data)
        except BadAccessConfig as error:
            raise BadAccessConfig(f"{self.path}: {error}") from error

    def reload(self) -> None:
        """Take over the file if it has changed and can be used."""
        try:
            data = self._disk.read_whole(self.path)
            if data == self._data:
                return
            self._data = data
            self.rules = read_rules(data)
        except (BadAccessConfig, DiskFault) as error:
            if isinstance(error, DiskFault):
                self._data = b""  # when it is back it counts as changed
            if self.problem != str(error):
                logger.error("%s: %s; the old rules stay in force", self.path, error)
            self.problem = str(error)
            return
        self.problem = None
        logger.warning("%s was read again: %d accounts", self.path, len(self.rules.accounts))

    def _save(self, content: Mapping[str, Any]) -> None:
        """Check, write and take over changed rules."""
        parse_rules(content)
        version = DataVersion(self.rules.version.timestamp, self.rules.version.counter)
        version.next(self._clock.now_ms())
        data = write_rules(content, version)
        # The written file is read back: the rules in force are exactly those of the file.
        rules = read_rules(data)
        try:
            self._disk.write_whole(self.path, data)
        except DiskFault as fault:
            raise AccessConfigNotSaved(f"the rules could not be written: {fault}") from fault
        self._data, self.rules, self.problem = data, rules, None

    # ------------------------------------------------------------------------------ changes

    def update_access_config(self, changes: Mapping[str, object]) -> None:
        """Add an account, or change the given fields of one. Raises :class:`BadAccessConfig`, AccessConfigNotSaved."""
        self._refuse_while_file_is_bad()
        accounts = [dict(account) for account in self._accounts()]
        for account in accounts:
            if account.get("accessKey") == changes.get("accessKey"):
                account.update(changes)
                break
        else:
            accounts.append(dict(changes))
        self._save({**self.rules.content, ACCOUNTS: accounts})

    def delete_access_config(self, access_key: str) -> None:
        """Remove an account. Raises :class:`BadAccessConfig` if there is no account with that key."""
        self._refuse_while_file_is_bad()
        if access_key not in self.rules.accounts:
            raise BadAccessConfig(f"there is no account with accessKey {access_key[:80]!r}")
        rest = [dict(account) for account in self._accounts() if account.get("accessKey") != access_key]
        self._save({**self.rules.content, ACCOUNTS: rest})

    def update_global_white_addresses(self, addresses: Sequence[str]) -> None:
        """Replace the white addresses. Raises :class:`BadAccessConfig`."""
        self._refuse_while_file_is_bad()
        self._save({**self.rules.content, WHITE_ADDRESSES: list(addresses)})

    def _accounts(self) -> Sequence[Mapping[str, object]]:
        return self.rules.content.get(ACCOUNTS) or ()

    def _refuse_while_file_is_bad(self) -> None:
        """Refuse changes while the file is invalid: one being edited by hand must not be overwritten with the old
        rules.
        """
        self.reload()
        if self.problem is not None:
            raise BadAccessConfig(f"{self.path} must be corrected first: {self.problem}")

    # ------------------------------------------------------------------------------ checks

    def validate(self, remote_ip: str, request: RemotingCommand) -> None:
        """Raise :class:`AccessDenied` unless ``request`` from ``remote_ip`` may be processed.

        The checks are in RocketMQ's order: global white addresses, the account, its own white address, the signature,
        its permissions.
        """
        rules = self.rules
        if rules.is_white(remote_ip):
            return
        fields = request.ext_fields
        access_key = fields.get(ACCESS_KEY)
        if access_key is None:
            raise AccessDenied("No accessKey is configured")
        account = rules.accounts.get(access_key)
        if account is None:
            raise AccessDenied(f"No acl config for {access_key[:80]}")
        if account.white_remote_address.matches(remote_ip):
            return
        if not is_signed(fields, request.body, account.secret_key):
            raise WrongSignature(f"Check signature failed for accessKey={access_key}")
        needed = needed_permissions(request)
        if needed.get(TRACE_TOPIC) == Permission.PUB:
            return  # every account may write trace records of its messages
        account.check(request.code, needed)
