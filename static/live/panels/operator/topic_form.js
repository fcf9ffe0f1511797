// @ts-check
// Creating a topic.

import { html } from "htm/preact";
import { useSignal } from "@preact/signals";
import { t } from "../../../common/i18n.js";
import { post } from "../../../common/request.js";
import { ActionForm } from "../../../parts/messages/action.js";
import { ActionCommand, commandOf } from "./command_line.js";
import { TypedField } from "./field.js";

const QUEUES_MAX = 1024;

export function TopicForm(dialog) {
  const topic = useSignal("");
  const queues = useSignal(4);
  const act = async () => {
    const { answer, why = "" } = await post("/api/live/topics", { topic: topic.value.trim(), queues: queues.value });
    return { why, done: answer && t("operator.topic_done", answer) };
  };
  const command = commandOf("topics create", ["--queues", queues.value], [topic.value.trim() || "TOPIC"]);
  return html`<${ActionForm}
    title=${t("operator.topic_title")}
    button=${t("operator.topic_do")}
    act=${act}
    ...${dialog}
  >
    <div class="action-fields">
      <${TypedField}
        label=${t("field.topic")}
        name="topic"
        required
        autofocus
        maxlength="127"
        pattern=${"[%\\|a-zA-Z0-9_\\-]+"}
        title=${t("operator.topic_allowed")}
        value=${topic}
      />
      <${TypedField} label=${t("operator.queues")} name="queues" required min="1" max=${QUEUES_MAX} value=${queues} />
    </div>
    <p>${t("operator.topic_text")}</p>
    <${ActionCommand} text=${command} />
  </${ActionForm}>`;
}
