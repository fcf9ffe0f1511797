// @ts-check
// A component that renders again only when one of its properties is another object or value.

import { Component, h } from "htm/preact";

/**
 * @template Props
 * @param {import("preact").FunctionComponent<Props>} render
 * @returns {(props: Props) => any}
 */
export function memo(render) {
  /** @type {any} */
  const Remembering = class extends Component {
    /** @param {Record<string, unknown>} next */
    shouldComponentUpdate(next) {
      const now = /** @type {Record<string, unknown>} */ (this.props);
      for (const key in next) if (next[key] !== now[key]) return true;
      for (const key in now) if (!(key in next)) return true;
      return false;
    }

    /** @param {any} props */
    render(props) {
      return h(render, props);
    }
  };
  return Remembering;
}
