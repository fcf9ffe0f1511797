// @ts-check
// Sets the theme before the first paint; therefore a classic script in the head, and the only one.
// "auto" follows the operating system. ?theme=projector in the address wins over the stored choice.

(() => {
  const KEY = "glassmq.theme";
  const THEMES = ["auto", "light", "dark", "projector"];
  const asked = new URLSearchParams(location.search).get("theme");
  const dark = matchMedia("(prefers-color-scheme: dark)");

  // In a frame of another site there may be no place to keep anything.
  const kept = () => {
    try {
      return localStorage.getItem(KEY);
    } catch {
      return null;
    }
  };
  /** @type {(name: string | null) => name is string} */
  const isTheme = (name) => name !== null && THEMES.includes(name);
  const chosen = () => {
    const stored = isTheme(asked) ? asked : kept();
    return isTheme(stored) ? stored : "auto";
  };

  /** @param {string} choice */
  const show = (choice) => {
    document.documentElement.dataset.theme = choice === "auto" ? (dark.matches ? "dark" : "light") : choice;
    document.documentElement.dataset.themeChoice = choice;
    dispatchEvent(new CustomEvent("themechange"));
  };

  window.glassmqTheme = {
    themes: THEMES,
    choose(choice) {
      try {
        localStorage.setItem(KEY, choice);
      } catch {
        // It lasts as long as the page.
      }
      show(choice);
    },
  };
  // Chosen on another page of this browser, or on the page around this one.
  addEventListener("storage", ({ key, newValue }) => key === KEY && isTheme(newValue) && show(newValue));
  dark.addEventListener("change", () => document.documentElement.dataset.themeChoice === "auto" && show("auto"));
  show(chosen());
})();
