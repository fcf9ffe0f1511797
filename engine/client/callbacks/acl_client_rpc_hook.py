"""The hook that signs a client's requests (RocketMQ: ``AclClientRPCHook``, ``SessionCredentials``)."""

from __future__ import annotations

from dataclasses import dataclass, field

from engine.acl.acl_signer import ACCESS_KEY, SECURITY_TOKEN, SIGNATURE, sign
from engine.client.foundation.errors import IllegalClientArgument
from engine.protocol.command.remoting_command import RemotingCommand


@dataclass(frozen=True, slots=True)
class SessionCredentials:
    """The account of a client; the secret key itself is never sent."""

    access_key: str
    secret_key: str = field(repr=False)
    security_token: str | None = field(default=None, repr=False)


class AclClientRPCHook:
    """A hook called with every request just before it is sent, to brokers and name servers alike, as RocketMQ's."""

    def __init__(self, credentials: SessionCredentials) -> None:
        self._credentials = credentials
        self._secret_key = credentials.secret_key.encode()

    def __call__(self, request: RemotingCommand) -> None:
        """Add the account and the signature to the header."""
        fields = request.ext_fields
        fields[ACCESS_KEY] = self._credentials.access_key
        if self._credentials.security_token is not None:
            fields[SECURITY_TOKEN] = self._credentials.security_token
        fields[SIGNATURE] = sign(fields, request.body, self._secret_key)


def make_rpc_hook(
    access_key: str | None, secret_key: str | None, security_token: str | None
) -> AclClientRPCHook | None:
    """Return the hook for these settings; None without any. Raises :class:`IllegalClientArgument` for half of a
    pair.
    """
    if access_key is None and secret_key is None and security_token is None:
        return None
    if not access_key or not secret_key:
        raise IllegalClientArgument("access_key and secret_key go together: give both or neither")
    return AclClientRPCHook(SessionCredentials(access_key, secret_key, security_token))
