"""Reasons in words why a server gives no answer that can be used, in both languages."""

from __future__ import annotations

from app.foundation.translator import in_all_languages
from app.observation.bounds import client_text
from engine.client.foundation.errors import MQBrokerError, MQClientError
from engine.remoting.errors import RemotingConnectFailed, RemotingError, RemotingSendFailed, RemotingTimeout

#: A remark of a broker with access rules names the exception, RocketMQ's with its package.
_ACCESS_REFUSED = "AclException"
_REASONS: tuple[tuple[type[Exception], str], ...] = (
    (RemotingConnectFailed, "not_connected"),
    (RemotingTimeout, "timeout"),
    (RemotingSendFailed, "disconnected"),
)


def why_no_answer(error: Exception) -> dict[str, str]:
    """Return by language why a request failed; what the server or the system said is quoted as it is."""
    if isinstance(error, MQBrokerError):
        reason = "no_access" if _ACCESS_REFUSED in error.remark else "refused"
        return _why(reason, error.remark.strip() or f"code {error.code}")
    while isinstance(error.__cause__, (MQClientError, RemotingError)):
        error = error.__cause__
    return _why(next((reason for kind, reason in _REASONS if isinstance(error, kind)), "unreadable"), str(error))


def _why(reason: str, problem: str) -> dict[str, str]:
    return in_all_languages(f"live.brokers.why_{reason}", problem=client_text(problem))
