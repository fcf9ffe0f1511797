"""Options for cluster and account, which reading and writing have in common."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from engine.fields.field import Field
from engine.pipeline.source.cluster.errors import wrong_option
from engine.pipeline.source.cluster.option_values import OptionValues, text_options
from engine.runtime.live.blocking_connection import split_address
from engine.runtime.live.live_tls import ClientTls
from engine.runtime.port import ConnectFailed

CLUSTER_OPTIONS: tuple[Field, ...] = (
    *text_options("nameServer", "accessKey", "secretKey", "securityToken", "tlsCa", "tlsCertificate", "tlsKey"),
    Field("useTls", "switch", default=None),
    Field("tlsVerify", "switch", default=True),
    Field("tlsCheckHost", "switch", default=True),
    Field("connectTimeoutMs", "integer", 1, 600_000, default=3_000),
    Field("requestTimeoutMs", "integer", 1, 600_000, default=10_000),
)
_TLS_NAMES = ("tlsCa", "tlsVerify", "tlsCheckHost", "tlsCertificate", "tlsKey")


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """The options of a connection to a cluster. It is sent to the executors.

    :ivar name_servers: ``host:port`` each; the first that answers is used.
    :ivar access_key: the account with ``secret_key``; None if the brokers have no access control.
    :ivar tls: None for plain connections; its files must exist on the executors, too.
    """

    name_servers: tuple[str, ...]
    access_key: str | None = None
    secret_key: str | None = field(default=None, repr=False)
    security_token: str | None = field(default=None, repr=False)
    tls: ClientTls | None = None
    connect_timeout_ms: int = 3_000
    request_timeout_ms: int = 10_000

    @classmethod
    def parse(cls, values: OptionValues) -> ClusterOptions:
        """Parse the options. Raises :class:`~engine.pipeline.source.cluster.errors.RocketMQError`
        (``ROCKETMQ_WRONG_OPTION``).
        """
        values.required("nameServer", "127.0.0.1:9876")
        name_servers = values.words("nameServer", ",;")
        if not name_servers:
            raise wrong_option("nameServer", f"{values.text('nameServer')!r} names no address")
        for address in name_servers:
            try:
                split_address(address)
            except ConnectFailed as error:
                raise wrong_option("nameServer", str(error)) from None
        access_key, secret_key = _pair(values, "accessKey", "secretKey")
        return values.fill(
            cls,
            name_servers=name_servers,
            access_key=access_key,
            secret_key=secret_key,
            security_token=values.text("securityToken"),
            tls=_tls(values),
        )


def _pair(values: OptionValues, *names: str) -> list[str | None]:
    """Return two options of which none or both must be given."""
    pair = [values.text(name) for name in names]
    if pair.count(None) == 1:
        raise wrong_option(names[pair.index(None)], f"{' and '.join(names)} go together: give both or neither")
    return pair


def _tls(values: OptionValues) -> ClientTls | None:
    given = [name for name in _TLS_NAMES if values.text(name) is not None]
    is_wanted = values.read("useTls")
    if given and is_wanted is False:
        raise wrong_option(given[0], "is given, but useTls is false")
    if not given and not is_wanted:
        return None
    certificate, key = _pair(values, "tlsCertificate", "tlsKey")
    ca = values.text("tlsCa")
    return ClientTls(
        ca=Path(ca) if ca else None,
        verify=values.read("tlsVerify"),
        check_host=values.read("tlsCheckHost"),
        certificate=Path(certificate) if certificate else None,
        key=Path(key) if key else None,
    )
