// Which systems no other beats in both score and cost. Pure.

/**
 * Points `{ x, y }` with y better upwards (times `better`: 1 or -1) and x cheaper downwards (times `cheaper`). Each gets
 * `place`, from 1 along the frontier, or `by`: the point of the frontier that is no dearer and better, or cheaper and no
 * worse.
 */
export function frontierOf(points, { better = 1, cheaper = 1 } = {}) {
  const sorted = [...points].sort((p, q) => cheaper * (p.x - q.x) || better * (q.y - p.y));
  let best = null, place = 0;
  return sorted.map((point) => {
    const equal = best && point.x === best.x && point.y === best.y;
    if (best && !equal && better * (point.y - best.y) <= 0) return { ...point, place: null, by: best };
    if (!equal) [best, place] = [point, place + 1];
    return { ...point, place, by: null };
  });
}
