// @ts-check
// The short name of a client. The server gives it (app/observation/client_names.py), so that every panel, every browser
// and a recording have the same one.

import { html } from "htm/preact";
import { state } from "../common/cluster/view.js";

/**
 * "C1"; of a client that the picture does not have: its id.
 *
 * @param {string} id
 */
export const nameOf = (id) => state.value.client_names[id] ?? id;

/**
 * "C1 10.0.0.4@7": for titles and choices.
 *
 * @param {string} id
 */
export const fullName = (id) => (id in state.value.client_names ? `${nameOf(id)} ${id}` : id);

/**
 * The name as a sign in front of the id.
 *
 * @param {{ id: string | null | undefined }} properties
 */
export function ClientSign({ id }) {
  return id && id in state.value.client_names && html`<span class="client-sign" title=${id}>${nameOf(id)}</span>`;
}
