"""Options with which the small commands reach a cluster with access control or TLS.

The options belong to every command that has ``--name-server``. Their values are stored in click's context, from which
the code that connects reads them: a command does not see them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

from app.foundation.option_rules import Together, option_rules
from app.foundation.option_types import pem_file

if TYPE_CHECKING:
    from engine.client.callbacks.acl_client_rpc_hook import AclClientRPCHook
    from engine.runtime.live.live_tls import ClientTls

_F = TypeVar("_F", bound=Callable[..., Any])
_META = "glassmq.cluster_access."


@dataclass(frozen=True, slots=True)
class ClusterAccess:
    """The credentials of a command, and the encryption of its connections."""

    access_key: str | None = None
    secret_key: str | None = None
    tls: ClientTls | None = None

    def credentials(self) -> dict[str, Any]:
        """Return keyword arguments of a client that is given a runtime."""
        return {"access_key": self.access_key, "secret_key": self.secret_key}

    def client_settings(self) -> dict[str, Any]:
        """Return keyword arguments of a client that makes its own runtime."""
        return {**self.credentials(), "tls": self.tls}

    def request_hook(self) -> AclClientRPCHook | None:
        """Return the hook that signs requests; None without keys.

        Raises ``IllegalClientArgument`` for one key without the other.
        """
        from engine.client.callbacks.acl_client_rpc_hook import make_rpc_hook

        return make_rpc_hook(self.access_key, self.secret_key, None)


def cluster_access() -> ClusterAccess:
    """Return the options of the running command; the defaults outside a command."""
    context = click.get_current_context(silent=True)
    given = {} if context is None else {name: context.meta.get(_META + name) for name in _OPTIONS}
    return ClusterAccess(given.get("access_key"), given.get("secret_key"), _tls(given))


def _tls(given: dict[str, Any]) -> ClientTls | None:
    names = ("tls", "tls_ca", "tls_insecure", "tls_cert", "tls_key")
    if not any(given.get(name) for name in names):
        return None
    from engine.runtime.live.live_tls import ClientTls

    return ClientTls(
        ca=given["tls_ca"], verify=not given["tls_insecure"], certificate=given["tls_cert"], key=given["tls_key"]
    )


def access_options(function: _F) -> _F:
    """Add the options to a command."""
    for name, settings in reversed(_OPTIONS.items()):
        option = f"--{name.replace('_', '-')}"
        function = click.option(option, name, expose_value=False, callback=_keep, **settings)(function)
    return option_rules(Together("--tls-cert", "--tls-key"))(function)


def _keep(context: click.Context, parameter: click.Parameter, value: object) -> None:
    context.meta[f"{_META}{parameter.name}"] = value


_OPTIONS: dict[str, dict[str, Any]] = {
    "access_key": {
        "envvar": "GLASSMQ_ACCESS_KEY",
        "help": "Account, if the broker has access rules. Also from GLASSMQ_ACCESS_KEY.",
    },
    "secret_key": {
        "envvar": "GLASSMQ_SECRET_KEY",
        "help": "The account's secret. Prefer GLASSMQ_SECRET_KEY: options are visible to all users of a machine.",
    },
    "tls": {"is_flag": True, "help": "Encrypt connections. The other --tls options do so as well."},
    "tls_ca": {
        "type": pem_file,
        "help": "Trust these issuers' certificates (PEM) instead of those this machine trusts.",
    },
    "tls_insecure": {"is_flag": True, "help": "Trust any server."},
    "tls_cert": {"type": pem_file, "help": "This client's certificate (PEM), if servers require one."},
    "tls_key": {"type": pem_file, "help": "Its private key (PEM)."},
}
