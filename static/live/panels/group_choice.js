// @ts-check
// Which consumer group the tab of the consumers is about.

import { html } from "htm/preact";
import { groupNames } from "../../common/cluster/lists.js";
import { chosenGroup } from "../../common/cluster/selection.js";
import { t } from "../../common/i18n.js";
import { Select } from "../../parts/panel/select.js";

/** The chosen group, or the first one; undefined when there is none. */
export const shownGroup = () => groupNames.value.find((name) => name === chosenGroup.value) ?? groupNames.value[0];

export const GroupChoice = ({ group, mark = null }) =>
  html`<label class="field">
    <span class="sr-only">${t("word.consumer_group")}</span>
    ${mark}
    <${Select} value=${group} choose=${(name) => (chosenGroup.value = name)} options=${groupNames.value} />
  </label>`;
