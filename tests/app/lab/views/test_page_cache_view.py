"""What a machine's card says about its page cache: a letter per page, and where the disk's arm went."""

from app.lab.views.world_view import view_of
from engine.lab.run.run import LabRun
from engine.lab.scenario.scenario import Command
from engine.lab.scenario.scenario_files import load_scenario
from tests.support.lab.lab_scenarios import small


def cache_view(run: LabRun, node: str = "B1"):
    return view_of(run)["nodes"][node]["page_cache"]


def cells_in(view, path: str) -> str:
    (file,) = [file for file in view["files"] if file["path"].startswith(path)]
    return str(file["cells"])


def cells(run: LabRun, path: str, node: str = "B1") -> str:
    return cells_in(cache_view(run, node), path)


def test_memory_without_end_is_not_drawn():
    with LabRun(small()) as run:
        run.run_to_time(1_000_000)
        assert cache_view(run) is None


def test_pages_of_the_commit_log_are_clean_then_dirty_and_evicted_when_the_caches_are_dropped():
    with LabRun(load_scenario("page-cache")) as run:
        run.run_to_time(10_390_000)
        before = cells(run, "commitlog")
        clean = before.count("c")
        assert before == "c" * clean + "d" * (len(before) - clean)
        assert set(cells(run, "commitlog", "B2")) == {"c"}
        run.apply(Command("drop-caches", "B1", {}))
        assert cells(run, "commitlog") == before.replace("c", "e")
        run.run_to_time(10_500_000)
        assert set(cells(run, "commitlog")) == {"e"}
        assert cache_view(run)["pages"] == 0


def test_a_flush_and_a_wait_for_the_disk_are_seen_while_they_last():
    with LabRun(load_scenario("cold-reader")) as run:
        seen, waits = set(), set()
        for begin_us, end_us in ((12_015_000, 12_060_000), (12_415_000, 12_420_000)):  # a flush; what is read ahead
            run.run_to_time(begin_us)
            while run.now_us < end_us and run.step():
                view = cache_view(run)
                seen.update(cells_in(view, "commitlog"))
                assert view["waits_until_us"] is None or view["waits_until_us"] > run.now_us
                waits.add(view["waits_until_us"] is not None)
        assert (seen, waits) == (set("fdcae"), {True, False})


def test_small_files_stand_in_one_row_and_moves_say_where_on_the_disk_they_were():
    with LabRun(load_scenario("cold-reader")) as run:
        run.run_to_time(13_600_000)
        view = cache_view(run)
        assert [file["path"] for file in view["files"]][-1] == ""
        assert len([file for file in view["files"] if file["path"] == ""]) == 1
        assert view["pages"] <= view["limit"] == 28
        assert all(0 <= move["place"] < view["places"] for move in view["moves"])
        assert {move["kind"] for move in view["moves"]} == {"read", "ahead", "write"}
