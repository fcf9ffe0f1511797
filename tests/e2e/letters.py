"""How large the letters of a stage are on the screen, whatever it is scaled to."""

from __future__ import annotations

from playwright.sync_api import Page

SMALLEST = """() => {
    const inner = document.querySelector('.lab-stage-inner');
    const scale = inner.getBoundingClientRect().width / inner.offsetWidth;
    const texts = document.createTreeWalker(inner, NodeFilter.SHOW_TEXT);
    let found = [Infinity, ''];
    while (texts.nextNode()) {
        const [text, parent] = [texts.currentNode.data.trim(), texts.currentNode.parentElement];
        const range = document.createRange();
        range.selectNode(texts.currentNode);
        if (!text || parent.closest('.sr-only') || range.getBoundingClientRect().width < 1) continue;
        const drawing = parent.closest('svg');
        const width = drawing?.viewBox.baseVal.width;
        const drawn = width ? drawing.getBoundingClientRect().width / width : scale;
        const size = parseFloat(getComputedStyle(parent).fontSize) * drawn;
        if (size < found[0]) found = [size, `${text} in ${parent.className.baseVal ?? parent.className}`];
    }
    return found;
}"""


def letters(page: Page) -> tuple[float, str]:
    """The height of the smallest letters in pixels, to the nearest tenth, and what is written in them."""
    size, text = page.evaluate(SMALLEST)
    return round(size, 1), text
