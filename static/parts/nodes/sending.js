// @ts-check
// How a client sends: asynchronous sends and their bound, requests and replies, brokers that are avoided, notes of a
// trace.

import { html } from "htm/preact";
import { count } from "../../common/format.js";
import { t } from "../../common/i18n.js";
import { shortMs, virtualTime } from "../../common/world/format.js";
import { memo } from "../../common/memo.js";

/** A line of the card: its name, and figures in words. */
const line = (name, title, content) =>
  html`<p class="node-line sending-line" data-part=${name} title=${title}>
    <span class="quiet">${t(`lab.sending.${name}`)}</span> ${content}
  </p>`;

export const Sending = memo(
  ({ part }) => html`
    ${line(
      "modes",
      t("lab.sending.modes_hint"),
      part.modes.map((mode) => html`<span class="badge" key=${mode}>${t(`lab.sending.mode_${mode}`)}</span> `),
    )}
    ${
      part.permits &&
      line(
        "permits",
        t("lab.sending.permits_hint", { max: part.permits.in_flight_max }),
        html`
          <span class="number">${count(part.permits.in_flight)} / ${count(part.permits.in_flight_max)}</span>
          ${
            part.permits.waiting > 0 &&
            html` <span class="badge badge-warning">${t("lab.waiting", { n: part.permits.waiting })}</span>`
          }
        `,
      )
    }
    ${
      part.requests &&
      line(
        "requests",
        t("lab.sending.requests_hint"),
        html`<span class="number">${t("lab.sending.requests_counts", part.requests)}</span>`,
      )
    }
    ${
      part.avoided &&
      line(
        "avoided",
        t("lab.sending.avoided_hint"),
        part.avoided.length === 0
          ? html`<span class="quiet">${t("lab.sending.avoids_none")}</span>`
          : part.avoided.map(
              (item) =>
                html`
                  <span
                    class="badge badge-warning"
                    key=${item.broker}
                    title=${t("lab.sending.avoids_why", { broker: item.broker, latency: shortMs(item.latency_ms) })}
                  >
                    ${t("lab.sending.avoids", { broker: item.broker, until: virtualTime(item.until_us).slice(0, -6) })}
                  </span> `,
            ),
      )
    }
  `,
);

export const Replies = memo(({ part }) =>
  line(
    "replies",
    t("lab.sending.replies_hint"),
    html`<span class="number">${t("lab.sending.replies_counts", part)}</span>`,
  ),
);

export const Trace = memo(({ part }) =>
  line(
    "trace",
    t("lab.sending.trace_hint"),
    html`
      <span class="number">${t("lab.sending.trace_counts", part)}</span>
      ${
        part.dropped + part.lost > 0 &&
        html` <span class="badge badge-bad">${t("lab.sending.trace_lost", { n: part.dropped + part.lost })}</span>`
      }
    `,
  ),
);
