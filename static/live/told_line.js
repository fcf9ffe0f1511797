// @ts-check
// A line at the bottom of the page that reports a result, until it is closed.

import { html } from "htm/preact";
import { t } from "../common/i18n.js";
import { Button } from "../parts/controls/button.js";

/** `role`: "status" or "alert"; `text`: a signal, empty when there is nothing to tell. Others are its place's. */
export const ToldLine = ({ role, text, kind = "", sign = null, ...rest }) =>
  html`<div class="told" role=${role} ...${rest}>
    ${
      text.value &&
      html`<p class=${`told-line ${kind}`}>
        <span>${sign}${text.value}</span>
        <${Button} class="button row-button" onClick=${() => (text.value = "")}>${t("word.close")}</${Button}>
      </p>`
    }
  </div>`;
