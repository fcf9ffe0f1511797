// @ts-check
// Sending one message.

import { html } from "htm/preact";
import { useSignal } from "@preact/signals";
import { count, typedKey } from "../../../common/format.js";
import { t } from "../../../common/i18n.js";
import { userTopics } from "../../../common/cluster/lists.js";
import { post } from "../../../common/request.js";
import { ActionForm } from "../../../parts/messages/action.js";
import { Select } from "../../../parts/panel/select.js";
import { ActionCommand, commandOf } from "./command_line.js";
import { Field, TypedField } from "./field.js";

/** The input for a topic that is not chosen yet. */
const topicInput = { required: true, list: "operator-topics", autofocus: true, maxlength: 255 };
const DELAYS = "1 s,5 s,10 s,30 s,1 min,2 min,3 min,4 min,5 min,6 min,7 min,8 min,9 min,10 min,20 min,30 min,1 h,2 h";

export function SendForm({ topic: chosen, ...dialog }) {
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
    const place = { topic: answer.topic, id: answer.queue_id, offset: count(answer.queue_offset) };
    return { why, done: t(level.value > 0 ? "operator.send_delayed" : "operator.send_done", place) };
  };
  const options = [
    ...(typedKey(tag.value) ? ["--tag", typedKey(tag.value)] : []),
    ...words.flatMap((key) => ["--key", key]),
    ...(level.value > 0 ? ["--delay-level", level.value] : []),
  ];
  const delays = DELAYS.split(",").map((delay, index) => [
    index + 1,
    t("operator.delay_level", { level: index + 1, delay }),
  ]);
  return html`<${ActionForm}
    title=${chosen ? t("operator.send_title_to", { topic: chosen }) : t("operator.send_title")}
    button=${t("operator.send_do")}
    act=${act}
    ...${dialog}
  >
    <div class="action-fields">
      ${
        !chosen &&
        html`<${TypedField} isWide label=${t("field.topic")} name="topic" value=${topic} ...${topicInput}>
          <datalist id="operator-topics">
            ${userTopics.value.map((name) => html`<option key=${name} value=${name}></option>`)}
          </datalist>
        </${TypedField}>`
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
      <${TypedField} label=${t("word.tag")} name="tag" maxlength="255" pattern=${"[^\\s\\|]*"} value=${tag} />
      <${TypedField} label=${t("operator.keys")} name="keys" maxlength="255" value=${keys} />
      <${Field} label=${t("operator.delay")}>
        <${Select}
          name="delay"
          value=${level.value}
          choose=${(next) => (level.value = Number(next))}
          options=${[[0, t("operator.at_once")], ...delays]}
        />
      </${Field}>
    </div>
    <${ActionCommand} text=${commandOf("send", options, [topic.value.trim() || "TOPIC", body.value || "TEXT"])} />
  </${ActionForm}>`;
}
