// @ts-check
// The glossary: its search.

import "./chrome.js";
import { searchList } from "./list_search.js";

searchList([...document.querySelectorAll(".term")], (row) => row.id, "glossary.found");
