// @ts-check
// The line at the foot of the site's pages: what loads, what went wrong, and what helps.

/**
 * Shows `text`, with a button if there is something to do. An empty text takes the line away.
 *
 * @param {string} text
 * @param {"status" | "alert"} role
 * @param {{ label: string, act: () => void } | null} button
 */
export function say(text, role = "status", button = null) {
  const line = document.querySelector(".site-progress") ?? document.createElement("p");
  Object.assign(line, { className: "site-progress", textContent: text, role });
  if (button) {
    const press = document.createElement("button");
    Object.assign(press, { type: "button", className: "button", textContent: button.label });
    press.addEventListener("click", button.act);
    line.append(" ", press);
  }
  document.body.append(line);
}
