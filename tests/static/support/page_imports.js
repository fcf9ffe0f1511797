// Lets Node.js import the page's modules as a browser does: `node --import ./tests/static/support/page_imports.js`.

import { register } from "node:module";

register("./page_import_hooks.js", import.meta.url);
