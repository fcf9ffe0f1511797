// A component that renders again only when one of its properties is another object or value.

import { Component, h } from "htm/preact";

export function memo(render) {
  return class extends Component {
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
}
