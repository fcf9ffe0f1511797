// @ts-check
// What the learner has done, where no server has written it into the page: see static/site/done_steps.js.

/**
 * How far the learner is with a lesson; null: it is in the page.
 *
 * @type {(lesson: string) => Promise<Picture.LessonProgress | null>}
 */
export const progressOf = async () => null;

/**
 * By lesson: how many of its steps are done; null: it is in the page.
 *
 * @returns {Promise<Map<string, number> | null>}
 */
export const doneSteps = async () => null;
