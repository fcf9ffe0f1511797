"""The moments of the pages: what is taken of them, and what of it the documents show."""

from __future__ import annotations

from pathlib import Path

from scripts.page_moments import MOMENTS, SIZES
from scripts.page_pictures import SMALL_MAX_BYTES, shown_sizes, write_index

PICTURES = Path(__file__).parents[2] / "docs" / "images" / "pages"
FOLDER_FILES_MAX = 20


def test_moments_have_names_of_their_own_and_there_are_four_windows():
    assert len({moment.name for moment in MOMENTS}) == len(MOMENTS)
    assert [(size.width, size.height) for size in SIZES] == [(1440, 900), (1920, 1080), (1024, 768), (390, 844)]


def test_the_documents_show_as_many_as_a_folder_takes_at_sizes_that_exist():
    sizes = [size for moment in MOMENTS for size in moment.shown]
    assert {*sizes} == {size.name for size in SIZES}
    assert len(sizes) <= FOLDER_FILES_MAX


def test_the_pictures_of_the_documents_are_small_and_each_is_of_a_moment():
    known = {f"{moment.name}-{size.name}" for moment in MOMENTS for size in shown_sizes(moment)}
    pictures = list(PICTURES.rglob("*.webp"))
    assert {path.stem for path in pictures} <= known
    assert max(path.stat().st_size for path in pictures) <= SMALL_MAX_BYTES
    assert sum(path.stat().st_size for path in pictures) < 1_500_000


def test_every_path_leads_to_a_page_and_a_moment_of_a_run_is_in_it():
    for moment in MOMENTS:
        path = moment.path if isinstance(moment.path, str) else moment.path()
        assert path.startswith("/")
        assert isinstance(moment.path, str) or len(path.partition("#")[2]) > 50


def test_the_index_shows_the_pictures_that_are_there(tmp_path):
    (tmp_path / "lesson-phone.png").write_bytes(b"")
    write_index(tmp_path, SIZES)
    page = (tmp_path / "index.html").read_text()
    assert page.count("<img") == 1
    assert 'src="lesson-phone.png"' in page
    assert page.count("<tr>") == 1 + len(MOMENTS)
