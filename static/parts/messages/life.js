// @ts-check
// What happened to each message of a lab world, on a lane per message and group: produced, stored, delivered for the
// nth time, failed, delayed, redelivered, dead, resent. A selected message is also described in sentences.

import { html } from "htm/preact";
import { computed, effect, signal } from "@preact/signals";
import { typedKey } from "../../common/format.js";
import { t } from "../../common/i18n.js";
import { memo } from "../../common/memo.js";
import { isRecording, run } from "../../common/world/session.js";
import { pointedKey, pointing } from "../../common/viewer/pointed.js";
import { accused, calmView, chosenEvent, openRecord } from "../../common/world/view.js";
import { worldClock } from "../../common/world/world_clock.js";
import { axisOf } from "./life_axis.js";
import { Lanes, LifeAxis, Story, timesOf } from "./message_life.js";
import { WhyButton } from "./why.js";
import { Button } from "../controls/button.js";
import { Switch, TextInput } from "../controls/choices.js";

const wantedKey = signal("");
const onlyTroubled = signal(false);
const isBroken = signal(true);
/** Key of the message whose story is told, or null. */
const chosenKey = signal(/** @type {any} */ (null));
/** What the server found for the wanted key beyond what the view shows. */
const found = signal(/** @type {Picture.MessageLife[]} */ ([]));

/** Nobody can read the sentences twenty times a second. */
const clock = { ...worldClock, now: () => calmView.value.time_us };

const SEARCH_AFTER_MS = 300;
let searchTimer = 0;
effect(() => {
  const text = typedKey(wantedKey.value);
  // Look again when the world has moved on.
  const { event, life } = calmView.value;
  clearTimeout(searchTimer);
  if (!text || !life || life.omitted === 0 || isRecording()) {
    found.value = [];
    return;
  }
  searchTimer = setTimeout(async () => {
    const messages = await run.lives(text).catch(() => []);
    if (typedKey(wantedKey.peek()) === text && calmView.peek().event >= event) found.value = messages;
  }, SEARCH_AFTER_MS);
});

const shown = computed(() => {
  const text = typedKey(wantedKey.value).toLowerCase();
  const messages = {
    ...Object.fromEntries(found.value.map((one) => [one.key, one])),
    ...(calmView.value.life?.messages ?? {}),
  };
  return Object.values(messages)
    .filter((one) => one.key.toLowerCase().includes(text) && (!onlyTroubled.value || one.in_trouble))
    .sort((a, b) => Number(b.in_trouble) - Number(a.in_trouble) || a.at_us - b.at_us);
});

export function Life() {
  const { life, time_us: now } = calmView.value;
  if (!life || life.total === 0) return html`<p class="panel-empty quiet">${t("lab.life.nothing_yet")}</p>`;
  const messages = shown.value;
  const axis = axisOf(
    [...messages.flatMap((one) => one.marks.flatMap(timesOf)), now].filter((time) => isBroken.value || time <= now),
    isBroken.value,
  );
  return html`<div class="life">
    <${Tools} life=${life} n=${messages.length} />
    ${
      messages.length === 0
        ? html`<p class="panel-empty quiet">${t("lab.no_match")}</p>`
        : html`<div class="life-lanes">
          <${LifeAxis} axis=${axis} clock=${clock} tickOf=${secondsAt} />
          <ul class="life-rows">
            ${messages.map(
              (one) =>
                html`<${Message}
                  key=${one.key}
                  message=${one}
                  axis=${axis}
                  isChosen=${chosenKey.value === one.key}
                  isPointed=${pointedKey.value === one.key}
                  isAccused=${accused.value.has(one.key)}
                />`,
            )}
          </ul>
        </div>`
    }
    <${Legend} />
  </div>`;
}

function Tools({ life, n }) {
  const more = life.omitted > 0 && !wantedKey.value ? t("lab.life.omitted", { n: life.omitted }) : "";
  const troubled = html`${t("lab.life.only_troubled")} <span class="number quiet">${life.in_trouble}</span>`;
  return html`<div class="life-tools">
    <label class="field">
      <span>${t("lab.life.filter")}</span>
      <${TextInput} of=${wantedKey} type="search" name="life-key" autocomplete="off" spellcheck=${false} />
    </label>
    <${Switch} name="troubled" of=${onlyTroubled} text=${troubled} />
    <${Switch} name="broken-axis" of=${isBroken} text=${t("lab.life.broken")} />
    <span class="quiet life-count" role="status">${t("lab.life.count", { n, total: life.total })} ${more}</span>
  </div>`;
}

const secondsAt = (us) => `${(us / 1e6).toFixed(us < 100e6 ? 2 : 0)} s`;

/** A mark opens what it stands for: the event in the log and the sequence, or the record in the commit log.
    @type {import("./message_life.js").LifeSource} */
const source = {
  open: (/** @type {any} */ mark, key) => () => {
    if (mark.event !== undefined) chosenEvent.value = mark.event;
    else {
      const { broker, offset, topic, queue_id: queueId, queue_offset: queueOffset } = mark;
      openRecord.value = { broker, record: { offset, key, topic, queue_id: queueId, queue_offset: queueOffset } };
    }
  },
  isOpen: () => false,
  point: (key) => (pointedKey.value = key),
  tools: ({ key }) => html`<${WhyButton} of=${key} />`,
};

const Message = memo(({ message, axis, isChosen, isPointed, isAccused }) => {
  const choose = () => (chosenKey.value = isChosen ? null : message.key);
  const marks = `${isChosen ? "is-chosen" : ""} ${isPointed ? "is-pointed" : ""} ${isAccused ? "is-accused" : ""}`;
  const name = (_, index) =>
    index > 0
      ? html`<span></span>`
      : html`<${Button}
        class="life-key link-button" aria-expanded=${isChosen} onClick=${choose}
        onFocus=${() => (pointedKey.value = message.key)} title=${t("lab.life.open", { key: message.key })}
      >
          <span class="life-twist" aria-hidden="true">${isChosen ? "▾" : "▸"}</span>
          <span class="ellipsis mono">${message.key}</span>
        </${Button}>`;
  return html`<li class=${`life-message ${marks}`} data-life=${message.key} ...${pointing(message.key)}>
    <${Lanes} ...${{ message, axis, clock, source, name }} />
    ${isChosen && html`<${Story} ...${{ message, clock, source }} />`}
  </li>`;
});

function Legend() {
  const entry = (kind, sign) =>
    html`<span key=${kind}>
      <span class=${`life-mark ${kind}`}>${sign}</span>
      ${t(
        `lab.life.legend_${kind
          .split(" ")
          .at(-1)
          .replace(/^(life|is)-/, "")
          .replaceAll("-", "_")}`,
      )}
    </span>`;
  return html`<p class="sign-legend life-legend" aria-hidden="true">
    ${entry("life-produced", "▸")}
    ${entry("life-stored", "■")}
    ${entry("life-delivered is-good", "1 ✓")}
    ${entry("life-delivered is-bad", "1 !")}
    ${entry("life-delayed", "3")}
    ${entry("life-dead", "†")}
    ${entry("life-resent", "↻")}
    ${entry("life-unknown", "?")}
  </p>`;
}
