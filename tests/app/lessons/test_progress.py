"""What a browser has done is kept, bounded, and survives a broken file."""

import sqlite3
import threading

from app.lessons.progress import DoneStep, LearnerProgress


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        self.now += 1
        return self.now


def test_steps_are_kept_per_browser_and_lesson_in_the_order_in_which_they_were_done(tmp_path):
    progress = LearnerProgress(tmp_path / "lessons.db", Clock())
    progress.note("me", "01-a", DoneStep("two"))
    progress.note("me", "01-a", DoneStep("one", "4", was_right=True))
    progress.note("you", "01-a", DoneStep("one", "5", was_right=False))
    progress.note("me", "02-b", DoneStep("one"))
    assert list(progress.done("me", "01-a")) == ["two", "one"]
    assert progress.done("me", "01-a")["one"] == DoneStep("one", "4", was_right=True)
    assert progress.done("you", "01-a") == {"one": DoneStep("one", "5", was_right=False)}
    assert progress.done(None, "01-a") == {}
    progress.close()
    again = LearnerProgress(tmp_path / "lessons.db", Clock())
    assert list(again.done("me", "01-a")) == ["two", "one"]
    again.reset("me", "01-a")
    assert again.done("me", "01-a") == {}
    assert list(again.done("me", "02-b")) == ["one"]
    again.close()


def test_the_first_prediction_counts():
    progress = LearnerProgress(None)
    progress.note("me", "01-a", DoneStep("one"))
    progress.note("me", "01-a", DoneStep("one", "4", was_right=False))
    progress.note("me", "01-a", DoneStep("one", "5", was_right=True))
    progress.note("me", "01-a", DoneStep("one"))
    assert progress.done("me", "01-a") == {"one": DoneStep("one", "4", was_right=False)}


def test_when_there_are_too_many_rows_the_browser_that_was_away_longest_is_forgotten():
    progress = LearnerProgress(None, Clock(), rows_max=4)
    progress.note("a", "01", DoneStep("one"))
    progress.note("a", "01", DoneStep("two"))
    progress.note("b", "01", DoneStep("one"))
    progress.note("b", "01", DoneStep("two"))
    progress.note("a", "01", DoneStep("one"))
    progress.note("c", "01", DoneStep("one"))
    assert list(progress.done("a", "01")) == ["one", "two"]
    assert progress.done("b", "01") == {}
    assert list(progress.done("c", "01")) == ["one"]


def test_a_file_that_is_no_database_is_left_alone_and_lessons_go_on(tmp_path):
    file = tmp_path / "lessons.db"
    file.write_bytes(b"this is no database at all, but long enough to be looked at" * 20)
    before = file.read_bytes()
    progress = LearnerProgress(file)
    progress.note("me", "01", DoneStep("one"))
    assert list(progress.done("me", "01")) == ["one"]
    assert file.read_bytes() == before
    missing = LearnerProgress(tmp_path / "no" / "folder" / "lessons.db")
    missing.note("me", "01", DoneStep("one"))
    assert list(missing.done("me", "01")) == ["one"]


def test_a_disk_that_refuses_to_write_ends_no_lesson(tmp_path, caplog):
    file = tmp_path / "lessons.db"
    progress = LearnerProgress(file)
    with sqlite3.connect(file) as other:
        other.execute("drop table steps_done")
    other.close()
    progress.note("me", "01", DoneStep("one"))
    assert "could not be kept" in caplog.text


def test_several_threads_may_note_at_once(tmp_path):
    progress = LearnerProgress(tmp_path / "lessons.db")

    def learn(browser):
        for number in range(20):
            progress.note(browser, "01", DoneStep(f"step {number}"))

    threads = [threading.Thread(target=learn, args=(f"browser {number}",)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert [len(progress.done(f"browser {number}", "01")) for number in range(4)] == [20] * 4
