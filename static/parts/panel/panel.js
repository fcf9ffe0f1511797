// @ts-check
// A panel: a part of a page with a heading of its own.

import { html } from "htm/preact";

/**
 * @param {object} properties
 * @param {string} [properties.id] Of a panel to which links lead.
 * @param {string} [properties.name] What the id of its heading begins with.
 * @param {string} [properties.kind] Further classes.
 * @param {string} [properties.heading] The heading's element.
 * @param {any} [properties.box] A ref to the panel's element.
 * @param {any} properties.title
 * @param {any} [properties.hint] A quiet text after the title.
 * @param {any} [properties.head] What follows in the head.
 * @param {any} [properties.children]
 */
export const Panel = ({ id, name = id, kind = "", heading = "h2", box, title, hint, head, children, ...rest }) =>
  html`<section
    class=${`panel ${kind}`}
    id=${id}
    ref=${box}
    tabindex=${id && "-1"}
    aria-labelledby=${`${name}-title`}
    ...${rest}
  >
    <header class="panel-head">
      <${heading} class="panel-title" id=${`${name}-title`}>${title}</${heading}>
      ${hint && html`<span class="quiet">${hint}</span>`}${head}
    </header>
    ${children}
  </section>`;
