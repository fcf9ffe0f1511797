// @ts-check
// A command of a terminal as a shell has to read it.

/** A word as a shell has to read it. */
const quoted = (word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`);

/** The `words` of a call of glassmq. */
export function commandLine(words) {
  return `.venv/bin/glassmq ${words.map((word) => quoted(String(word))).join(" ")}`;
}
