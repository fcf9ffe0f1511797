// @ts-check
// The glossary: its search.

import "./chrome.js";
import { allOf } from "./elements.js";
import { searchList } from "./list_search.js";

searchList(allOf(".term"), (row) => row.id, "glossary.found");
