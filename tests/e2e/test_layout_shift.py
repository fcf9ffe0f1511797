"""While a page loads, nothing on it jumps: Chromium's own sum of layout shifts."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.e2e.scenes import empty_scene, small_scene

#: What web.dev calls good is 0.1.
SHIFT_MAX = 0.05
SIZES = ({"width": 1440, "height": 900}, {"width": 390, "height": 844})
#: A page, and what stands on it when it has loaded.
PAGES = {
    "/": ".film",
    "/lab": "main",
    "/lab/three-locks": "#stage .node",
    "/tutorials": "main",
    "/tutorials/04-three-locks": "#stage .node",
    "/live": "#connection[data-status=live]",
    "/pipeline": "#job-choice",
    "/storage": "main h1",
}
SHIFT = """() => new Promise((done) => {
    let sum = 0;
    const add = (list) => list.getEntries().forEach((shift) => (sum += shift.value));
    new PerformanceObserver(add).observe({ type: 'layout-shift', buffered: true });
    requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() => done(sum))));
})"""


@pytest.mark.parametrize(
    ("scene", "viewport"),
    [
        pytest.param(small_scene, SIZES[0], id="small-laptop"),
        pytest.param(empty_scene, SIZES[1], id="empty-phone"),
        pytest.param(empty_scene, SIZES[0], id="empty-laptop", marks=pytest.mark.further),
        pytest.param(small_scene, SIZES[1], id="small-phone", marks=pytest.mark.further),
    ],
)
def test_no_page_jumps_while_it_loads(serve, open_page, viewport, scene):
    address, found = serve(scene()), {}
    for path, standing in PAGES.items():
        page = open_page(f"{address}{path}", viewport=viewport, reduced_motion="reduce")
        expect(page.locator(standing).first).to_be_attached()
        found[path] = page.evaluate(SHIFT)
        page.context.close()
    assert {path: shift for path, shift in found.items() if shift > SHIFT_MAX} == {}
