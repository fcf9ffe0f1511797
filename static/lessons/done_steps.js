// @ts-check
// What the learner has done, where no server has written it into the page: see static/site/done_steps.js.

/**
 * By lesson: how many of its steps are done; null: it is in the page.
 *
 * @returns {Promise<Map<string, number> | null>}
 */
export const doneSteps = async () => null;
