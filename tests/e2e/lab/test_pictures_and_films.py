"""Pictures and films of a stage: what is in the files that the commands write."""

from __future__ import annotations

import base64
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import pytest
from playwright.sync_api import Browser, expect

from app.lab.session.film_times import film_times
from app.pictures import film_camera
from app.pictures.film_camera import REST_MS, take_film
from app.pictures.stage_camera import NoPicture, StageCamera
from app.pictures.webp import WebpEncoder
from engine.lab.run.key_moment import key_moment_of
from engine.lab.scenario.scenario_files import load_scenario
from tests.e2e.scenes import empty_scene
from tests.support.tiers import sampled

WIDTH, HEIGHT = 640, 400
#: Of each picture of a GIF: how long it stays in ms, its width and height, and how many colours it has.
DECODE = """async (gif) => {
    const data = Uint8Array.from(atob(gif), (letter) => letter.charCodeAt(0));
    const decoder = new ImageDecoder({ data, type: "image/gif" });
    await decoder.tracks.ready;
    await decoder.completed;
    const pictures = [];
    for (let index = 0; index < decoder.tracks.selectedTrack.frameCount; index += 1) {
        const { image } = await decoder.decode({ frameIndex: index });
        const context = new OffscreenCanvas(image.displayWidth, image.displayHeight).getContext("2d");
        context.drawImage(image, 0, 0);
        const pixels = context.getImageData(0, 0, image.displayWidth, image.displayHeight).data;
        const colours = new Set(new Uint32Array(pixels.buffer)).size;
        pictures.push([image.duration / 1000, image.displayWidth, image.displayHeight, colours]);
    }
    return pictures;
}"""
#: The size of a video, once it has played to its end.
PLAY = """(webm) => new Promise((resolve, reject) => {
    const video = document.createElement("video");
    Object.assign(video, { muted: true, playbackRate: 8, src: `data:video/webm;base64,${webm}` });
    video.onended = () => resolve([video.videoWidth, video.videoHeight]);
    video.onerror = () => reject(video.error.message);
    video.play();
})"""

_Result = TypeVar("_Result")


def aside(work: Callable[[], _Result]) -> _Result:
    """``work`` in a thread of its own: no world may run where Playwright does."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result()


def in_a_page(chromium: Browser, address: str, script: str, argument: str) -> list:
    """What the script finds; only pages of a server may decode pictures."""
    page = chromium.new_page()
    try:
        page.goto(address)
        return page.evaluate(script, argument)
    finally:
        page.close()


@pytest.fixture
def address(serve) -> str:
    return serve(empty_scene())


@pytest.fixture(scope="module")
def moment():
    return aside(lambda: key_moment_of(load_scenario("three-locks")))


def film(chromium: Browser, address: str, recording, kind: str) -> tuple[str, int]:
    times = aside(lambda: film_times(recording, recording.time_us - 30_000, 5))
    data = take_film(chromium, address, "three-locks", recording.link(), times, 5, kind, (WIDTH, HEIGHT))
    return base64.b64encode(data).decode(), len(times)


def test_a_gif_has_a_picture_for_each_moment_and_rests_on_the_last(chromium, address, moment):
    gif, count = film(chromium, address, moment, "gif")
    pictures = in_a_page(chromium, f"{address}/static/favicon.svg", DECODE, gif)
    assert len(pictures) == count > 5
    assert {(width, height) for _, width, height, _ in pictures} == {(WIDTH, HEIGHT)}
    assert [stays for stays, *_ in pictures] == [200] * (count - 1) + [REST_MS]
    assert all(colours > 50 for *_, colours in pictures), "a picture is empty"


#: Moments between two events, a last second in which nothing happens, a story from its beginning, money, Kafka.
FILMED = ("majority-log", "retry-to-dead-letter", "hello", "bank-naive", "isr-shrinks")


@pytest.mark.parametrize("name", sampled(FILMED, every=2))
def test_a_film_ends_and_has_more_than_two_pictures(chromium, address, name):
    recording = aside(lambda: key_moment_of(load_scenario(name)))
    times = aside(lambda: film_times(recording, None, 1))
    gif = take_film(chromium, address, name, recording.link(), times, 1, "gif", (WIDTH, HEIGHT))
    pictures = in_a_page(chromium, f"{address}/static/favicon.svg", DECODE, base64.b64encode(gif).decode())
    assert len(pictures) == len(times) > 2


def test_a_film_shows_the_time_of_each_picture_also_after_the_last_event(chromium, address):
    recording = aside(lambda: key_moment_of(load_scenario("majority-log")))
    with StageCamera(chromium, address, WIDTH, HEIGHT, with_caption=True) as camera:
        page = camera.open("majority-log", recording.link())
        expect(page.locator(".strip button:visible, .strip input:visible")).to_have_count(0)
        page.evaluate(film_camera.OPEN, ["gif", WIDTH, HEIGHT])
        for time_us in (1_500_000, recording.time_us - 1, recording.time_us):
            film_camera.stand_at(page, time_us)
            expect(page.locator(".clock:visible")).to_have_text(f"{time_us / 1e6:.6f}"[:-3] + f" {time_us % 1000:03} s")


def test_a_stage_that_does_not_come_to_its_moment_is_given_up(chromium, address, moment, monkeypatch):
    monkeypatch.setattr(film_camera, "PATIENCE_MS", 200)
    with pytest.raises(NoPicture, match="no picture of 900 s"):
        take_film(chromium, address, "three-locks", moment.link(), [900_000_000], 1, "gif", (WIDTH, HEIGHT))


def test_a_webm_plays_to_its_end(chromium, address, moment):
    webm, _ = film(chromium, address, moment, "webm")
    assert in_a_page(chromium, "about:blank", PLAY, webm) == [WIDTH, HEIGHT]


def test_a_picture_of_the_stage_has_no_controls_on_it_and_each_theme_is_another(chromium, address, moment):
    with StageCamera(chromium, address, WIDTH, HEIGHT) as camera:
        page = camera.open("three-locks", moment.link())
        for hidden in (".strip", ".map-tools", ".moment"):
            assert page.locator(hidden).filter(visible=True).count() == 0
        assert page.locator("#stage .node:visible").count() == 5
        pictures = camera.pictures("three-locks", moment.link(), ["light", "dark"])
    small = WebpEncoder(chromium).encode(pictures["light"], 15_000, (0.5,))
    assert small[8:12] == b"WEBP"
    assert len(small) <= 15_000
    assert pictures["light"] != pictures["dark"]
