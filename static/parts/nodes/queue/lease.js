// @ts-check
// Times that run out: leases of locks, pulls that wait.

/** What is left of `wholeMs` milliseconds that began at `sinceUs`, in microseconds; 0 when they are over.
    @param {number} sinceUs @param {number} wholeMs @param {number} nowUs */
export const leftUs = (sinceUs, wholeMs, nowUs) => Math.max(0, sinceUs + wholeMs * 1000 - nowUs);
