"""How much of the lab one server bears, and how much of a world one view shows. Beyond it a message says so."""

from __future__ import annotations

#: Worlds at a time; the longest unwatched one makes room.
WORLDS_MAX = 30
#: Worlds of one browser.
WORLDS_PER_BROWSER = 8
#: Browsers that watch worlds at the same time.
VIEWERS_MAX = 64
#: A world that nobody watches stops playing after so long, and is freed after so long.
UNWATCHED_PAUSE_S = 15.0
UNWATCHED_CLOSE_S = 600.0
#: Commands of web threads that wait for the host; more are refused.
SUBMISSIONS_MAX = 1_000
#: Characters of a scenario's name, and of a link in a message.
NAME_MAX = 80
LINK_MAX = 3_500
#: Bytes of an imported run.
IMPORT_MAX_BYTES = 60_000

SPEED_MIN = 0.01
SPEED_MAX = 1_000.0

#: Frames per second that a playing world sends at most.
FRAMES_PER_SECOND = 20
#: While a world runs to where somebody wants it: nobody can follow it, and each view costs the run and the page time.
JOB_FRAMES_PER_SECOND = 5
#: Events between two parked copies of a run, and how many copies one run has at most.
PARK_EVERY_EVENTS = 600
PARKED_PER_WORLD = 20
#: Parked copies of all worlds together.
PARKED_MAX = 72
#: Views that a world remembers, so that step back needs no run.
VIEWS_KEPT = 100
#: One view in so many is kept of everything that copies run through, and how many such views.
SPARSE_EVERY_EVENTS = 50
SPARSE_VIEWS_KEPT = 400
#: Events that are viewed one by one before the place that a step back goes to.
BACK_WINDOW_EVENTS = 25

#: Films, and what takes as long, that are under way for one browser, and for all of them together.
JOBS_PER_BROWSER = 2
JOBS_MAX = 8

#: Events after which nobody looks any more where two runs begin to differ.
COMPARED_EVENTS_MAX = 40_000

#: What a view shows.
RECORDS_SHOWN = 40
ENTRIES_SHOWN = 12
HALF_MESSAGES_SHOWN = 24
BANK_ROWS_SHOWN = 12
#: Orders, records, keys and calls that a store shows.
WORK_ROWS_SHOWN = 12
#: Of a partition of Kafka the newest segments, and of each the newest batches.
SEGMENTS_SHOWN = 4
BATCHES_SHOWN = 12
#: Of a peer's log the newest entries.
RAFT_ENTRIES_SHOWN = 24
#: Of the table of a controller of Kafka.
PARTITIONS_SHOWN = 64
#: Of a frame of Kafka the first fields of each level.
TREE_FIELDS_SHOWN = 60
WINDOWS_SHOWN = 40
#: Messages whose lives are shown; of them so many in trouble at most, so that the newest ones find a place.
LIVES_SHOWN = 30
LIVES_TROUBLED_SHOWN = 20
LIFE_MARKS_SHOWN = 80
#: Messages that one search for a key shows.
LIVES_FOUND_MAX = 20
#: Dead letters of one group.
DEAD_LETTERS_SHOWN = 12
MONEY_SERIES_SHOWN = 400
XA_TRANSACTIONS_SHOWN = 12
XA_WAITS_SHOWN = 24
FRAMES_SHOWN = 160
ARRIVED_FRAMES_SHOWN = 40
#: Calls of listeners that a view has, and that a world remembers.
CALLS_SHOWN = 24
CALLS_KEPT = 4_000
TIMERS_SHOWN = 60
ACTORS_SHOWN = 200
JOURNAL_BATCH = 2_000
COMMANDS_SHOWN = 200
VIOLATIONS_SHOWN = 50
TREE_NODES_SHOWN = 256
IN_FLIGHT_SHOWN = 50
ROUTES_SHOWN = 100
#: Files of a page cache, and pages of one.
CACHE_FILES_SHOWN = 12
CACHE_PAGES_SHOWN = 160
