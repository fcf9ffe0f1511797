"""Modules that ``make fast`` compiles: those on the path of every message.

The rule: from protocol, remoting, store and broker, everything that a send, a pull, an offset or a transaction needs.
Code that runs at the start, once a second or once an hour stays interpreted, and so do lab, page, client and pipeline.
So does code that waits: a coroutine shows the line where it waits only when it is interpreted, and the lab's Source
panel depends on that. Only ``flush`` of files and queues is compiled, where the panel shows the line that calls it, and
``runtime/live``, which the lab never runs. Classes from which tests or users derive also stay interpreted.

Code for both forms: constants that are ``Final`` cost nothing when compiled, others a dict lookup; an ``__init__`` made
by ``dataclass`` stays interpreted, so classes that are created for every message have their own; and in compiled code,
a slice of bytes that ends before it starts raises ``SystemError``.
"""

from __future__ import annotations

#: Folder of ``engine`` -> the modules in it.
_BY_FOLDER = {
    "protocol": (
        "enums",
        "java_hash",
        "java_text",
        "java_trim",
        "names",
        "permission",
        "request_code",
        "response_code",
        "system_flags",
    ),
    "protocol/command": ("field_codec", "remoting_command", "send_header_reader"),
    "protocol/json_form": ("json_fields", "properties_text"),
    "protocol/message": (
        "addresses",
        "batch_codec",
        "compression",
        "message_codec",
        "message_copies",
        "message_id",
        "message_properties",
        "record_layout",
        "record_writer",
    ),
    "remoting": ("channel",),
    "runtime": ("frame_splitter", "unsent_budget"),
    "runtime/live": ("live_append_file", "live_connection", "live_disk_file", "live_flushed_file"),
    "store/files": ("consume_queue_entry", "mapped_file", "mapped_file_queue", "mapping_pool", "running_flags"),
    "store/log": (
        "block_sums",
        "commit_log",
        "damaged_records",
        "put_message_result",
        "record_check",
        "store_batch",
        "store_message",
        "stored_record",
    ),
    "store/queues": (
        "consume_queue",
        "consume_queue_ext",
        "consume_queue_table",
        "dispatch_request",
        "index_file",
        "index_key",
        "index_service",
    ),
    "store/reading": ("entry_reader", "get_message_result", "message_collector", "message_filter"),
    "store/services": ("message_dispatcher",),
    "broker/delivery": (
        "batch_members",
        "message_again",
        "pull_message_checks",
        "send_message_checks",
        "send_rate_limit",
    ),
    "broker/foundation": ("broker_stats_manager", "token_bucket"),
    "broker/processors": (
        "access_guard",
        "consumer_manage_processor",
        "pull_message_processor",
        "send_message_processor",
    ),
    "broker/tables": ("client_channel_info",),
    "broker/transactions": ("end_transaction_processor", "half_message"),
}

#: All of them, as dotted module names.
COMPILED_MODULES: tuple[str, ...] = tuple(
    f"engine.{folder.replace('/', '.')}.{module}" for folder, modules in _BY_FOLDER.items() for module in modules
)
