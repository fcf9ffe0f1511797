"""Bounds on what the page shows of the engine. What is left out is counted, and the count is shown.

The numbers bound the time of one sample (a few milliseconds in the engine's thread) and the size of a snapshot.
"""

from __future__ import annotations

CONNECTIONS_MAX = 200
TOPICS_MAX = 200
#: Topics that a search by name returns.
TOPICS_FOUND_MAX = 50
QUEUES_PER_TOPIC_MAX = 64
#: Queues over all topics.
QUEUES_MAX = 1_600
GROUPS_MAX = 200
MEMBERS_PER_GROUP_MAX = 100
SUBSCRIPTIONS_PER_GROUP_MAX = 100
#: Pairs of topic and group whose committed offsets are read.
OFFSET_PAIRS_MAX = 2_000
HELD_PULLS_MAX = 500
LOCKS_MAX = 500
#: Half messages.
HALF_MESSAGES_MAX = 50
#: Messages of TRANS_CHECK_MAX_TIME_TOPIC.
GIVEN_UP_MAX = 20
#: Records of the commit log's tail.
TAIL_RECORDS_MAX = 50
#: Characters of a text that a client chose (client ids, expressions).
CLIENT_TEXT_MAX = 200


def client_text(text: str) -> str:
    """Return ``text`` that came from a client, cut to a length that a page can show."""
    return text if len(text) <= CLIENT_TEXT_MAX else text[:CLIENT_TEXT_MAX] + "…"
