// @ts-check
// Letting a group go on at another place of a topic, with what that would mean before it is done.

import { html } from "htm/preact";
import { useEffect } from "preact/hooks";
import { useComputed, useSignal } from "@preact/signals";
import { count, dateTime } from "../../../common/format.js";
import { language, t } from "../../../common/i18n.js";
import { state } from "../../../common/cluster/view.js";
import { isReadBy } from "../../../common/topics.js";
import { post } from "../../../common/request.js";
import { ActionForm } from "../../../parts/messages/action.js";
import { ActionCommand, commandOf } from "./command_line.js";
import { ChoiceField, TypedField } from "./field.js";

const timeInput = { name: "time", type: "datetime-local", step: "1", required: true };
const PLACES = ["earliest", "latest", "time", "offset"];
/** Queues whose change is listed; the others are in the sum. */
const MOST_QUEUES = 16;
const PREVIEW_AFTER_MS = 200;

/** 2026-11-22T10:00:00 on this machine's clock, as the field for times has it. */
function localTime(ms) {
  const date = new Date(ms);
  return new Date(ms - 60_000 * date.getTimezoneOffset()).toISOString().slice(0, 19);
}

export function ResetForm({ group, topic: chosen, ...dialog }) {
  const topics = useComputed(() =>
    Object.keys(state.value.topics).filter((name) => isReadBy(state.value.topics[name], group)),
  );
  const topic = useSignal(chosen ?? topics.peek().find((name) => !name.startsWith("%")) ?? topics.peek()[0] ?? "");
  const place = useSignal("time");
  const time = useSignal(localTime(Date.now() - 600_000));
  const queue = useSignal(0);
  const offset = useSignal(0);
  const plan = useSignal(/** @type {{ key?: string, answer?: any }} */ ({}));
  const request = {
    group,
    topic: topic.value,
    to: place.value,
    ...(place.value === "time" ? { time_ms: Date.parse(time.value) || 0 } : {}),
    ...(place.value === "offset" ? { queue_id: queue.value, offset: offset.value } : {}),
  };
  const key = JSON.stringify(request);
  usePlan(key, plan);
  const found = plan.value.key === key ? plan.value : {};
  const act = async () => {
    const { answer, why = "" } = await post("/api/live/offsets", request);
    const done = answer && whatItMeans(answer, group, "done");
    return { why, done: answer?.is_online ? t("operator.reset_done_online", { done }) : done };
  };
  const places = PLACES.map((name) => [name, t(`operator.to_${name}`)]);
  const options = ["--topic", topic.value];
  if (place.value === "time") options.push("--to-time", time.value.replace("T", " "));
  else if (place.value === "offset") options.push("--to-offset", offset.value, "--queue", queue.value);
  else options.push("--to", place.value);
  return html`<${ActionForm}
    title=${t("operator.reset_title", { group })}
    button=${t("operator.reset_do")}
    act=${act}
    isReady=${Boolean(found.answer) && !found.answer.refused}
    ...${dialog}
  >
    <div class="action-fields">
      <${ChoiceField} label=${t("field.topic")} name="topic" value=${topic} options=${topics.value} />
      <${ChoiceField} label=${t("operator.reset_to")} name="to" autofocus value=${place} options=${places} />
      ${place.value === "time" && html`<${TypedField} ...${timeInput} label=${t("word.time")} value=${time} />`}
      ${
        place.value === "offset" &&
        html`<${TypedField} label=${t("field.queue_id")} name="queue" min="0" required value=${queue} />
          <${TypedField} label=${t("word.offset")} name="offset" min="0" required value=${offset} />`
      }
    </div>
    <${Plan} plan=${found} group=${group} />
    <${ActionCommand} text=${commandOf("groups reset-offset", options, [group])} />
  </${ActionForm}>`;
}

/** Asks the broker for the effect of the request, a moment after it was changed last. `plan` names in `key` the request
 * that it answers: what the broker said of another one is neither shown nor offered.
 */
function usePlan(key, plan) {
  useEffect(() => {
    let isNewest = true;
    const timer = setTimeout(async () => {
      const found = await post("/api/live/offsets", { ...JSON.parse(key), preview: true });
      if (isNewest) plan.value = { ...found, key };
    }, PREVIEW_AFTER_MS);
    return () => {
      isNewest = false;
      clearTimeout(timer);
    };
  }, [key]);
}

function whatItMeans({ again, skipped, first_us: firstUs }, group, tense) {
  const values = { group, n: again || skipped, time: dateTime(firstUs) };
  if (again > 0 && skipped > 0)
    return t(`operator.reset_${tense}_both`, { ...values, again: count(again), skipped: count(skipped) });
  if (again > 0) return t(`operator.reset_${tense}_again`, values);
  return t(`operator.reset_${tense}_${skipped > 0 ? "skip" : "nothing"}`, values);
}

function Plan({ plan: { answer, why }, group }) {
  const refused = why ?? answer?.refused?.[language];
  const moved = answer?.queues?.filter(({ old, new: next }) => old !== next) ?? [];
  return html`<div class="reset-plan" role="status">
    ${refused && html`<p class="problem-text">${refused}</p>`}
    ${answer?.queues && html`<p class="action-advice">${whatItMeans(answer, group, "plan")}</p>`}
    ${answer?.is_online && html`<p>${t("operator.reset_online")}</p>`}
    <ul class="reset-queues number" role="list">
      ${moved.slice(0, MOST_QUEUES).map(
        ({ queue_id: id, old, new: next }) =>
          html`<li key=${id}>
            ${t("operator.reset_queue", { id, old: old === null ? "–" : count(old), next: count(next) })}
          </li>`,
      )}
      ${moved.length > MOST_QUEUES && html`<li>${t("word.more", { n: moved.length - MOST_QUEUES })}</li>`}
    </ul>
  </div>`;
}
