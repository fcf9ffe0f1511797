// @ts-check
// The moments of a stretch of the journal that a replay shows: plain functions of its entries.

/**
 * The entries after which there is something new to be seen: the last one of each moment, at most `most` of them.
 * Where there are too many, timers go first, then arrivals of frames; what a command did (`commanded`: numbers of
 * entries) always stays.
 */
export function momentsOf(entries, commanded, most) {
  const moments = [];
  let worth = 0;
  for (const [at, { number, time, actor }] of entries.entries()) {
    worth = Math.max(worth, commanded.has(number) ? 2 : actor.includes("->") ? 1 : 0);
    if (entries[at + 1]?.time === time) continue;
    moments.push({ number, time, worth });
    worth = 0;
  }
  const withoutTimers = thinned(moments, (moment) => moment.worth === 0, most);
  return thinned(withoutTimers, (moment) => moment.worth < 2, most);
}

/** Leaves every Nth of the moments that may be left out, until few enough are left; the last one stays. */
function thinned(moments, mayGo, most) {
  const tooMany = moments.length - most;
  const free = moments.filter((moment, index) => mayGo(moment) && index < moments.length - 1);
  if (tooMany <= 0 || free.length === 0) return moments;
  const gone = new Set(
    free.filter(
      (_, index) =>
        Math.floor(((index + 1) * tooMany) / free.length) > Math.floor((index * tooMany) / free.length) ||
        tooMany >= free.length,
    ),
  );
  return moments.filter((moment) => !gone.has(moment));
}
