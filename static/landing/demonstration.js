// @ts-check
// The start page's demonstration: two runs of one world, with a lock off and on, drawn by the lab's own stage, with
// captions.

import { html } from "htm/preact";
import { useEffect, useRef } from "preact/hooks";
import { useComputed, useSignal } from "@preact/signals";
import { demand } from "../common/request.js";
import { t } from "../common/i18n.js";
import { onPaint } from "../common/world/clock.js";
import { anomalyName, bilingual, virtualTime } from "../common/world/format.js";
import { Button } from "../parts/controls/button.js";
import { shape } from "../parts/controls/dock.js";
import { Icon } from "../parts/controls/icons.js";
import { acting } from "../parts/stage/acting.js";
import { Stage } from "../parts/stage/stage.js";
import { nodes, receiveView, violations, view } from "../common/world/view.js";
import { motion } from "../common/viewer/motion.js";
import { FilmPlayer } from "./film_player.js";

const LOCK = "broker-lock";

/** @typedef {{ film: Picture.Demonstration, player: FilmPlayer }} Shown */

export function Demonstration() {
  const answer = useSignal(/** @type {Partial<Shown> & { problem?: string }} */ ({}));
  useEffect(() => {
    demand("GET", "/api/demonstration")
      .then((loaded) => (answer.value = { film: loaded, player: new FilmPlayer(loaded, receiveView) }))
      .catch((error) => (answer.value = { problem: error.message }));
  }, []);
  const { film, player, problem } = answer.value;
  if (problem)
    return html`<p class="problem" role="alert">
      ${t("landing.demo.failed", { why: problem })} <a href="/lab">${t("landing.break")}</a>
    </p>`;
  return player
    ? html`<${Film} film=${film} player=${player} />`
    : html`<p class="loading">${t("landing.demo.loading")}</p>`;
}

/** @param {Shown} props */
function Film({ film, player }) {
  useEffect(() => {
    if (motion.peek()) player.play();
    else player.showStill(0);
    return () => player.pause();
  }, []);
  useEffect(
    () => player.playing.subscribe((playing) => (document.documentElement.dataset.playing = playing ? "yes" : "no")),
    [],
  );
  const chapter = player.chapters[player.chapter.value];
  const isOver = useComputed(() => player.isOver);
  return html`<div
    class="film"
    data-chapter=${chapter.name}
    data-playing=${player.playing.value ? "yes" : "no"}
    data-over=${isOver.value ? "yes" : "no"}
  >
    <p class="film-caption" aria-live="polite">${bilingual(chapter.text)}</p>
    <${Verdict} />
    <div class="film-stage">
      <${FilmView} />
      ${chapter.take > 0 && html`<span class="film-veil" aria-hidden="true"></span>`}
      ${isOver.value && html`<${Ways} film=${film} player=${player} />`}
    </div>
    <${Controls} film=${film} player=${player} />
  </div>`;
}

const CALM_MS = 1200;

/** The stage, not to be pressed. On a phone it is a column higher than its frame: what acts or breaks is in view. */
function FilmView() {
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const isColumn = shape.value === "phone";
  return html`<div
    class="film-view"
    ref=${box}
    role="group"
    aria-label=${t("lab.stage.title")}
    tabindex=${isColumn ? "0" : null}
  >
    <div inert><${Stage} isFilm /></div>
    ${isColumn && html`<${Follow} box=${box} />`}
  </div>`;
}

/** Draws nothing; after each picture it brings into view what acts, or all listeners that have what is broken.
    @param {{ box: { current: HTMLElement } }} props */
function Follow({ box }) {
  const name = acting.value;
  const [movedAt, shown] = [useRef(0), nodes.value];
  useEffect(() => {
    const broken = box.current.querySelector(".listener-call.is-accused")?.closest(".node");
    const card = broken ?? box.current.querySelector(`[data-node="${CSS.escape(name ?? "")}"]`);
    if (!card || (!broken && performance.now() - movedAt.current < CALM_MS)) return;
    const [inner, outer] = [card.getBoundingClientRect(), box.current.getBoundingClientRect()];
    if (inner.top >= outer.top && (broken ? inner.top < outer.top + 20 : inner.bottom <= outer.bottom)) return;
    movedAt.current = performance.now();
    const top = box.current.scrollTop + inner.top - outer.top - 8;
    box.current.scrollTo({ top, behavior: motion.peek() ? "smooth" : "auto" });
  }, [name, shown]);
  return null;
}

/** Whether the lock is on, and what the checkers of the run have found: the newest violation, in their words. */
function Verdict() {
  const isOff = useComputed(() =>
    Object.values(view.value.nodes).some((node) => node.role === "broker" && node.switched_off?.includes(LOCK)),
  );
  const holding = useComputed(() => view.value.invariants.filter((one) => one.ok).length);
  const broken = useComputed(() => violations.value.at(-1));
  const { invariant, anomaly, text } = broken.value ?? {};
  return html`<div class=${`film-verdict ${invariant ? "is-broken" : ""}`} aria-live="polite">
    <span class=${`film-lock ${isOff.value ? "is-off" : ""}`}>
      <${Icon} name="lock" /> ${t(isOff.value ? "landing.demo.lock_off" : "landing.demo.lock_on")}
    </span>
    ${
      invariant
        ? html`<span class="film-broken">
          <${Icon} name="cross" />${" "}
          <strong>${bilingual(invariant.title)}</strong>${" "}
          <span class="badge badge-bad">${anomalyName(anomaly ?? "")}</span>${" "}
          <span>${bilingual(text)}</span>
        </span>`
        : html`<span class="film-holds">
          <${Icon} name="check" /> ${t("landing.demo.all_hold", { n: holding.value })}
        </span>`
    }
  </div>`;
}

/** The available actions; it covers the last picture. Other links are below the film.
    @param {Shown} props */
function Ways({ film, player }) {
  return html`<div class="film-over">
    <div class="film-over-card" id="film-over">
      <p class="film-over-text">${t("landing.demo.over")}</p>
      <p class="film-over-ways">
        <a class="button button-primary" href=${film.address}>${t("landing.demo.break")}</a>
        <a class="button" href=${film.lesson}>${t("landing.demo.learn")}</a>
        <${Button} onClick=${() => again(player)}>${t("landing.demo.replay")}</${Button}>
      </p>
    </div>
  </div>`;
}

/** @param {FilmPlayer} player */
const again = (player) => (motion.peek() ? player.play() : player.showStill(0));

/** @param {Shown} props */
function Controls({ film, player }) {
  const number = player.chapter.value;
  const last = player.chapters.length - 1;
  // Those who want nothing to move get one still picture after the other, until they press play themselves.
  /** @param {number} to */
  const go = (to) => (player.playing.peek() || motion.peek() ? player.goTo(to) : player.showStill(to));
  /** @type {(id: string, icon: string, action: () => void, text: string, off: boolean) => any} */
  const button = (id, icon, action, text, off) =>
    html`<${Button} class="button icon-button" id=${id} disabled=${off} onClick=${action} label=${text}>
      <${Icon} name=${icon} />
    </${Button}>`;
  return html`<div class="film-controls">
    ${button("film-previous", "back", () => go(number - 1), t("landing.demo.previous"), number === 0)}
    <${Button} class="button play-button" id="film-play" onClick=${() => player.toggle()}>
      <${Icon} name=${player.playing.value ? "pause" : player.isOver ? "restart" : "play"} />
      <span>
        ${t(player.playing.value ? "controls.pause" : player.isOver ? "landing.demo.replay" : "lab.controls.play")}
      </span>
    </${Button}>
    ${button("film-next", "step", () => go(number + 1), t("landing.demo.next"), number === last)}
    <${Progress} player=${player} />
    <span class="film-time"><${Clock} /> <span class="quiet">${speedOf(player.chapters[number])}</span></span>
    <a class="film-world" href=${film.address}>${t("landing.demo.to_world")}</a>
  </div>`;
}

/** One bar per chapter, as long as the chapter.
    @param {{ player: FilmPlayer }} props */
function Progress({ player }) {
  const position = player.position.value;
  let start = 0;
  return html`<span
    class="film-progress"
    role="img"
    aria-label=${t("landing.demo.scene", { number: player.chapter.value + 1, count: player.chapters.length })}
  >
    ${player.chapters.map(({ name, play_ms: play, rest_ms: rest }) => {
      const share = Math.min(1, Math.max(0, (position - start) / (play + rest)));
      start += play + rest;
      return html`<span key=${name} class="film-part" style=${{ flexGrow: play + rest }}>
        <span class="bar-fill" style=${{ transform: `scaleX(${share.toFixed(3)})` }}></span>
      </span>`;
    })}
  </span>`;
}

/** The world's clock, written straight into the document: it changes with every picture. */
function Clock() {
  const place = useSignal(/** @type {HTMLElement | null} */ (null));
  useEffect(
    () =>
      onPaint((time) => {
        if (place.value) place.value.textContent = `${virtualTime(time)} s`;
      }),
    [],
  );
  return html`<span
    class="number film-clock"
    ref=${(/** @type {HTMLElement | null} */ element) => (place.value = element)}
  ></span>`;
}

/** @param {Picture.DemonstrationChapter | import("./film_player.js").Chapter} chapter */
function speedOf({ begin_us: begin, end_us: end, play_ms: play }) {
  const factor = (play * 1000) / Math.max(1, end - begin);
  if (factor < 0.67) return t("landing.demo.speed_fast", { factor: Math.round(1 / factor) });
  return factor < 1.5
    ? t("landing.demo.speed_real")
    : t("landing.demo.speed_slow", { factor: factor < 10 ? Math.round(factor) : Number(factor.toPrecision(2)) });
}
