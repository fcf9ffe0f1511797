// @ts-check
// What the server wrote into the page: its language. A data block, so that no script is inline.

export const pageData = JSON.parse(/** @type {HTMLElement} */ (document.getElementById("page-data")).textContent);
