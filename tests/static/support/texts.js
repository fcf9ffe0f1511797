// The texts of a page in its language, as the server makes them of app/translations.

import { readFileSync } from "node:fs";

const language = import.meta.url.endsWith("?zh") ? "zh" : "en";
const file = new URL(`../../../app/translations/${language}.json`, import.meta.url);

export default JSON.parse(readFileSync(file, "utf8"));
