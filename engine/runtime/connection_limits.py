"""Bounds of one connection and of one listener, the same in both worlds."""

from __future__ import annotations

_KIB, _MIB = 1024, 1024 * 1024

#: So little may always wait for the other end; whoever has more unsent is counted, see ``unsent_budget``.
UNSENT_UNCOUNTED_BYTES = 16 * _KIB

#: The largest share of one connection: with more unsent, an accepted connection's requests wait until its other end has
#: read. Room for four of the largest bulk reads.
UNSENT_SHARE_MAX_BYTES = 4 * _MIB

#: At this many unsent bytes the peer is disconnected. Requests and their replies never get there; what a node sends
#: unasked may.
UNSENT_LIMIT_BYTES = 64 * _MIB

#: All connections of one listener together may have so much unsent, unless it is told otherwise. Room for 64 full
#: shares, or a thousand pulls of 256 KiB; small enough that a machine with 1 GiB bears it.
UNSENT_ALL_LIMIT_BYTES = 256 * _MIB

#: A connection on which nothing was read or written for so long is closed. RocketMQ's default for both sides:
#: ``serverChannelMaxIdleTimeSeconds`` and ``clientChannelMaxIdleTimeSeconds``, 120 s.
IDLE_TIMEOUT_MS = 120_000

#: How many connections one listener keeps open at once; more are closed when they are accepted.
CONNECTIONS_LIMIT = 10_000

#: All connections of one listener together may have received so many bytes that are not handled yet: parts of frames
#: that are not complete, and frames that wait for their turn. Room for over a hundred of the largest messages (4 MiB)
#: at once; one connection may hold 16 MiB, and there are many.
UNHANDLED_LIMIT_BYTES = 512 * _MIB
