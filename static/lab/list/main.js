// @ts-check
// The list of scenarios: its search, what it is narrowed to, the rail that shows the position, and the form that takes
// an exported run.

import "../../common/chrome.js";
import { allOf, elementOf, firstOf, onChosenFile } from "../../common/elements.js";
import { searchList } from "../../common/list_search.js";
import { acceptDrops, importRun } from "../../parts/controls/import_run.js";

const rows = allOf(".scenario");
const shelves = allOf(".shelf");
const links = allOf(".shelf-links a", HTMLAnchorElement);
const choices = allOf(".breaks button", HTMLButtonElement);
const begin = elementOf("begin");

/** @param {HTMLElement} shelf */
const shown = (shelf) => shelf.querySelectorAll(".scenario:not([hidden])").length;

const chosen = () => choices.find((choice) => choice.ariaPressed === "true")?.dataset.breaks;

/** @param {HTMLButtonElement | null} choice */
function choose(choice) {
  for (const one of choices) one.ariaPressed = String(one === choice && one.ariaPressed !== "true");
}

/**
 * Shelves without any row go, and the rail counts the others.
 *
 * @param {boolean} isNarrow
 */
function narrowShelves(isNarrow) {
  begin.hidden = isNarrow;
  for (const shelf of shelves) shelf.hidden = shown(shelf) === 0;
  for (const link of links) {
    const section = elementOf(link.hash.slice(1));
    link.hidden = section.hidden;
    if (section !== begin) firstOf(".number", HTMLElement, link).textContent = String(shown(section));
  }
}

const narrow = searchList(rows, (row) => row.dataset.name ?? "", "lab.list.found", {
  isChosen(row) {
    const kind = chosen();
    return kind === undefined || (row.dataset.breaks ?? "").split(" ").includes(kind);
  },
  hasChoice: () => chosen() !== undefined,
  dropChoice: () => choose(null),
  after: narrowShelves,
});
for (const choice of choices) {
  choice.addEventListener("click", () => {
    choose(choice);
    narrow();
  });
}

// The first section in the upper part of the window is the current one.
const inSight = new Set();
const sections = [begin, ...shelves];
const eyes = new IntersectionObserver(
  (changes) => {
    for (const { target, isIntersecting } of changes) inSight[isIntersecting ? "add" : "delete"](target);
    const here = sections.find((section) => inSight.has(section));
    for (const link of links) {
      if (here && link.hash === `#${here.id}`) {
        link.setAttribute("aria-current", "true");
        // On a phone the shelves are a strip that is swiped along.
        link.parentElement?.scrollTo({ left: link.offsetLeft - 16 });
      } else link.removeAttribute("aria-current");
    }
  },
  { rootMargin: "-15% 0% -60% 0%" },
);
for (const section of sections) eyes.observe(section);

const form = elementOf("import");
const input = firstOf("input[type=file]", HTMLInputElement, form);
const problem = elementOf("import-problem");

/** @param {File} file */
async function take(file) {
  problem.hidden = true;
  form.dataset.busy = "yes";
  try {
    await importRun(file, Number(form.dataset.maxBytes));
  } catch (error) {
    problem.textContent = error.message;
    problem.hidden = false;
  } finally {
    delete form.dataset.busy;
  }
}

onChosenFile(input, take);
acceptDrops(take, (isOver) => form.classList.toggle("is-over", isOver));
