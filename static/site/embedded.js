// @ts-check
// Shows only the stage where another page holds this one in a frame. A server does it as it renders the page; here one
// file serves both. Not a module: it must run before the page is drawn.

const frame = new URLSearchParams(location.search).get("embed");
document.body.classList.toggle("is-embedded", frame !== null);
document.body.classList.toggle("is-paired", frame === "pair");
