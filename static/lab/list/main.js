// The list of scenarios: its search, what it is narrowed to, the rail that says where one is, and the form that takes
// an exported run. The server has written every row, with all by which it may be found.

import "../../common/chrome.js";
import { t } from "../../common/i18n.js";
import { acceptDrops, importRun } from "../panels/controls/import_run.js";

const rows = [...document.querySelectorAll(".scenario")];
const shelves = [...document.querySelectorAll(".shelf")];
const links = [...document.querySelectorAll(".shelf-links a")];
const choices = [...document.querySelectorAll(".breaks button")];
const begin = document.getElementById("begin");
const search = document.getElementById("search");

const shown = (shelf) => shelf.querySelectorAll(".scenario:not([hidden])").length;

/** Shows the rows that have every word and break in the chosen way; shelves without any go. */
function narrow() {
  const words = search.value.toLowerCase().split(/\s+/u).filter(Boolean);
  const chosen = choices.find((choice) => choice.ariaPressed === "true")?.dataset.breaks;
  for (const row of rows) {
    const breaks = row.dataset.breaks.split(" ");
    row.hidden = !(words.every((word) => row.dataset.words.includes(word)) && (!chosen || breaks.includes(chosen)));
  }
  const isNarrow = words.length > 0 || chosen !== undefined;
  begin.hidden = isNarrow;
  for (const shelf of shelves) shelf.hidden = shown(shelf) === 0;
  for (const link of links) {
    const section = document.querySelector(link.hash);
    link.hidden = section.hidden;
    if (section !== begin) link.querySelector(".number").textContent = shown(section);
  }
  const found = rows.filter((row) => !row.hidden).length;
  document.getElementById("found").textContent = isNarrow ? t("lab.list.found", { found, n: rows.length }) : "";
  document.getElementById("nothing").hidden = found > 0;
  const address = new URL(location.href);
  if (search.value) address.searchParams.set("q", search.value);
  else address.searchParams.delete("q");
  history.replaceState(history.state, "", address);
}

function choose(choice) {
  for (const one of choices) one.ariaPressed = String(one === choice && one.ariaPressed !== "true");
  narrow();
}

function showAll() {
  search.value = "";
  choose(null);
  search.focus();
}

search.addEventListener("input", narrow);
search.addEventListener("keydown", (event) => event.key === "Escape" && showAll());
for (const choice of choices) choice.addEventListener("click", () => choose(choice));
document.getElementById("show-all").addEventListener("click", showAll);
document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.target.closest("input, select")) return;
  event.preventDefault();
  search.focus();
});
search.value = new URLSearchParams(location.search).get("q") ?? "";
if (search.value) narrow();

// The first section in the upper part of the window is where one is.
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
