// @ts-check
// The pipeline's page: which jobs there are, what they are asked, what they tell.

import { html, render } from "htm/preact";
import { signal } from "@preact/signals";
import "../common/chrome.js";
import "../common/viewer/motion.js";
import { elementOf } from "../common/elements.js";
import { t } from "../common/i18n.js";
import { openConnection } from "../common/transport.js";
import { openStream } from "../common/cluster/stream.js";
import { receive } from "../common/cluster/view.js";
import { History } from "./history.js";
import { JobForm } from "./job_form.js";
import { RunView } from "./run_view.js";
import { bilingual } from "../common/world/format.js";
import { chosenRun, info, loadInfo, receiveRuns, runById, tellsOf } from "./runs.js";

/** The stream of runs, once it is known that there is one. */
const runs = signal(/** @type {ReturnType<typeof openStream> | null} */ (null));

function Page() {
  const known = info.value;
  if (known === null) return html`<p class="loading">${t("pipeline.loading")}</p>`;
  if ("failure" in known) return html`<p class="problem" role="alert">${known.failure}</p>`;
  const run = runById(chosenRun.value);
  return html`
    ${known.problem && html`<p class="problem pipeline-problem">${bilingual(known.problem)}</p>`}
    <${Connection} />
    <div class="pipeline">
      <div class="pipeline-main">${run ? html`<${RunView} key=${run.id} run=${run} />` : html`<${JobForm} />`}</div>
      <${History} />
    </div>
    <p class="sr-only" role="status">${tellsOf(run)}</p>
  `;
}

/** Said only when it is of interest: what stands here may be old. */
function Connection() {
  const isLost = ["reconnecting", "refused"].includes(runs.value?.status.value ?? "");
  return isLost ? html`<p class="problem pipeline-problem" role="alert">${t("pipeline.connection_lost")}</p>` : null;
}

const place = elementOf("pipeline-place");
place.replaceChildren();
render(html`<${Page} />`, place);
// The broker's state brings topics, groups and the lanes on which Spark's offsets are drawn.
openStream(receive);
await loadInfo();
if (info.value && "master" in info.value && info.value.master)
  runs.value = openStream(receiveRuns, openConnection("/pipeline"));
