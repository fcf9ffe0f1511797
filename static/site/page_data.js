// What a page of the site knows: see static/common/page_data.js. Its texts are in one file for all pages.

const inPage = JSON.parse(document.getElementById("page-data").textContent);
const file = new URL(`../../texts/${inPage.language}.json`, import.meta.url);

export const pageData = { ...inPage, translations: await (await fetch(file)).json() };
