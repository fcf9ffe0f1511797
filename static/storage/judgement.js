// @ts-check
// How good a prediction is.

/** Of bytes a prediction within this factor is close: who knows every length of a property? */
const CLOSE_FACTOR = 1.5;

/** "exact", "close", "less" or "more"; `figure`: "seeks" or "read_bytes".
    @param {string} figure @param {number} predicted @param {number} counted */
export function judged(figure, predicted, counted) {
  if (predicted === counted) return "exact";
  const isClose =
    figure === "seeks"
      ? Math.abs(predicted - counted) <= Math.max(1, counted / 10)
      : predicted <= counted * CLOSE_FACTOR && predicted * CLOSE_FACTOR >= counted;
  if (isClose) return "close";
  return predicted < counted ? "less" : "more";
}
