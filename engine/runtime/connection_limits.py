"""Bounds of one connection and of one listener, the same live and in the lab."""

from __future__ import annotations

_KIB, _MIB = 1024, 1024 * 1024

#: This much may always wait for the other end; a connection with more unsent is counted (``unsent_budget``).
UNSENT_UNCOUNTED_BYTES = 16 * _KIB

#: The largest share of one connection: with more unsent, an accepted connection's requests wait until its other end has
#: read. There is room for four of the largest bulk reads.
UNSENT_SHARE_MAX_BYTES = 4 * _MIB

#: At this many unsent bytes the peer is disconnected. Requests and their replies never reach it; unrequested frames
#: may.
UNSENT_LIMIT_BYTES = 64 * _MIB

#: The default limit of the unsent bytes of all connections of one listener. There is room for 64 full shares, or a
#: thousand pulls of 256 KiB; it is small enough for a machine with 1 GiB.
UNSENT_ALL_LIMIT_BYTES = 256 * _MIB

#: A connection on which nothing was read or written for this long is closed. RocketMQ's default for both sides:
#: ``serverChannelMaxIdleTimeSeconds`` and ``clientChannelMaxIdleTimeSeconds``, 120 s.
IDLE_TIMEOUT_MS = 120_000

#: The maximum number of open connections of one listener; more are closed when they are accepted.
CONNECTIONS_LIMIT = 10_000

#: The maximum number of bytes that all connections of one listener have received but not handled yet: parts of
#: incomplete frames, and waiting frames. There is room for over a hundred of the largest messages (4 MiB); one
#: connection may have 16 MiB, and there are many.
UNHANDLED_LIMIT_BYTES = 512 * _MIB
