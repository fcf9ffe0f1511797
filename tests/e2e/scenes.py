"""Made-up brokers for work on the page and for its tests: nothing there yet, a small shop, and far too much.

    .venv/bin/python -m tests.e2e.scenes --scene small --http-port 27010

Stream, patches, API and gate are the product's own; only the source of the state is made up. A scene grows with
``advance``: by the clock when it runs as a program, by hand in a test, so that a test knows what it must see.
"""

from __future__ import annotations

import argparse
import copy
import random
import threading
import time
from typing import Any, cast

from app.observation.client_names import ClientNames
from app.observation.record_view import record_summary
from app.picture.live_state import HealthFacts
from app.pipeline.host import PipelineSettings
from app.web.access_rules import PageAccessRules
from app.web.page_listener import PageListener
from app.web.page_socket import bind_page_socket
from app.web_application import PageServer, WebSettings, create_app
from engine.protocol.message.message import MessageExt
from engine.protocol.message.message_codec import encode_stored_message
from tests.support.live.healthy_facts import HEALTHY
from tests.support.live.record_search import RecordSearch

START_MS = 1_795_000_000_000
HISTORY_SECONDS = 600
TAIL_RECORDS = 50
LOG_LINES = 100
#: A subscription to everything, as the page gets it.
SUBSCRIPTION = {"expression": "*", "type": "TAG", "version": 1, "let_through": 0, "kept_back": 0}
SYSTEM_TOPICS = {"TBW102": 8, "SCHEDULE_TOPIC_XXXX": 18, "BenchmarkTest": 16, "broker-a": 1, "DefaultCluster": 16}


class Scene(RecordSearch):
    """A LiveSource over made-up state. ``send`` and ``commit`` change it; ``advance`` does both by itself."""

    def __init__(self, seed: int = 1) -> None:
        self.random = random.Random(seed)
        self.lock = threading.RLock()  # the stream's thread reads while a test writes
        self.now_ms = START_MS
        self.records: dict[int, bytes] = {}
        self.producers: dict[str, list[str]] = {}
        self.rate_per_second: dict[str, float] = {}
        self.consume_share: dict[str, float] = {}
        self.seconds: list[dict[str, int]] = []
        self._owed: dict[str, float] = {}
        self.sent_total = 0
        self._names = ClientNames()
        self.tree: dict[str, Any] = {
            "cluster": {
                "name_server": "127.0.0.1:9876",
                "broker_name": "broker-a",
                "broker_address": "127.0.0.1:10911",
                "cluster_name": "DefaultCluster",
                "version": "0.1.0",
                "started_us": START_MS * 1000,
                "now_us": START_MS * 1000,
                "flush": "async",
                "data_folder": "./data",
            },
            "connections": {},
            "client_names": {},
            "topics": {},
            "groups": {},
            "commit_log": {
                "min": 0,
                "max": 0,
                "flushed": 0,
                "dispatched": 0,
                "files": [],
                "file_count": 0,
                "records": [],
            },
            "locks": {},
            "transactions": None,
            "rates": {},
            "log": [],
        }
        for name, queues in SYSTEM_TOPICS.items():
            self.add_topic(name, queues, kind="system")
        self.note("INFO", "the broker broker-a serves at 127.0.0.1:10911")

    # ----------------------------------------------------------------------------------------- what a test does

    def add_topic(self, name: str, queues: int = 4, kind: str = "normal", stored: int = 0, start: int = 0) -> None:
        lanes = {str(number): {"min": start, "max": start + stored, "committed": {}} for number in range(queues)}
        self.tree["topics"][name] = {
            "kind": kind,
            "perm": 6,
            "read_queues": queues,
            "write_queues": queues,
            "queues": lanes,
        }

    def connect(self, port: int, language: str, *, producer: str | None = None, group: str | None = None) -> str:
        address = f"127.0.0.1:{port}"
        client_id = f"192.168.1.{port % 250}@{port // 3}" + ("#8823" if port % 2 else "")
        version = {"JAVA": 409, "CPP": 63, "PYTHON": 409}.get(language, 253)
        self.tree["connections"][address] = {
            "client_ids": [client_id],
            "language": language,
            "version": version,
            "role": [role for role, name in (("producer", producer), ("consumer", group)) if name],
            "producer_groups": [producer] if producer else [],
            "consumer_groups": [group] if group else [],
            "frames_in": 4,
            "frames_out": 4,
            "unsent_bytes": 0,
        }
        self.name_client(client_id, consumes=group is not None)
        if group:
            self.tree["groups"][group]["members"][client_id] = {
                "address": address,
                "language": language,
                "version": version,
            }
        return client_id

    def name_client(self, client_id: str, *, consumes: bool) -> str:
        name = self.tree["client_names"][client_id] = self._names.of(client_id, consumes=consumes)
        return name

    def add_group(self, group: str, topics: list[str], model: str = "CLUSTERING") -> None:
        self.tree["groups"][group] = {
            "consume_type": "CONSUME_PASSIVELY",
            "message_model": model,
            "consume_from_where": "CONSUME_FROM_LAST_OFFSET",
            "members": {},
            "omitted_members": 0,
            "subscriptions": {topic: dict(SUBSCRIPTION) for topic in topics},
            "assignment": {},
            "lag": 0,
            "held_pulls": {},
        }
        if model == "BROADCASTING":  # the broker leaves out what is stored of it
            self.tree["groups"][group]["lag"] = None
            return
        for topic in topics:
            for queue in self.tree["topics"][topic]["queues"].values():
                queue["committed"][group] = queue["max"]

    def assign(self) -> None:
        """Shares every group's queues among its members, as the averaging strategy does."""
        for group in self.tree["groups"].values():
            members = sorted(group["members"])
            if not members:
                continue
            for topic in group["subscriptions"]:
                ids = sorted(self.tree["topics"][topic]["queues"], key=int)
                group["assignment"][topic] = {
                    queue: members[index * len(members) // len(ids)] for index, queue in enumerate(ids)
                }

    def send(self, topic: str, body: str, queue_id: int, keys: str = "", tags: str | None = "TagA") -> int:
        """Stores one message; returns its commit-log offset."""
        queue, log = self.tree["topics"][topic]["queues"][str(queue_id)], self.tree["commit_log"]
        properties = {"UNIQ_KEY": f"7F0000010001{self.sent_total:020X}", "WAIT": "true", "CLUSTER": "DefaultCluster"}
        if keys:
            properties["KEYS"] = keys
        if tags:
            properties["TAGS"] = tags
        offset = log["max"]
        raw = bytes(
            encode_stored_message(
                MessageExt(
                    topic=topic,
                    body=body.encode(),
                    properties=properties,
                    queue_id=queue_id,
                    queue_offset=queue["max"],
                    commit_log_offset=offset,
                    born_timestamp=self.now_ms - 2,
                    born_host="127.0.0.1:40001",
                    store_timestamp=self.now_ms,
                    store_host="127.0.0.1:10911",
                )
            )
        )
        self.records[offset] = raw
        if len(self.records) > 5000:
            self.records.pop(next(iter(self.records)))
        log["records"] = [*log["records"][1 - TAIL_RECORDS :], record_summary(raw)]
        log["max"] = log["dispatched"] = offset + len(raw)
        log["files"], log["file_count"] = [{"name": f"{0:020d}", "size_bytes": 16 * 2**20}], 1
        queue["max"] += 1
        self.sent_total += 1
        return offset

    def commit(self, group: str, topic: str, queue_id: int, offset: int) -> None:
        self.tree["topics"][topic]["queues"][str(queue_id)]["committed"][group] = offset

    def note(self, level: str, text: str) -> None:
        self.tree["log"] = [
            *self.tree["log"][1 - LOG_LINES :],
            {"at_us": self.now_ms * 1000, "level": level, "text": text},
        ]

    # ------------------------------------------------------------------------------------------- life by itself

    def advance(self, milliseconds: int) -> None:
        """Let ``milliseconds`` pass: producers send at their rate, groups follow at their share."""
        second_before = self.now_ms // 1000
        self.now_ms += milliseconds
        self.tree["cluster"]["now_us"] = self.now_ms * 1000
        stored = 0
        for topic, rate in self.rate_per_second.items():
            owed = self._owed.get(topic, 0.0) + rate * milliseconds / 1000 * self.random.uniform(0.6, 1.4)
            whole = int(owed)
            self._owed[topic] = owed - whole
            stored += whole
            self._send_many(topic, whole)
        delivered = self._consume()
        self._hold_pulls()
        self._move_frames(milliseconds, stored, delivered)
        log = self.tree["commit_log"]
        log["flushed"] = max(log["flushed"], log["max"] - 900) if self.rate_per_second else log["max"]
        if self.now_ms // 1000 != second_before:
            self.note_second(self.now_ms // 1000 - 1)

    def _send_many(self, topic: str, count: int) -> None:
        queues = self.tree["topics"][topic]["queues"]
        visible = min(count, 12)
        for queue in queues.values():  # the mass of a heavy scene is only counted
            queue["max"] += (count - visible) // len(queues)
        for _ in range(visible):
            number = self.sent_total
            body = f"order {number} 订单" + " · item" * self.random.choice((0, 0, 1, 3, 12, 60))
            self.send(topic, body, self.random.randrange(len(queues)), f"order-{number}", "TagA")

    def _consume(self) -> int:
        delivered = 0
        for name, group in self.tree["groups"].items():
            share, lag = self.consume_share.get(name, 1.0), 0
            for topic in group["subscriptions"]:
                for queue in self.tree["topics"][topic]["queues"].values():
                    behind = queue["max"] - queue["committed"].get(name, queue["max"])
                    taken = min(behind, int(behind * share) + (1 if share else 0))
                    queue["committed"][name] = queue["max"] - behind + taken
                    delivered += taken
                    lag += behind - taken
            group["lag"] = lag
        return delivered

    def lease(self, group: str, topic: str, queue_id: int, client_id: str, age_ms: int = 0) -> None:
        """Lease a queue to a client, ``age_ms`` ago."""
        since_us = (self.now_ms - age_ms) * 1000
        entry = {"topic": topic, "queue_id": queue_id, "client_id": client_id, "since_us": since_us, "lease_ms": 60_000}
        self.name_client(client_id, consumes=True)
        self.tree["locks"].setdefault(group, {})[f"{topic}@{queue_id}"] = entry

    def _hold_pulls(self) -> None:
        for group in self.tree["groups"].values():
            for topic, owners in group["assignment"].items():
                for queue, owner in owners.items():
                    key = f"{topic}@{queue}"
                    held = group["held_pulls"].get(key)
                    if held is None or self.now_ms * 1000 - held["since_us"] > 15_000_000:
                        since = self.now_ms - self.random.randrange(15_000) * (held is None)
                        offset = self.tree["topics"][topic]["queues"][queue]["max"]
                        group["held_pulls"][key] = {
                            "topic": topic,
                            "queue_id": int(queue),
                            "offset": offset,
                            "since_us": since * 1000,
                            "timeout_ms": 15_000,
                            "client_id": owner,
                        }

    def _move_frames(self, milliseconds: int, stored: int, delivered: int) -> None:
        connections = self.tree["connections"].values()
        for connection in connections:
            is_producer = "producer" in connection["role"]
            moved = (stored if is_producer else delivered) // max(1, len(connections) // 2)
            connection["frames_in"] += moved
            connection["frames_out"] += moved

    def note_second(self, second: int) -> None:
        wave = self.random.randrange(12)
        total = sum(self.rate_per_second.values())
        into = int(total * self.random.uniform(0.85, 1.1))
        figures = {
            "in_messages": into,
            "out_messages": int(into * self.random.uniform(0.9, 1.15)),
            "in_bytes": 180 * into,
            "out_bytes": 190 * into,
            "put_p50_us": 38 + wave,
            "put_p99_us": 180 + 30 * wave,
            "deliver_p50_ms": 1,
            "deliver_p99_ms": 3 + wave % 5,
            "backlog": sum(group["lag"] for group in self.tree["groups"].values()),
        }
        self.tree["rates"] = {"begin_us": second * 1_000_000, **figures}
        self.seconds = [*self.seconds[1 - HISTORY_SECONDS :], {"second": second, **figures}]

    # ---------------------------------------------------------------------------------------- LiveSource

    def state(self):
        with self.lock:
            tree = {**HEALTHY, **self.tree}
            for part in ("commit_log", "rates"):
                tree[part] = {**cast("dict[str, Any]", HEALTHY)[part], **self.tree[part]}
            self.watcher.look(cast("HealthFacts", tree), self.seconds)
            return {**copy.deepcopy(self.tree), **self.watcher.state_parts()}

    def history(self):
        names = [name for name in self.tree["rates"] if name != "begin_us"]
        columns = {name: [second[name] for second in self.seconds] for name in names}
        return {"begin_us": [second["second"] * 1_000_000 for second in self.seconds], **columns}

    def queue_entries(self, topic: str, queue_id: int, start: int, count: int):
        found = self._matching(lambda one: (one["topic"], one["queue_id"]) == (topic, queue_id), 10_000)
        entries = [(one["offset"], one["size_bytes"], 0) for one in reversed(found) if one["queue_offset"] >= start]
        return entries[:count]


def empty_scene() -> Scene:
    """A broker that has just started: only the system topics."""
    return Scene()


def small_scene(*, lively: bool = True) -> Scene:
    """A shop: orders with three groups (one is slow, one is gone), payments in order, letters that failed."""
    scene = Scene()
    scene.add_topic("orders", 4, stored=1200, start=0)
    scene.add_topic("payments", 4, stored=340)
    scene.add_topic("audit-trail", 2, stored=2_400_000, start=180_000)
    scene.add_topic("%RETRY%billing", 1, kind="retry", stored=3)
    scene.add_topic("%DLQ%billing", 1, kind="dlq", stored=7)
    scene.add_group("billing", ["orders", "%RETRY%billing"])
    scene.add_group("ledger", ["payments"])
    scene.add_group("reports", ["audit-trail"])
    scene.add_group("search-index", ["orders"])
    scene.connect(40002, "JAVA", producer="shop-web")
    scene.connect(40007, "CPP", producer="till")
    scene.connect(40011, "PYTHON", producer="importer")
    scene.connect(41001, "JAVA", group="billing")
    scene.connect(41002, "CPP", group="billing")
    scene.connect(41003, "PYTHON", group="ledger")
    scene.connect(41004, "NODE_JS", group="search-index")
    scene.assign()
    for number, queue in enumerate(scene.tree["topics"]["audit-trail"]["queues"].values()):
        queue["committed"]["reports"] = queue["max"] - (1_150_000 if number else 84_000)
    for number, queue in enumerate(scene.tree["topics"]["orders"]["queues"].values()):
        queue["committed"]["search-index"] = queue["max"] - 9 * number
    scene.tree["topics"]["%DLQ%billing"]["queues"]["0"]["committed"] = {}
    owner = next(iter(scene.tree["groups"]["ledger"]["members"]))
    scene.consume_share = {"billing": 0.9, "ledger": 1.0, "reports": 0.0, "search-index": 0.25}
    scene.note("WARNING", "index file torn at its end: rebuilt from commit log offset 0")
    scene.note("INFO", "client 192.168.1.1@13667#8823 of group billing connected; 2 members, 4 queues shared anew")
    if lively:
        scene.rate_per_second = {"orders": 9, "payments": 4, "audit-trail": 2}
        for _ in range(300):
            scene.advance(1000)
    for number in range(4):
        scene.lease("ledger", "payments", number, owner, age_ms=9_000 * number)
    scene.advance(0)
    return scene


def heavy_scene() -> Scene:
    """Fifty topics of eight queues, 24 producers, eight groups of four members, everything moving."""
    scene = Scene()
    names = [
        f"{area}-{what}"
        for area in ("shop", "bank", "fleet", "meter", "ads")
        for what in ("orders", "events", "audit", "alerts", "mail", "stock", "price", "trace", "login", "scan")
    ]
    for number, name in enumerate(names):
        scene.add_topic(name, 8, stored=10 ** (number % 7), start=0)
        scene.rate_per_second[name] = 40 + 13 * (number % 9)
    languages = ("JAVA", "CPP", "PYTHON", "GO", "NODE_JS")
    for number in range(24):
        scene.connect(42000 + number, languages[number % 5], producer=f"producer-{number}")
    for number in range(8):
        group = f"{('billing', 'search', 'report', 'mail', 'risk', 'index', 'cache', 'archive')[number]}-group"
        scene.add_group(group, names[number::8])
        scene.consume_share[group] = (0.9, 0.5, 0.02, 1.0, 0.3, 0.7, 0.0, 0.9)[number]
        for member in range(4):
            scene.connect(43000 + 10 * number + member, languages[member], group=group)
    scene.assign()
    for _ in range(60):
        scene.advance(1000)
    return scene


SCENES = {"empty": empty_scene, "small": small_scene, "heavy": heavy_scene}


class LivingScene(Scene):
    """A scene that follows the wall clock."""

    def __init__(self, scene: Scene) -> None:
        self.__dict__.update(scene.__dict__)
        self._last = time.monotonic()

    def state(self):
        passed = int((time.monotonic() - self._last) * 1000)
        self._last += passed / 1000
        self.advance(passed)
        return super().state()


def serve_scene(
    scene: Scene, port: int = 0, pipeline: PipelineSettings | None = None
) -> tuple[PageListener, PageServer]:
    """A page server over ``scene`` on ``port`` of loopback (0: any); the caller serves and shuts it down."""
    listening = bind_page_socket("127.0.0.1", port)
    settings = WebSettings(access=PageAccessRules(port=listening.getsockname()[1]), pipeline=pipeline)
    server = create_app(scene, settings)
    return PageListener(listening, server.app), server


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scene", choices=SCENES, default="small")
    parser.add_argument("--http-port", type=int, default=0)
    options = parser.parse_args()
    listener, server = serve_scene(LivingScene(SCENES[options.scene]()), options.http_port)
    server.app.config["TEMPLATES_AUTO_RELOAD"] = True
    server.app.jinja_env.auto_reload = True
    server.stream.start()
    print(f"http://{listener.bound_address}/live", flush=True)
    try:
        listener.serve_forever()
    except KeyboardInterrupt:
        pass
    finally:
        server.stream.stop()


if __name__ == "__main__":
    main()
