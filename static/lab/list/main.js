// The list of scenarios: its search, what it is narrowed to, the rail that shows the position, and the form that takes
// an exported run.

import "../../common/chrome.js";
import { searchList } from "../../common/list_search.js";
import { acceptDrops, importRun } from "../../parts/controls/import_run.js";

const rows = [...document.querySelectorAll(".scenario")];
const shelves = [...document.querySelectorAll(".shelf")];
const links = [...document.querySelectorAll(".shelf-links a")];
const choices = [...document.querySelectorAll(".breaks button")];
const begin = document.getElementById("begin");

const shown = (shelf) => shelf.querySelectorAll(".scenario:not([hidden])").length;

const chosen = () => choices.find((choice) => choice.ariaPressed === "true")?.dataset.breaks;

function choose(choice) {
  for (const one of choices) one.ariaPressed = String(one === choice && one.ariaPressed !== "true");
}

/** Shelves without any row go, and the rail counts the others. */
function narrowShelves(isNarrow) {
  begin.hidden = isNarrow;
  for (const shelf of shelves) shelf.hidden = shown(shelf) === 0;
  for (const link of links) {
    const section = document.querySelector(link.hash);
    link.hidden = section.hidden;
    if (section !== begin) link.querySelector(".number").textContent = shown(section);
  }
}

const narrow = searchList(rows, (row) => row.dataset.name, "lab.list.found", {
  isChosen: (row) => !chosen() || row.dataset.breaks.split(" ").includes(chosen()),
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
        link.parentElement.scrollTo({ left: link.offsetLeft - 16 });
      } else link.removeAttribute("aria-current");
    }
  },
  { rootMargin: "-15% 0% -60% 0%" },
);
for (const section of sections) eyes.observe(section);

const form = document.getElementById("import");
const input = form.querySelector("input[type=file]");
const problem = document.getElementById("import-problem");

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
    input.value = "";
  }
}

input.addEventListener("change", () => input.files.length > 0 && take(input.files[0]));
acceptDrops(take, (isOver) => form.classList.toggle("is-over", isOver));
