// @ts-check
// Gives the visitor a file.

/** @type {Record<string, string>} */
const TYPES = { json: "application/json", csv: "text/csv", svg: "image/svg+xml" };

/** @param {string} name @param {string} text */
export function save(name, text) {
  const link = document.createElement("a");
  const type = TYPES[name.slice(name.lastIndexOf(".") + 1)];
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = `glassmq-storage-${name}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 0);
}
