// The jobs: what each of them answers. A click asks for what it needs to know.

import { html } from "htm/preact";
import { t } from "../common/i18n.js";
import { chosenJob, info, inLanguage } from "./runs.js";

export function JobList() {
  return html`<section class="panel" aria-labelledby="jobs-title">
    <header class="panel-head"><h2 class="panel-title" id="jobs-title">${t("pipeline.jobs")}</h2></header>
    <ul class="job-list" role="list">
      ${info.value.jobs.map(
        (job) => html`<li key=${job.name}>
          <a class="job" href=${`#${job.name}`} aria-current=${chosenJob.value === job.name ? "true" : null}>
            <strong>${inLanguage(job.title)}</strong>
            <span class="job-about quiet">${firstSentence(inLanguage(job.about))}</span>
          </a>
        </li>`,
      )}
    </ul>
  </section>`;
}

function firstSentence(text) {
  return /^.*?(?:[.?!](?=\s|$)|[。？！])/s.exec(text)?.[0] ?? text;
}
