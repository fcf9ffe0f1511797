"""A record store in Redis: each record is a key whose TTL is the expiry.

::

    SET   glassmq:idempotence:{scope}:{business key}  {JSON}  NX PX 600000      take: of two, one gets OK
    EVAL  "if the value is still mine ..."                                      complete, release: compare and set
    SET   ...  NX PX {retention}                                                complete, when the TTL has taken it away

The value has to be compared and changed in one step. Otherwise a late finisher could overwrite what a newer owner has
written between its GET and its SET. Redis runs a script as one command.

Data that Redis loses (a failover to a replica that lagged, an eviction, a restart without a file) lets duplicates
through.
"""

from __future__ import annotations

import json
from typing import Any

from engine.idempotence.foundation.errors import SchemaOutdated
from engine.idempotence.foundation.record import Claim, IdempotenceRecord, RecordKey, RecordState, Taking
from engine.idempotence.foundation.redis_port import RedisCommands
from engine.idempotence.stores.sql_record_store import judge
from engine.runtime.step import step

PREFIX = "glassmq:idempotence:"
#: How often a change is retried when the value changes in between.
CHANGE_TRIES = 3
#: Keys per SCAN.
_SCAN_COUNT = 500

#: KEYS[1]; ARGV: the old value, the new value, its TTL in ms. Returns 1, or 0 if nothing was changed.
COMPARE_AND_SET = (
    "if redis.call('GET', KEYS[1]) == ARGV[1] then "
    "redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3]) return 1 else return 0 end"
)
#: KEYS[1]; ARGV: the old value. Returns 1, or 0 if nothing was changed.
COMPARE_AND_DELETE = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) else return 0 end"


class RedisRecordStore:
    """A :class:`~engine.idempotence.foundation.record_store.RecordStore` in Redis."""

    def __init__(self, redis: RedisCommands) -> None:
        self._redis = redis

    async def prepare(self) -> None:
        """Check that Redis answers; there are no tables to create."""
        await self._redis.execute_command("PING")

    async def take(self, claim: Claim) -> Taking:
        """Take the record; never returns ``TAKEN_OVER``, because expired records are gone."""
        name, value = name_of(claim.key), _value(claim, RecordState.CONSUMING)
        for _ in range(CHANGE_TRIES):
            await step("sets the record")
            if await self._redis.execute_command("SET", name, value, "NX", "PX", claim.expiry_ms) is not None:
                return Taking.FIRST
            await step("looks at the record")
            record = await self.find(claim.key, claim.now_ms)
            if record is not None:
                # Only Redis decides what has expired: the record is gone then.
                return judge(record._replace(expires_ms=claim.now_ms + 1), claim)
        return Taking.BUSY

    async def complete(self, key: RecordKey, owner: str | None, now_ms: int, retention_ms: int) -> bool:
        for _ in range(CHANGE_TRIES):
            found = await self._found(key)
            if found is not None and owner not in (None, found[1]["owner"]):
                return False
            words: tuple[object, ...]
            if found is None:
                # Its time to live was shorter than the work, and no other attempt is in progress.
                done = _value(Claim(key, owner or "", "", "", now_ms, retention_ms), RecordState.CONSUMED)
                words = ("SET", name_of(key), done, "NX", "PX", retention_ms)
            else:
                before, fields = found
                after = json.dumps(fields | {"state": RecordState.CONSUMED.value})
                words = ("EVAL", COMPARE_AND_SET, 1, name_of(key), before, after, retention_ms)
            await step("marks the record consumed")
            if await self._redis.execute_command(*words) not in (None, 0):
                return True
        return False

    async def release(self, key: RecordKey, owner: str | None) -> bool:
        for _ in range(CHANGE_TRIES):
            found = await self._found(key)
            if found is None or found[1]["state"] == RecordState.CONSUMED.value:
                return False
            if owner is not None and found[1]["owner"] != owner:
                return False
            await step("deletes the record")
            words = ("EVAL", COMPARE_AND_DELETE, 1, name_of(key), found[0])
            if int(await self._redis.execute_command(*words)):
                return True
        return False

    async def find(self, key: RecordKey, now_ms: int) -> IdempotenceRecord | None:
        found = await self._found(key)
        if found is None:
            return None
        remaining_ms = int(await self._redis.execute_command("PTTL", name_of(key)))
        return _record(key, found[1], now_ms + max(0, remaining_ms))

    async def newest(self, scope: str | None, limit: int) -> list[IdempotenceRecord]:
        """Return the newest records, scanning all keys of the scope; ``expires_ms`` is relative to now."""
        pattern = f"{PREFIX}{'*' if scope is None else _escaped(_scope(scope))}:*"
        records: dict[RecordKey, IdempotenceRecord] = {}
        cursor = "0"
        while True:
            answer = await self._redis.execute_command("SCAN", cursor, "MATCH", pattern, "COUNT", _SCAN_COUNT)
            cursor, names = _text(answer[0]), answer[1]
            for name in names:
                key = key_in(_text(name))
                record = await self.find(key, 0)
                if record is not None:
                    records[key] = record  # a SCAN may return a key twice
            if cursor == "0":
                return sorted(records.values(), key=lambda record: (-record.taken_ms, record.key))[:limit]

    async def purge(self, now_ms: int) -> int:
        """Do nothing: Redis deletes expired records itself."""
        return 0

    async def free(self, key: RecordKey) -> bool:
        return bool(int(await self._redis.execute_command("DEL", name_of(key))))

    async def _found(self, key: RecordKey) -> tuple[str, dict[str, Any]] | None:
        value = await self._redis.execute_command("GET", name_of(key))
        if value is None:
            return None
        text = _text(value)
        try:
            fields = json.loads(text)
            _record(key, fields, 0)
        except (ValueError, KeyError, TypeError):
            foreign = f"the value of {name_of(key)} is not a record of this version"
            raise SchemaOutdated(f"{foreign}: delete it, or name another database of Redis") from None
        return text, fields


def record_in(name: str, value: str, expires_ms: int) -> IdempotenceRecord | None:
    """Return the record under the key ``name`` of Redis; None if the value is not a record."""
    if not name.startswith(PREFIX):
        return None
    return _record(key_in(name), json.loads(value), expires_ms)


def _scope(scope: str) -> str:
    """Return the scope without the character that ends it in a name."""
    return scope.replace("%", "%25").replace(":", "%3A")


def name_of(key: RecordKey) -> str:
    """Return the key of Redis for the record of ``key``."""
    return f"{PREFIX}{_scope(key.scope)}:{key.business_key}"


def key_in(name: str) -> RecordKey:
    """Return the record's key for the key ``name`` of Redis."""
    scope, _, business_key = name.removeprefix(PREFIX).partition(":")
    return RecordKey(scope.replace("%3A", ":").replace("%25", "%"), business_key)


def _escaped(text: str) -> str:
    """Escape a text for Redis' patterns."""
    return "".join(f"\\{letter}" if letter in r"*?[]^-\\" else letter for letter in text)


def _text(value: object) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _value(claim: Claim, state: RecordState) -> str:
    fields = {
        "state": state.value,
        "owner": claim.owner,
        "digest": claim.digest,
        "message_id": claim.message_id,
        "taken_ms": claim.now_ms,
    }
    return json.dumps(fields)


def _record(key: RecordKey, fields: dict[str, Any], expires_ms: int) -> IdempotenceRecord:
    return IdempotenceRecord(
        key,
        RecordState(fields["state"]),
        fields["owner"],
        fields["digest"],
        fields["message_id"],
        int(fields["taken_ms"]),
        expires_ms,
    )
