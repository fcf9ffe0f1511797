"""Observes the live engine, in the engine's thread, and builds the state that the page shows.

All times are milliseconds since 1970 by the broker's clock; all offsets are numbers; names that a client chose may be
cut. The state::

    cluster      name_server, broker_name, broker_address, cluster_name, version, started_ms,
                 now_ms (to the second), flush ("async" | "sync"), data_folder
    connections  by remote address: client_ids, language, version, role (["producer", "consumer"] or ["admin"]),
                 producer_groups, consumer_groups, opened_ms, last_frame_ms (as seen once a second),
                 frames_in, frames_out, bytes_in, bytes_out, unsent_bytes
    topics       by name: kind ("normal" | "retry" | "dlq" | "system"), age (how many were there before it),
                 perm, read_queues, write_queues, omitted_queues, queues by id: min, max, last_store_ms,
                 committed (group -> offset)
    groups       by name: age (likewise), consume_type, message_model, consume_from_where (null while no member is
                 online; that a group broadcasts is remembered), members (client id -> address, language, version,
                 last_heartbeat_ms), omitted_members, subscriptions (topic -> expression, type, version, let_through,
                 kept_back), assignment (topic -> queue id -> client id that pulled last), lag (null: it broadcasts),
                 held_pulls ("topic@queue id" -> offset, since_ms, timeout_ms, client_id)
    commit_log   min_offset, max_offset, flushed_offset, dispatched_offset, file_count,
                 files (the last ones: name, size, start), tail (records, newest last),
                 damage (messages that are not sent: count, is_full, the last places; and check: the walk through
                 old files)
    locks        by group: "topic@queue id" -> client_id, since_ms, age_ms, lease_ms
    transactions null, or half and op messages: see app.observation.transactions_view
    delay_levels null, or the levels that were used: see app.observation.delay_levels_view
    numbers      null, or what became of the numbers that producers gave: see app.observation.stored_numbers
    replication  null, or the copies of the log: see app.observation.replication_view
    rates        the last full second: second, in_messages, out_messages, in_bytes, out_bytes,
                 put_p50_us, put_p99_us, deliver_p50_ms, deliver_p99_ms; and backlog: the lag of all groups shown
    log          the last lines: ms, level, part, text
    verdict      what is not well, in words: see app.watch.verdict; the host adds it
    backlogs     what becomes of them: group -> topic ("": all) -> kind ("growing", "gone", ...), left_ms; likewise
    omitted      how many topics, groups, connections, offset_pairs are not shown

What members of a group hold is not part of it: they are asked only while a page views them
(``app.live.client_answers``).

A record of the tail, and of a search: see ``app.observation.record_view.message_summary``.
"""
