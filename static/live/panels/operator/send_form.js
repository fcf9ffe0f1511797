// @ts-check
// Sending one message.

import { html } from "htm/preact";
import { useSignal } from "@preact/signals";
import { count, typedKey } from "../../../common/format.js";
import { t } from "../../../common/i18n.js";
import { userTopics } from "../../../common/cluster/lists.js";
import { post } from "../../../common/request.js";
import { ActionForm } from "../../../parts/messages/action.js";
import { ActionCommand, commandOf } from "./command_line.js";
import { Field } from "./field.js";

const DELAYS = "1 s,5 s,10 s,30 s,1 min,2 min,3 min,4 min,5 min,6 min,7 min,8 min,9 min,10 min,20 min,30 min,1 h,2 h";

export function SendForm({ topic: chosen, onClose, onDone }) {
  const topic = useSignal(chosen);
  const body = useSignal("");
  const tag = useSignal("");
  const keys = useSignal("");
  const level = useSignal(0);
  const words = keys.value.split(" ").filter(Boolean);
  const act = async () => {
    const request = { topic: topic.value.trim(), body: body.value, tag: typedKey(tag.value), keys: words };
    const { answer, why = "" } = await post("/api/live/messages", { ...request, delay_level: level.value });
    if (!answer) return { why };
    const place = { topic: answer.topic, id: answer.queue_id, offset: count(answer.offset) };
    return { why, done: t(level.value > 0 ? "operator.send_delayed" : "operator.send_done", place) };
  };
  const options = [
    ...(typedKey(tag.value) ? ["--tag", typedKey(tag.value)] : []),
    ...words.flatMap((key) => ["--key", key]),
    ...(level.value > 0 ? ["--delay-level", level.value] : []),
  ];
  const text = (name, value, more = {}) => html`<input
    name=${name}
    value=${value.value}
    maxlength="255"
    ...${more}
    onInput=${(event) => (value.value = event.currentTarget.value)}
  />`;
  return html`<${ActionForm}
    id="operator-dialog"
    title=${chosen ? t("operator.send_title_to", { topic: chosen }) : t("operator.send_title")}
    button=${t("operator.send_do")}
    act=${act}
    onClose=${onClose}
    onDone=${onDone}
  >
    <div class="action-fields">
      ${
        !chosen &&
        html`<${Field} label=${t("field.topic")} isWide=${true}>
          ${text("topic", topic, { required: true, list: "operator-topics", autofocus: true })}
          <datalist id="operator-topics">
            ${userTopics.value.map((name) => html`<option key=${name} value=${name}></option>`)}
          </datalist>
        </${Field}>`
      }
      <${Field} label=${t("word.body")} isWide=${true}>
        <textarea
          name="body"
          required
          rows="3"
          maxlength="16384"
          autofocus=${Boolean(chosen)}
          value=${body.value}
          onInput=${(event) => (body.value = event.currentTarget.value)}
        ></textarea>
      </${Field}>
      <${Field} label=${t("word.tag")}>${text("tag", tag, { pattern: "[^\\s\\|]*" })}</${Field}>
      <${Field} label=${t("operator.keys")}>${text("keys", keys)}</${Field}>
      <${Field} label=${t("operator.delay")}>
        <select
          name="delay"
          value=${level.value}
          onChange=${(event) => (level.value = Number(event.currentTarget.value))}
        >
          <option value="0">${t("operator.at_once")}</option>
          ${DELAYS.split(",").map(
            (delay, index) =>
              html`<option key=${delay} value=${index + 1}>
                ${t("operator.delay_level", { level: index + 1, delay })}
              </option>`,
          )}
        </select>
      </${Field}>
    </div>
    <${ActionCommand} text=${commandOf("send", options, [topic.value.trim() || "TOPIC", body.value || "TEXT"])} />
  </${ActionForm}>`;
}
