// @ts-check
// The page cache of a machine: for each file its pages, and below where the disk's arm went. A page says what it is by
// its shape, its colour only repeats it. Outlives the process, as memory under an operating system does.

import { html } from "htm/preact";
import { count } from "../../common/format.js";
import { t } from "../../common/i18n.js";
import { memo } from "../../common/memo.js";
import { Part } from "./part.js";
import { FigureCells } from "./rows.js";

const STATES = ["d", "f", "c", "a", "e"];
const CELL = 11;
const COLUMNS = 32;
const WIDTH = 440;
const HEIGHT = 96;
const EDGE = 8;

/** @type {(props: { node: string, cache: Picture.PageCache }) => any} */
export const PageCache = memo(({ node, cache }) => {
  const { pages, limit, figures, waits_until_us: waitsUntil } = cache;
  return html`<${Part}
    part="page_cache"
    name=${t("word.page_cache")}
    summary=${html`
      <span class="quiet">${t("lab.page_cache.summary", { pages, limit, misses: count(figures.misses) })}</span>
      ${
        waitsUntil !== null &&
        html`<span class="badge badge-warning" title=${t("lab.page_cache.waits_hint")}>
          ${t("lab.page_cache.waits", { time: shortTime(waitsUntil) })}
        </span>`
      }`}
    class="page-cache"
  >
    <div class="page-cache-body">
      <div>
        <ul class="sign-legend" aria-hidden="true">
          ${STATES.map(
            (state) => html`<li key=${state} title=${t(`lab.page_cache.state_${state}`)}>
              <svg width=${CELL} height=${CELL}><${Page} state=${state} /></svg> ${t(`lab.page_cache.word_${state}`)}
            </li>`,
          )}
        </ul>
        ${cache.files.map((file) => html`<${FilePages} key=${file.path} file=${file} />`)}
      </div>
      <div>
        <${Arm} node=${node} moves=${cache.moves} places=${cache.places} />
        <${Figures} cache=${cache} />
      </div>
    </div>
  </${Part}>`;
});

// ------------------------------------------------------------------------------------------------- pages

/** @type {(props: { file: Picture.CachedFile }) => any} */
const FilePages = memo(({ file: { path, first, cells } }) => {
  const name = path ? shortName(path) : t("lab.page_cache.other_files");
  const told = STATES.map((state) => ({ state, n: cells.split(state).length - 1 }))
    .filter(({ n }) => n > 0)
    .map(({ state, n }) => `${n} ${t(`lab.page_cache.word_${state}`)}`);
  const written = cells.replaceAll(".", "");
  const rows = Math.ceil(cells.length / COLUMNS);
  return html`<div class="file-pages" data-file=${path}>
    <p class="file-head">
      <span class="ellipsis mono" title=${path || name}>${name}</span>
      <span class="quiet">
        ${t("lab.page_cache.in_memory", { n: written.replaceAll("e", "").length, all: written.length })}
        ${first > 0 && ` · ${t("lab.page_cache.earlier", { n: first })}`}
      </span>
    </p>
    <svg
      class="pages"
      viewBox=${`0 0 ${COLUMNS * CELL} ${rows * CELL}`}
      role="img"
      aria-label=${t("lab.page_cache.map", { name, cells: told.join(", ") })}
    >
      ${[...cells].map(
        (state, index) =>
          state !== "." &&
          html`<g
            key=${index}
            transform=${`translate(${(index % COLUMNS) * CELL} ${Math.floor(index / COLUMNS) * CELL})`}
          >
            <title>${t("lab.page_cache.page", { n: first + index, state: t(`lab.page_cache.state_${state}`) })}</title>
            <${Page} state=${state} />
          </g>`,
      )}
    </svg>
  </div>`;
});

/** "commitlog/00000000000000004096" -> "commitlog/…4096": the zeros in front say nothing. */
const shortName = (path) => path.replace(/(^|\/)0{8,}(?=\d)/g, "$1…");

/** Dirty: a filled diamond. Being flushed: one with a line below. Clean: a filled square. Read ahead: a triangle.
    Evicted: a small hollow square. */
function Page({ state }) {
  if (state === "d") return html`<path class="page is-dirty" d="M5.5 .5 10.5 5.5 5.5 10.5 .5 5.5Z" />`;
  if (state === "f") {
    return html`<path class="page is-flushing" d="M5.5 .5 9 4 5.5 7.5 2 4Z" />
      <path class="page-line" d="M1 9.5h9" />`;
  }
  if (state === "a") return html`<path class="page is-ahead" d="M1.5 1 10 5.5 1.5 10Z" />`;
  return state === "c"
    ? html`<rect class="page is-clean" x="1" y="1" width="9" height="9" />`
    : html`<rect class="page is-evicted" x="3" y="3" width="5" height="5" />`;
}

// ------------------------------------------------------------------------------------------------- the arm

/** @type {(props: { node: string, moves: Picture.ArmMove[], places: number }) => any} */
const Arm = memo(({ node, moves, places }) => {
  const scaleX = (index) => EDGE + ((WIDTH - 2 * EDGE) * (index + 0.5)) / Math.max(moves.length, 24);
  const scaleY = (place) => HEIGHT - EDGE - ((HEIGHT - 2 * EDGE) * place) / Math.max(places, 1);
  const seeks = moves.flatMap(({ is_seek: isSeek, place }, index) => {
    const before = moves[index - 1];
    if (!isSeek || !before) return [];
    const [from, to] = [scaleY(before.place + before.pages), scaleY(place)];
    return [`M${scaleX(index - 1)} ${from.toFixed(1)}L${scaleX(index)} ${to.toFixed(1)}`];
  });
  return html`<figure class="arm" data-arm=${node}>
    <figcaption title=${t("lab.page_cache.arm_hint", { n: moves.length })}>
      ${t("lab.page_cache.arm")}
      ${["read", "ahead", "write"].map(
        (kind) => html`<span key=${kind} class="arm-word">
          <svg width=${CELL} height=${CELL}><${Mark} kind=${kind} x=${CELL / 2} y=${CELL / 2} /></svg>
          ${t(`lab.page_cache.move_${kind}`)}
        </span>`,
      )}
      <span class="arm-word"><svg width="14" height="11"><path class="arm-seek" d="M1 10 13 1" /></svg>
        ${t("lab.page_cache.seeks")}</span>
    </figcaption>
    ${
      moves.length === 0
        ? html`<p class="quiet">${t("lab.page_cache.arm_none")}</p>`
        : html`<svg
            class="arm-strip"
            viewBox=${`0 0 ${WIDTH} ${HEIGHT}`}
            role="img"
            aria-label=${t("lab.page_cache.arm_hint", { n: moves.length })}
          >
            <path class="arm-seek" d=${seeks.join("")} />
            ${moves.map(
              (move, index) => html`<g key=${move.number}>
                <title>${moveText(move)}</title>
                <path
                  class=${`arm-run is-${move.kind}`}
                  d=${`M${scaleX(index)} ${scaleY(move.place)}V${scaleY(move.place + move.pages)}`}
                />
                <${Mark} kind=${move.kind} x=${scaleX(index)} y=${scaleY(move.place + move.pages / 2)} />
              </g>`,
            )}
          </svg>`
    }
    ${
      moves.length > 0 &&
      html`<p class="arm-axis quiet">
        <span class="number">${shortTime(moves[0].time_us)}</span>
        <span>${t("lab.page_cache.arm_axis", { n: places })}</span>
        <span class="number">${shortTime(moves[moves.length - 1].time_us)}</span>
      </p>`
    }
  </figure>`;
});

/** "12.480 s": the microseconds do not matter here. */
const shortTime = (timeUs) => `${(timeUs / 1_000_000).toFixed(3)} s`;

const moveText = (move) => {
  const { time_us: timeUs, kind, path, page, pages, is_seek: isSeek } = move;
  const text = t("lab.page_cache.move", {
    time: shortTime(timeUs),
    kind: t(`lab.page_cache.move_${kind}`),
    name: shortName(path),
    page,
    n: pages,
  });
  return isSeek ? `${text} · ${t("lab.page_cache.move_seek")}` : text;
};

/** Read: a filled circle. Read ahead: a hollow one. Written: a diamond. */
function Mark({ kind, x, y }) {
  return kind === "write"
    ? html`<path class="arm-mark is-write" d=${`M${x} ${y - 4}l4 4-4 4-4-4Z`} />`
    : html`<circle class=${`arm-mark is-${kind}`} cx=${x} cy=${y} r="3" />`;
}

// ------------------------------------------------------------------------------------------------- figures

/** @type {(props: { cache: Picture.PageCache }) => any} */
const Figures = memo(({ cache: { dirty, dirty_limit: dirtyLimit, figures } }) => {
  const share = figures.transferred_bytes ? figures.sequential_bytes / figures.transferred_bytes : 0;
  return html`<${FigureCells}
    word=${(name) => t(`lab.page_cache.${name}`)}
    figures=${[
      ["hits", count(figures.hits)],
      ["misses", count(figures.misses)],
      figures.evictions > 0 && ["evictions", count(figures.evictions)],
      ["dirty", `${dirty} / ${dirtyLimit}`],
      figures.write_backs > 0 && ["write_backs", count(figures.write_backs)],
      ["fsyncs", count(figures.fsyncs)],
      ["seeks", count(figures.seeks)],
      ["sequential", `${Math.round(share * 100)} %`],
      figures.read_ahead > 0 && ["ahead_used", `${figures.read_ahead_hits} / ${figures.read_ahead_wasted}`],
    ]}
  />`;
});
