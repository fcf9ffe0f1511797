"""Which modules ``make fast`` compiles: what every message goes through.

The rule: of protocol, remoting, store and broker what a send, a pull, an offset or a transaction needs. What runs at
the start, once a second or once an hour stays as it is, and so do lab, page, client and pipeline. So does what waits: a
coroutine shows the line where it waits only when it is interpreted, and the lab's Source panel lives on that. Only
``flush`` of files and queues is compiled, where what is shown is the line that calls it, and what the lab never runs
(``runtime/live``). Further, what tests or users derive classes from stays interpreted.

Written for both forms: constants that are ``Final`` cost nothing when compiled, others a look into a dict; an
``__init__`` that ``dataclass`` makes stays interpreted, so what is made for every message has its own; and compiled, a
slice of bytes that ends before it starts raises ``SystemError``.
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

#: All of them, as Python names them.
COMPILED_MODULES: tuple[str, ...] = tuple(
    f"engine.{folder.replace('/', '.')}.{module}" for folder, modules in _BY_FOLDER.items() for module in modules
)
