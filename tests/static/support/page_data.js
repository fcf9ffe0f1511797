// What a page knows from its document: see static/common/page_data.js.

export const pageData = { language: import.meta.url.endsWith("?zh") ? "zh" : "en" };
