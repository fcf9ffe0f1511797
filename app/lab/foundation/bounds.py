"""The limits of one server's lab worlds, and of what one view shows. A message says when a limit is reached."""

from __future__ import annotations

#: Worlds at a time; the one that has been unwatched longest makes room.
WORLDS_MAX = 30
#: Worlds of one browser.
WORLDS_PER_BROWSER = 8
#: Browsers that watch worlds at the same time.
VIEWERS_MAX = 64
#: A world without viewers stands still; one that has played pauses after the first time, and is freed after the second.
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
#: Frames per second while a world runs to a chosen point: nobody can follow it, and each view costs the run and the
#: page time.
JOB_FRAMES_PER_SECOND = 5
#: Events between two checkpoints of a run, doubled until there are at most that number of them, which have at most that
#: number of events together, or twice those of the run: each event of a copy takes half a kilobyte.
CHECKPOINT_EVERY_EVENTS = 600
CHECKPOINTS_PER_WORLD = 20
CHECKPOINT_EVENTS_MAX = 40_000
#: Checkpoints of all worlds together.
CHECKPOINTS_MAX = 72
#: Views that a world keeps, so that a step back needs no run.
VIEWS_KEPT = 100
#: Of the events that checkpoints run through, one view per this number is kept, doubled until all find room.
SPARSE_EVERY_EVENTS = 50
SPARSE_VIEWS_KEPT = 400
#: Events that are viewed one by one before the target of a step back.
BACK_WINDOW_EVENTS = 25

#: Films and other long jobs that run at a time for one browser, and for all browsers together.
JOBS_PER_BROWSER = 2
JOBS_MAX = 8

#: Events after which the search for the first difference of two runs ends.
COMPARED_EVENTS_MAX = 40_000

#: Records that a view shows.
RECORDS_SHOWN = 40
ENTRIES_SHOWN = 12
HALF_MESSAGES_SHOWN = 24
BANK_ROWS_SHOWN = 12
#: Orders, records, keys and calls that a store shows.
WORK_ROWS_SHOWN = 12
#: The newest segments of a Kafka partition that are shown, and the newest batches of each.
SEGMENTS_SHOWN = 4
BATCHES_SHOWN = 12
#: The newest entries of a Raft peer's log that are shown.
RAFT_ENTRIES_SHOWN = 24
#: Rows of a Kafka controller's table that are shown.
PARTITIONS_SHOWN = 64
#: Fields that are shown of each level of a Kafka frame.
TREE_FIELDS_SHOWN = 60
WINDOWS_SHOWN = 40
#: Messages whose lives are shown, and how many of them may be in trouble, so that the newest ones find a place.
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
#: Calls of listeners that a view shows, and that a world keeps.
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
#: Files of a page cache that are shown, and pages of one file.
CACHE_FILES_SHOWN = 12
CACHE_PAGES_SHOWN = 160
