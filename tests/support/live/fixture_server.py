"""The real page server over made-up, growing state: for work on the page without a broker.

    .venv/bin/python -m tests.support.live.fixture_server --http-port 26010 [--messages-per-second 5]

Stream, patches, API and gate are the product's own; only the source is not: it starts from
``fixture_state.json`` and lets offsets, rates and the log's tail grow with the clock.
"""

from __future__ import annotations

import argparse
import copy
import json
import struct
import time
from pathlib import Path

from app.observation.record_view import record_summary
from app.web.access_rules import PageAccessRules
from app.web.page_listener import PageListener
from app.web.page_socket import bind_page_socket
from app.web_application import PageServer, WebSettings, create_app
from engine.protocol.message.message import MessageExt
from engine.protocol.message.message_codec import encode_stored_message
from engine.protocol.message.record_layout import MESSAGE_MAGIC
from tests.support.live.record_search import RecordSearch

SUPPORT = Path(__file__).parent.parent
GOLDEN_LOG = SUPPORT.parent / "golden" / "commitlog.head16k.bin"
HISTORY_SECONDS = 120


def read_golden_records() -> dict[int, bytes]:
    """Records of the captured commit log by offset."""
    log = GOLDEN_LOG.read_bytes()
    records: dict[int, bytes] = {}
    position = 0
    while position + 8 <= len(log):
        size, magic = struct.unpack_from(">ii", log, position)
        if magic != MESSAGE_MAGIC or position + size > len(log):
            break
        records[position] = log[position : position + size]
        position += size
    return records


class FixtureSource(RecordSearch):
    """A LiveSource whose topic GT grows by ``messages_per_second``; its consumer gc1 lags a little."""

    def __init__(self, messages_per_second: float, clock=time.time) -> None:
        self.rate = messages_per_second
        self.clock = clock
        self.started = clock()
        self.tree = json.loads((SUPPORT / "live" / "fixture_state.json").read_text(encoding="utf-8"))
        for section in ("topics", "groups"):
            for age, view in enumerate(self.tree[section].values()):
                view["age"] = age
        self.records = read_golden_records()
        self.sent = 0
        self.noted_second = -1

    def state(self):
        self._grow()
        return {**copy.deepcopy(self.tree), **self.watcher.state_parts()}

    def _grow(self) -> None:
        now = self.clock()
        while self.sent < int((now - self.started) * self.rate):
            self._send_one(int(now * 1000))
        cluster = self.tree["cluster"]
        cluster["now_us"] = int(now) * 1_000_000
        cluster["started_us"] = int(self.started * 1_000_000)
        second = int(now) - 1
        if second != self.noted_second:
            self.noted_second = second
            self.tree["rates"].update(begin_us=second * 1_000_000, **self._rates(second))

    def _send_one(self, now_ms: int) -> None:
        number, queue_id = self.sent, self.sent % 4
        self.sent += 1
        queue = self.tree["topics"]["GT"]["queues"][str(queue_id)]
        commit_log = self.tree["commit_log"]
        raw = encode_stored_message(
            MessageExt(
                topic="GT",
                body=f"message {number} 第 {number} 条".encode(),
                properties={"TAGS": "TagA", "KEYS": f"order-{number}", "UNIQ_KEY": f"{number:032X}"},
                queue_id=queue_id,
                queue_offset=queue["max"],
                commit_log_offset=commit_log["max"],
                born_timestamp=now_ms,
                born_host="127.0.0.1:40001",
                store_timestamp=now_ms,
                store_host="127.0.0.1:10911",
            )
        )
        self.records[commit_log["max"]] = raw
        commit_log["records"] = [*commit_log["records"][-49:], record_summary(raw)]
        commit_log["max"] += len(raw)
        commit_log["flushed"] = commit_log["max"] - 800
        commit_log["dispatched"] = commit_log["max"]
        queue["max"] += 1
        queue["committed"]["gc1"] = max(queue["committed"]["gc1"], queue["max"] - 2)

    def _rates(self, second: int) -> dict[str, int]:
        wave = second % 30
        count = int(self.rate) + wave
        return {
            "in_messages": count,
            "out_messages": max(0, count - wave % 3),
            "in_bytes": 200 * count,
            "out_bytes": 190 * count,
            "pulls_found": count // 2,
            "pulls_missed": wave,
            "put_p50_us": 40 + wave,
            "put_p99_us": 200 + 9 * wave,
            "deliver_p50_ms": 1,
            "deliver_p99_ms": 2 + wave % 5,
            "backlog": 4 * wave,
        }

    def history(self):
        last = int(self.clock()) - 1
        seconds = list(range(last - HISTORY_SECONDS + 1, last + 1))
        rows = [self._rates(second) for second in seconds]
        columns = {name: [row[name] for row in rows] for name in rows[0]}
        return {"begin_us": [second * 1_000_000 for second in seconds], **columns}

    def queue_entries(self, topic: str, queue_id: int, start: int, count: int):
        if str(queue_id) not in self.tree["topics"].get(topic, {"queues": {}})["queues"]:
            return None
        found = self._matching(lambda one: (one["topic"], one["queue_id"]) == (topic, queue_id), 10_000)
        return [(one["offset"], one["size_bytes"], 0) for one in reversed(found)][start : start + count]


def create_fixture_server(
    messages_per_second: float, port: int, token: str | None = None
) -> tuple[PageListener, PageServer, FixtureSource]:
    """A page server that listens on ``port`` (0: any) of loopback; the caller serves and shuts it down."""
    listening = bind_page_socket("127.0.0.1", port)
    bound_port = listening.getsockname()[1]
    source = FixtureSource(messages_per_second)
    server = create_app(source, WebSettings(access=PageAccessRules(port=bound_port, token=token)))
    return PageListener(listening, server.app), server, source


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--http-port", type=int, default=0)
    parser.add_argument("--messages-per-second", type=float, default=5)
    options = parser.parse_args()
    listener, server, _ = create_fixture_server(options.messages_per_second, options.http_port)
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
