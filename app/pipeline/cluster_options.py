"""The options of ``format("rocketmq")`` that name the cluster and the credentials of a job."""

from __future__ import annotations

from app.remote.cluster_access import ClusterAccess


def cluster_options(name_servers: tuple[str, ...], access: ClusterAccess) -> dict[str, str]:
    """Return the options; only those that are needed."""
    options = {"nameServer": ";".join(name_servers)}
    if access.access_key is not None:
        options["accessKey"] = access.access_key
    if access.secret_key is not None:
        options["secretKey"] = access.secret_key
    if (tls := access.tls) is not None:
        options["useTls"] = "true"
        options["tlsVerify"] = str(tls.verify).lower()
        options["tlsCheckHost"] = str(tls.check_host).lower()
        for name, path in (("tlsCa", tls.ca), ("tlsCertificate", tls.certificate), ("tlsKey", tls.key)):
            if path is not None:
                options[name] = str(path)
    return options
