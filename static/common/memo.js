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
    shouldComponentUpdate(next) {
      const now = this.props;
      for (const key in next) if (next[key] !== now[key]) return true;
      for (const key in now) if (!(key in next)) return true;
      return false;
    }

    render(props) {
      return h(render, props);
    }
  };
  return Remembering;
}
