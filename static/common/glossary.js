// The glossary: its search.

import "./chrome.js";
import { searchList } from "./list_search.js";

searchList([...document.querySelectorAll(".term")], "glossary.found");
