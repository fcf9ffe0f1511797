"""The live broker and its name server."""

from __future__ import annotations

from typing import TypedDict


class Now(TypedDict):
    """The time of a picture."""

    #: To the second: a finer time would make every picture a new one.
    now_us: int


class Cluster(Now):
    """Names, addresses and settings of the live broker."""

    name_server: str
    broker_name: str
    broker_address: str
    cluster_name: str
    #: Version of GlassMQ.
    version: str
    started_us: int
    #: "async" or "sync".
    flush: str
    data_folder: str
