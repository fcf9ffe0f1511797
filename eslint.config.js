// What `make lint` looks for in the page's modules. Layout is prettier's business (package.json).

import js from "@eslint/js";
import globals from "globals";

const PAGES = ["filters", "lab", "landing", "lessons", "live", "pipeline", "site", "storage"];

/** Refuse imports into `folder` from other pages' folders; from what pages share, also those from any page; and from
    components, those from the live page's state. */
const sharedOnly = (folder, foreign) => ({
  files: [`static/${folder}/**/*.js`],
  rules: {
    "no-restricted-imports": [
      "error",
      {
        patterns: [
          {
            regex: `^(\\.\\./)+(${foreign.join("|")})/`,
            message:
              `static/${folder} imports from static/parts and static/common only: move what is shared there. ` +
              "A component gets the live page's state as parts, a clock and a source.",
          },
        ],
      },
    ],
  },
});

export default [
  { ignores: ["static/vendor/**"] },
  js.configs.recommended,
  {
    languageOptions: { globals: globals.browser },
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      eqeqeq: ["error", "always", { null: "ignore" }], // `== null` asks for null and undefined at once
      "no-shadow": ["error", { builtinGlobals: false, hoist: "all" }],
      "no-use-before-define": ["error", { functions: false, classes: false, variables: false }],
      "no-duplicate-imports": "error",
      "max-len": ["error", { code: 120 }], // prettier leaves templates as they are
      "no-var": "error",
      "prefer-const": "error",
    },
  },
  { files: ["tests/static/**", "**/*.mjs"], languageOptions: { globals: globals.node } },
  ...PAGES.map((page) =>
    sharedOnly(
      page,
      PAGES.filter((other) => other !== page),
    ),
  ),
  sharedOnly("parts", [...PAGES, "common/cluster"]),
  sharedOnly("common", [...PAGES, "parts"]),
];
