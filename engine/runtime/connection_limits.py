"""Bounds of one connection and of one listener, the same in both worlds."""

from __future__ import annotations

#: Above this many unsent bytes an end stops reading from its peer until the peer has read.
UNSENT_HIGH_WATER_BYTES = 4 * 1024 * 1024

#: At this many unsent bytes the peer is disconnected: it asks but never reads.
UNSENT_LIMIT_BYTES = 64 * 1024 * 1024

#: A connection on which nothing was read or written for so long is closed. RocketMQ's default for both sides:
#: ``serverChannelMaxIdleTimeSeconds`` and ``clientChannelMaxIdleTimeSeconds``, 120 s.
IDLE_TIMEOUT_MS = 120_000

#: How many connections one listener keeps open at once; more are closed when they are accepted.
CONNECTIONS_LIMIT = 10_000

#: All connections of one listener together may have received so many bytes of frames that are not complete yet. Room
#: for over a hundred of the largest messages (4 MiB) at once; one connection may hold 16 MiB, and there are many.
UNFINISHED_LIMIT_BYTES = 512 * 1024 * 1024
