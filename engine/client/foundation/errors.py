"""Errors for users of a client (RocketMQ: ``MQClientException``, ``MQBrokerException``).

Every error says in :attr:`MQClientError.outcome_is_known` whether the operation certainly did not happen (True), or
whether that is unknown (False): after a timeout the message of a send may be stored, and sending it again may store it
twice.
"""

from __future__ import annotations

from engine.protocol.response_code import ResponseCode, outcome_is_known


class MQClientError(Exception):
    """Base of all errors that a client raises. The text names what was wrong and what is allowed."""

    #: True: the operation had no effect. False: it may have had one.
    outcome_is_known: bool = True


class ClientNotRunning(MQClientError):
    """The client is not started yet, or is already shut down. Operations in progress then may have taken effect."""

    def __init__(self, text: str, *, outcome_is_known: bool = True) -> None:
        super().__init__(text)
        self.outcome_is_known = outcome_is_known


class IllegalClientArgument(MQClientError, ValueError):
    """A setting or an argument is not allowed. Nothing was sent."""


class DuplicateClient(MQClientError):
    """A client with the same group and the same client id already runs in this process."""


class NoRoute(MQClientError):
    """The name servers know no broker that serves the topic."""


class OrderTopicConfUnusable(MQClientError):
    """The ORDER_TOPIC_CONFIG of a topic at the name servers does not define its queues."""

    def __init__(self, topic: str, configuration: str, why: str) -> None:
        super().__init__(
            f"ORDER_TOPIC_CONFIG of topic {topic!r} at the name server, {configuration!r:.200}, cannot be used: {why}; "
            "it is written broker-a:4;broker-b:4"
        )


class NameServerUnreachable(MQClientError):
    """None of the name servers answered."""


class NoBroker(MQClientError):
    """No address is known for the broker."""


class TooManyPendingSends(MQClientError):
    """More asynchronous sends wait than the producer keeps; this one was refused."""


class TooManyPendingRequests(MQClientError):
    """More requests wait for their replies than the producer keeps; this one was refused."""


class RequestTimedOut(MQClientError):
    """The request was sent, but no reply came in time (RocketMQ: ``RequestTimeoutException``).

    It is unknown whether it was processed, and the reply may still arrive; then it is discarded.
    """

    outcome_is_known = False


class RequestFailed(MQClientError):
    """A request got no reply: the connection could not be made, was lost, or the timeout expired."""

    def __init__(self, text: str, *, outcome_is_known: bool) -> None:
        super().__init__(text)
        self.outcome_is_known = outcome_is_known


class MQBrokerError(MQClientError):
    """A broker or name server refused a request (RocketMQ: ``MQBrokerException``).

    :ivar code: the response code, a :class:`ResponseCode` where it is one of RocketMQ 4.9's.
    :ivar remark: the server's explanation, or an empty string.
    :ivar address: ``"ip:port"`` of the server.
    """

    def __init__(self, code: int, remark: str | None, address: str, what: str) -> None:
        self.code = code
        self.remark = remark or ""
        self.address = address
        try:
            name = ResponseCode(code).name
        except ValueError:
            name = "unknown code"
        reason = self.remark.strip() or "it gave no reason"
        super().__init__(f"{address} refused to {what}: {reason} (code {code}, {name})")
        self.outcome_is_known = outcome_is_known(code)


class OffsetNotFound(MQBrokerError):
    """The broker has no offset of the group for the queue (code 22): the group reads it for the first time."""


class SendFailed(MQClientError):
    """A send was tried the maximum number of times and never succeeded.

    :ivar attempts: the broker's name and the error of each attempt.
    """

    def __init__(self, text: str, attempts: tuple[tuple[str, MQClientError], ...]) -> None:
        super().__init__(text)
        self.attempts = attempts
        self.outcome_is_known = all(error.outcome_is_known for _, error in attempts)
