// @ts-check
// The done steps of lessons in the visitor's browser (IndexedDB): a row for each, so that two tabs add to each other.
// The worker fills them from the application and returns them to it, in the format of app/lessons/progress_file.py.
// Where a browser stores nothing, progress ends with the page.

/**
 * @typedef {{ lesson: string, step: string, done_at: number, prediction: string, right: boolean | null }} KeptStep As
 *   in app/lessons/progress_file.py.
 */

const STORE = "steps";
/** In a frame of another site's page some browsers neither open a database nor refuse to. */
const OPENS_WITHIN_MS = 2_000;

/**
 * @template Result
 * @param {IDBRequest<Result>} request
 * @returns {Promise<Result>}
 */
function finished(request) {
  return new Promise((resolve, reject) => {
    request.addEventListener("success", () => resolve(request.result));
    request.addEventListener("error", () => reject(request.error));
  });
}

/**
 * @template Result
 * @param {IDBTransactionMode} mode
 * @param {(store: IDBObjectStore) => Promise<Result>} work
 */
async function inStore(mode, work) {
  const opening = indexedDB.open("glassmq-lessons", 1);
  opening.addEventListener("upgradeneeded", () => {
    opening.result.createObjectStore(STORE, { keyPath: ["lesson", "step"] });
  });
  const database = await new Promise((resolve, reject) => {
    finished(opening).then(resolve, reject);
    setTimeout(reject, OPENS_WITHIN_MS, new Error("the browser does not open its database"));
  });
  try {
    const transaction = database.transaction(STORE, mode);
    const isStored = new Promise((resolve, reject) => {
      transaction.addEventListener("complete", resolve);
      transaction.addEventListener("abort", () => reject(transaction.error));
    });
    const [result] = await Promise.all([work(transaction.objectStore(STORE)), isStored]);
    return result;
  } finally {
    database.close();
  }
}

/**
 * All rows in the order in which the steps were done; none where the browser keeps nothing.
 *
 * @returns {Promise<KeptStep[]>}
 */
export async function keptSteps() {
  try {
    const rows = await inStore("readonly", (store) => finished(store.getAll()));
    return rows.sort((one, other) => one.done_at - other.done_at);
  } catch {
    return [];
  }
}

/**
 * Adds steps. Returns whether they are stored.
 *
 * @param {KeptStep[]} steps
 * @param {string} [reset] The lesson whose steps are forgotten before.
 */
export async function keepSteps(steps, reset) {
  try {
    await inStore("readwrite", async (store) => {
      const old = reset ? await finished(store.getAllKeys(IDBKeyRange.bound([reset], [reset, []]))) : [];
      const changes = [...old.map((key) => store.delete(key)), ...steps.map((row) => store.put(row))];
      await Promise.all(changes.map((change) => finished(/** @type {IDBRequest<unknown>} */ (change))));
    });
    return true;
  } catch (error) {
    console.warn(`progress is not kept: ${error}`);
    return false;
  }
}
