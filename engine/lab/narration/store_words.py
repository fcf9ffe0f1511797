"""The frames between an application and its stores in words: requests to a database, a Redis, a service.

Single statements are housekeeping, whose effect is shown; a refused one is not.
"""

from __future__ import annotations

from engine.faults.frame_meaning import Ends, MeaningWords
from engine.lab.work.store_frames import StoreRefusalCode, StoreRequestCode, decode_body
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.response_code import ResponseCode
from engine.remoting.errors import RequestRefused
from engine.texts import Text

#: Most words of a Redis command that are shown.
_WORDS_SHOWN = 4
_WORD_MAX = 40


def action_of(command: RemotingCommand) -> str:
    """Return a store request in one word: ``INSERT``, ``SET``, ``lock-stock``; empty if its name says it."""
    try:
        match command.code:
            case StoreRequestCode.SQL_EXECUTE:
                return str(decode_body(command.body)["sql"]).split()[0].upper()
            case StoreRequestCode.REDIS_COMMAND:
                return str(decode_body(command.body)[0]).upper()
            case StoreRequestCode.SERVICE_CALL:
                return str(decode_body(command.body)["operation"])
    except (RequestRefused, LookupError, TypeError):
        pass  # its bytes were changed
    return ""


def refusal_name(code: int) -> str | None:
    """Return ``UNIQUE_VIOLATION`` or another name; None if it is not a refusal of a store."""
    return StoreRefusalCode(code).name if code in tuple(StoreRefusalCode) else None


def store_words(command: RemotingCommand, request: RemotingCommand, ends: Ends) -> MeaningWords | None:
    """Return the words for a request (then ``command`` is ``request``) or its reply; None for housekeeping."""
    if command is not request:
        if command.code == ResponseCode.SUCCESS:
            return None
        why = refusal_name(command.code) or ""
        key = "unique" if command.code == StoreRefusalCode.UNIQUE_VIOLATION else "refuses"
        return MeaningWords(
            Text(f"moment.store.{key}", **ends.said, action=action_of(request) or why, why=command.remark or why)
        )
    match request.code:
        case StoreRequestCode.SQL_COMMIT:
            return MeaningWords(Text("moment.store.commits", **ends.said), kind="transaction")
        case StoreRequestCode.REDIS_COMMAND:
            return MeaningWords(Text("moment.store.redis", **ends.said, action=_command_words(request)))
        case StoreRequestCode.SERVICE_CALL:
            return MeaningWords(Text("moment.store.calls", **ends.said, action=action_of(request)))
    return None


def _command_words(request: RemotingCommand) -> str:
    """Return ``SET order-0 ... NX PX 60000``: without the prefix of keys, and without scripts and values."""
    try:
        words = [str(word) for word in decode_body(request.body)]
    except (RequestRefused, TypeError):
        return ""
    short = [word.rpartition(":")[2] if word.startswith("glassmq:") else word for word in words]
    shown = [word for word in short if len(word) <= _WORD_MAX and not word.startswith("{")]
    return " ".join(shown[:_WORDS_SHOWN])
