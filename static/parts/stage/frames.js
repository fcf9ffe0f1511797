// @ts-check
// The frames as a table: those under way first, then the last that arrived. Each opens down to its bytes.

import { html } from "htm/preact";
import { useComputed } from "@preact/signals";
import { bytes } from "../../common/format.js";
import { t } from "../../common/i18n.js";
import { span } from "../../common/world/format.js";
import { memo } from "../../common/memo.js";
import { calmView, openFrame } from "../../common/world/view.js";
import { frameName, frameShape } from "../../common/world/frame_words.js";
import { Button } from "../controls/button.js";

const MOST = 60;

export function Frames() {
  const shown = useComputed(() => {
    const { frames, time_us: time } = calmView.value;
    const isUnderWay = (frame) => !frame.dropped && frame.arrives_us > time;
    return [
      ...frames.filter(isUnderWay).sort((a, b) => a.arrives_us - b.arrives_us),
      ...frames.filter((frame) => !isUnderWay(frame)).reverse(),
    ].slice(0, MOST);
  });
  const now = useComputed(() => calmView.value.time_us);
  if (shown.value.length === 0) return html`<p class="panel-empty quiet">${t("lab.none_yet")}</p>`;
  return html`<ul class="frame-rows">
    ${shown.value.map(
      (frame) =>
        html`<${FrameRow}
          key=${frame.id}
          frame=${frame}
          left=${frame.dropped ? null : Math.max(0, frame.arrives_us - now.value)}
        />`,
    )}
  </ul>`;
}

const FrameRow = memo(
  ({ frame, left }) => html`<li>
    <${Button} class=${`frame-row ${left > 0 ? "is-under-way" : ""}`} onClick=${() => (openFrame.value = frame.id)}>
      <span class=${`frame-${frameShape(frame)}`}>
        <span class="frame-sign" aria-hidden="true">${frame.dropped ? "✕" : ""}</span>
      </span>
      <span class="ellipsis mono">${frame.source} → ${frame.target}</span>
      <span class="ellipsis">${frameName(frame)}</span>
      <span class="number quiet">${bytes(frame.size_bytes)}</span>
      <span class="number frame-left">
        ${frame.dropped ? t("lab.sequence.lost") : left > 0 ? span(left) : t("lab.frames.arrived")}
      </span>
    </${Button}>
  </li>`,
);
