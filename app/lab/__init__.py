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

The view is a :class:`app.picture.world.world.WorldPicture`, and how it is played::

    world        id, published, viewers
    events_total, time_total_us, playing, in_past
    speed        as it was chosen; speed_now: virtual seconds per second at the moment, null while it stands still
    pace         why time passes at this rate at speed "auto": "frame", "listener", "gap", "step" (see slow_to) or ""
    ahead        null, or of a world shown next to another: until_us, rate and why of time that follows the eye
    busy         null, or {kind: "rebuild" | "scrub" | "run-until" | "step-actor", event, target}
    stopped_by   null, or why play stopped: {kind, text {en, zh}}, kind "violation" (then with all of the violation),
                 "breakpoint", "limit", "over" or "failure"
    link         the run as the fragment of an address
    forked_from  the link of the run from which a fork was made, or null

The bytes of a frame: GET /api/lab/<world>/frames/<id>, a :data:`app.picture.frame.FrameDetail`.
"""
