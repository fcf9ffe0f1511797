"""Lab worlds in the browser: owners, pace, past states, and the view that the page draws.

Socket.IO namespace ``/lab``. A browser sends::

    open         {scenario?, seed?, link?, world?, fresh?, exact?, asks?}   join a world, making it where needed: the
                 browser's own world of that scenario, or one rebuilt from a link, or (world) one that its owner has
                 published; asks: a run of the scenario that has begun is not joined but reported (found)
    control      {action, ...}:
                 pause | step | step-back | restart | fork
                 step-actor {actor}          the next event of that actor, and all before it
                 run-until {on, node?, contains?, time_us?}   see engine.lab.scenario.condition
                 play {slow_to?}             the last events before event slow_to come one by one
                 scrub {event}               look at the world as it was after that event
                 stand-at {time_us}          look at the world as it was then, or let it run there: what play may not
                                             pass (a violation, a breakpoint) does not stop it
                 speed {speed}               virtual seconds per second, 0.01 to 1000, or "auto": as the eye can follow
                 publish {on}                others may follow, read-only
    command      {kind, target, ...}         see engine.lab.scenario.command; in the past it forks
    acknowledge  {sequence}
    resync       {}

and gets::

    snapshot     {sequence, world, mine, view}
    patch        {sequence, operations}                      see app.foundation.patch; leads from view to view
    journal      {from, entries: [[number, time_us, actor, label, cause], ...]}   the newest entries; what the page has
                 after number ``from`` is replaced. There may be a gap: see app.lab.session.journal_pages
    found        {event, age_s}          the browser's run of the scenario, and how many seconds ago it was made: open
                 without asks joins it, open with fresh begins another
    refused      {reason, en, zh}
    goodbye      {reason}

A view of the past is read-only: play and commands there begin a new future from that event (a fork; the link of the old
run stays in ``forked_from``), step goes forward through what was recorded.

The view (times are virtual microseconds, offsets are numbers, ``null`` is "not there")::

    world        id, published, viewers
    scenario     its name; title, summary, about, suggestion {en, zh}; duration_us, seed; focus, parts of the stage;
                 try_buttons [{label {en, zh}, command, run_until, search}]: buttons that do what the suggestion says
    event, events_total, time_us, time_total_us, playing, in_past, is_over
    speed        as it was chosen; speed_now: virtual seconds per second at the moment, null while it stands still
    pace         why time passes at this rate at speed "auto": "frame", "listener", "gap", "step" (see slow_to) or ""
    ahead        null, or of a world shown next to another: until_us, rate and why of time that follows the eye
    busy         null, or {kind: "rebuild" | "scrub" | "run-until" | "step-actor", event, target}
    stopped_by   null, or why play stopped: {kind, text {en, zh}}, kind "violation" (then with all of the violation),
                 "breakpoint", "limit", "over" or "failure"
    nodes        by name, see app.lab.views.broker_view and app.lab.views.client_view; all have role, status, has_run,
                 is_starting, incarnation, skew_ms, held (names of held tasks), failure, ip, xa_roles, page_cache
                 (app.lab.views.page_cache_view); a name server: brokers, routes; for xa_roles see
                 app.lab.views.money.xa_view, for the nodes of a two-phase commit
                 app.lab.views.money.xa_nodes_view, for databases, Redis and services app.lab.views.work_view
    backlog      null, or the lag of each group over time: see app.lab.views.backlog_view
    life         what happened to each message: see app.lab.views.life_view
    money        null, or what has moved between the banks: see app.lab.views.money.bank_view
    xa           null, or the two-phase commits of the world over time: see app.lab.views.money.xa_view
    frames       in flight, and the last that arrived: id, source, target, kind, code, name, action, oneway, reply_to,
                 size, sent_us, arrives_us, dropped, lost_share (how far it came: 0 to 1), copies; the bytes: GET
                 /api/lab/<world>/frames/<id>
    calls        the last calls of listeners, see app.lab.views.calls_view
    timers       node, actor, label, started_us, due_us, index (of its actor's due then); the next first
    actors       name, node, label, held_until_us, steps
    next         actor, node, label, file, line, function; or null
    caption      what has just happened, in a sentence, or null: event (after which it is true), text {en, zh}, kind,
                 weight (0 to 3: what is heavier stays longer), keys (of messages in it): engine.lab.narration.narrator
    invariants   name, title, why, anomaly, ok, violations
    faults       what is broken now: kind, target, text {en, zh}, event
    commands     what was done: event, time_us, kind, target, and the fields of the kind
    settings     node, name, value, unit
    failures     exceptions that no engine code caught: event, actor, text
    link         the run as the fragment of an address
    forked_from  the link of the run from which a fork was made, or null
"""
