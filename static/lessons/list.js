// @ts-check
// The list of lessons: its search.

import "../common/chrome.js";
import { searchList } from "../common/list_search.js";

searchList([...document.querySelectorAll(".lesson-item")], (row) => row.dataset.lesson, "lesson.list.found");
