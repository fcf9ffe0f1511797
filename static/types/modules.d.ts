// Modules that the server writes, by their names in the import map: see app/web/page_modules.py.

declare module "glassmq/texts" {
  const texts: Record<string, string>;
  export default texts;
}

declare module "glassmq/lab-tables" {
  const tables: Record<string, any>;
  export default tables;
}

/** What static/common/theme.js offers to the modules of the page. */
interface Window {
  glassmqTheme: { themes: string[]; choose(choice: string): void };
}
