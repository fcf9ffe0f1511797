// What a page knows from its document (static/common/page_data.js): its language and the texts of app/translations.

import { readFileSync } from "node:fs";

const language = import.meta.url.endsWith("?zh") ? "zh" : "en";
const texts = new URL(`../../../app/translations/${language}.json`, import.meta.url);

export const pageData = { language, translations: JSON.parse(readFileSync(texts, "utf8")) };
