// The differences of two texts. Words are compared; white space is not.
//
// Myers, "An O(ND) Difference Algorithm" (1986): for d = 0, 1, 2... keep the furthest paths with d
// changes. After EFFORT changes, accept the furthest path and restart at its end. So texts without
// common words cost at most EFFORT steps per word.

const EFFORT = 500;

// A character of a script without spaces, a word, or any other sign; then white space.
const TOKEN = /((?:[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]\p{M}*)|(?:[[\p{L}\p{M}\p{N}_]--[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]]+)|\S(?:[\p{M}\ufe0f]|\u200d\S)*)(\s*)/gv;

/** The tokens of a text: `word`, and the `space` after it. */
function tokens(text) {
  return Array.from(text.trimStart().matchAll(TOKEN), ([, word, space]) => ({ word, space }));
}

/**
 * How the kept text becomes the removed one: stretches of tokens in order, each with `kind`
 * ("same", "kept": only there, "removed": only there, "beyond": the other excerpt ends before)
 * and its tokens on both sides.
 */
function difference(keptText, removedText, keptIsCut, removedIsCut) {
  const kept = tokens(keptText), removed = tokens(removedText);
  const [a, b] = numbered(kept, removed);
  const runs = grown(withoutShortRuns(commonRuns(a, b), a.length, b.length), a, b);
  const stretches = [];
  let k = 0, r = 0;
  const gap = (keptEnd, removedEnd, isLast) => {
    if (keptEnd > k) stretches.push({ kind: isLast && removedIsCut ? "beyond" : "kept", kept: kept.slice(k, keptEnd), removed: [] });
    if (removedEnd > r) stretches.push({ kind: isLast && keptIsCut ? "beyond" : "removed", kept: [], removed: removed.slice(r, removedEnd) });
  };
  for (const run of runs) {
    gap(run.k, run.r, false);
    k = run.k + run.length;
    r = run.r + run.length;
    stretches.push({ kind: "same", kept: kept.slice(run.k, k), removed: removed.slice(run.r, r) });
  }
  gap(kept.length, removed.length, true);
  return stretches;
}

/** Replaces words by numbers, which are faster to compare. */
function numbered(...texts) {
  const numbers = new Map();
  const number = ({ word }) => {
    if (!numbers.has(word)) numbers.set(word, numbers.size);
    return numbers.get(word);
  };
  return texts.map((text) => Int32Array.from(text, number));
}

/** Runs of equal numbers in both, in order: `{k, r, length}`. */
function commonRuns(a, b) {
  const runs = [];
  let k = 0, r = 0;
  while (k < a.length && r < b.length) {
    const part = furthest(a.subarray(k), b.subarray(r));
    for (const run of part.runs) runs.push({ k: run.k + k, r: run.r + r, length: run.length });
    k += part.k;
    r += part.r;
  }
  return runs;
}

/** The path with the fewest changes to the end of both, or the furthest path with EFFORT changes. */
function furthest(a, b) {
  const limit = Math.min(EFFORT, a.length + b.length);
  const middle = limit + 1;
  const reach = new Int32Array(2 * limit + 3); // for each diagonal k - r: the largest k
  const history = [];
  for (let changes = 0; changes <= limit; changes++) {
    history.push(reach.slice(middle - changes - 1, middle + changes + 2));
    let best = null;
    for (let diagonal = -changes; diagonal <= changes; diagonal += 2) {
      const down = diagonal === -changes ||
        (diagonal !== changes && reach[middle + diagonal - 1] < reach[middle + diagonal + 1]);
      let k = down ? reach[middle + diagonal + 1] : reach[middle + diagonal - 1] + 1;
      let r = k - diagonal;
      while (k < a.length && r < b.length && a[k] === b[r]) { k++; r++; }
      reach[middle + diagonal] = k;
      const isInside = k <= a.length && r <= b.length;
      if (isInside && (!best || k + r > best.k + best.r)) best = { k, r, diagonal };
      if (k >= a.length && r >= b.length) return backtrack(history, a, b, { k: a.length, r: b.length });
    }
    if (changes === limit && best) return backtrack(history, a, b, best);
  }
  return { k: a.length, r: b.length, runs: [] };
}

/** The runs of a path, collected from its end to its start. */
function backtrack(history, a, b, end) {
  const runs = [];
  let { k, r } = end;
  for (let changes = history.length - 1; changes >= 0; changes--) {
    const reach = history[changes], middle = changes + 1;
    const diagonal = k - r;
    const down = diagonal === -changes ||
      (diagonal !== changes && reach[middle + diagonal - 1] < reach[middle + diagonal + 1]);
    const from = changes === 0 ? 0 : down ? reach[middle + diagonal + 1] : reach[middle + diagonal - 1] + 1;
    if (k > from) runs.push({ k: from, r: from - diagonal, length: k - from });
    k = changes === 0 ? 0 : down ? from : from - 1;
    r = changes === 0 ? 0 : down ? from - diagonal - 1 : from - diagonal;
  }
  return { ...end, runs: runs.reverse() };
}

/** Drops very short runs between long changes, which only confuse readers. */
function withoutShortRuns(runs, keptLength, removedLength) {
  const good = [];
  runs.forEach((run, at) => {
    const before = good.at(-1) ?? { k: 0, r: 0, length: 0 };
    const after = runs[at + 1] ?? { k: keptLength, r: removedLength };
    const changedBefore = Math.max(run.k - before.k, run.r - before.r) - before.length;
    const changedAfter = Math.max(after.k - run.k, after.r - run.r) - run.length;
    if (run.length * 3 > Math.min(changedBefore, changedAfter)) good.push({ ...run });
  });
  return good;
}

/** Extends runs by equal words before them that became free. */
function grown(runs, a, b) {
  let k = 0, r = 0;
  for (const run of runs) {
    while (run.k > k && run.r > r && a[run.k - 1] === b[run.r - 1]) { run.k--; run.r--; run.length++; }
    k = run.k + run.length;
    r = run.r + run.length;
  }
  return runs;
}

/**
 * Splits stretches into rows. A row ends where both texts have the same word and a line end, or
 * when it gets long. Each row has `pieces` (`kind`, `kept`, `removed`: strings) and
 * `changed`.
 */
function rows(stretches) {
  const LONG = 400, TOO_LONG = 800;
  const all = [];
  let row = { pieces: [], changed: false, length: 0 };
  const finish = () => {
    if (row.pieces.length) all.push(row);
    row = { pieces: [], changed: false, length: 0 };
  };
  const text = (some) => some.map(({ word, space }) => word + space).join("");
  for (const { kind, kept, removed } of stretches) {
    if (kind !== "same") {
      row.pieces.push({ kind, kept: text(kept), removed: text(removed) });
      row.changed = true;
      row.length += Math.max(row.pieces.at(-1).kept.length, row.pieces.at(-1).removed.length);
      continue;
    }
    let start = 0;
    kept.forEach((token, at) => {
      row.length += token.word.length + 1;
      const lineEnds = token.space.includes("\n") && removed[at].space.includes("\n");
      const sentenceEnds = row.length > LONG && /[.!?。！？]/u.test(token.word) && token.space;
      if (lineEnds || sentenceEnds || row.length > TOO_LONG) {
        row.pieces.push({ kind, kept: text(kept.slice(start, at + 1)), removed: text(removed.slice(start, at + 1)) });
        start = at + 1;
        finish();
      }
    });
    if (start < kept.length) row.pieces.push({ kind, kept: text(kept.slice(start)), removed: text(removed.slice(start)) });
  }
  finish();
  return all;
}
