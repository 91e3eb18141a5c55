// The histogram and its slider: how many items would be removed at another threshold.
//
// `steps` are the selectable thresholds, from that of the run to the strictest. `removedAt` and
// `groupsAt` count what is removed at each step but not at the next.

const { scale, steps, removedAt, groupsAt } = data.head.overview;
const byDistance = scale.kind === "distance";
// The totals from each step on.
const removedFrom = sumsFromEnd(removedAt), groupsFrom = sumsFromEnd(groupsAt);

function sumsFromEnd(counts) {
  const sums = counts.slice();
  for (let at = sums.length - 2; at >= 0; at--) sums[at] += sums[at + 1];
  return sums;
}

/** A similarity or distance as text. */
function shownValue(value) {
  if (value === undefined) return "not measured";
  if (byDistance) return counted(value, "bit");
  return (Math.floor(value * 100 + 1e-6) / 100).toFixed(2); // rounded down
}

/** The strictest step that a value still meets. */
function stepOf(value) {
  if (value === undefined) return 0;
  let low = 0, high = steps.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const meets = byDistance ? steps[middle] >= value : steps[middle] <= value;
    if (meets) low = middle + 1;
    else high = middle;
  }
  return Math.max(low - 1, 0);
}

/** The levels from the strictest: name, values and description. */
const namedLevels = byDistance ? distanceLevels() : similarityLevels();
/** The levels of removed items. */
const levels = namedLevels.filter(({ used }) => used);

function similarityLevels() {
  return scale.levels.slice().sort((a, b) => b.from - a.from).map(({ name, from }, at, all) => {
    const below = at > 0 ? all[at - 1].from : Infinity;
    const words = below === Infinity ? `${shownValue(from)} or more` : `${shownValue(from)} to ${shownValue(below)}`;
    return { name, words, has: (value) => value >= from && value < below, used: below > steps[0] };
  });
}

function distanceLevels() {
  return scale.levels.slice().sort((a, b) => a.within - b.within).map(({ name, within }, at, all) => {
    const beyond = at > 0 ? all[at - 1].within : -1, most = Math.min(within, steps[0]);
    const words = at > 0 ? `${beyond + 1} to ${shownValue(most)}` : `up to ${shownValue(most)}`;
    return { name, words, has: (value) => value > beyond && value <= within, used: beyond < steps[0] };
  });
}

function levelOf(value) {
  return namedLevels.find(({ has }) => has(value))?.name;
}

/** "similarity of at least 0.50" or "at most 3 bits apart". */
function atLeast(step) {
  return byDistance ? `at most ${shownValue(steps[step])} apart` : `similarity of at least ${shownValue(steps[step])}`;
}

function drawOverview(onChange) {
  const bars = drawBars();
  drawAxis();
  const slider = byId("slider");
  slider.max = steps.length - 1;
  slider.disabled = steps.length < 2;
  slider.setAttribute("aria-label", byDistance ? "maximum distance" : "minimum similarity");
  document.documentElement.style.setProperty("--steps", steps.length);
  const show = () => showThreshold(Number(slider.value), bars);
  slider.addEventListener("input", () => {
    show();
    onChange(Number(slider.value));
  });
  show();
}

function drawBars() {
  const highest = Math.max(1, ...removedAt);
  const bars = removedAt.map((removed, step) => {
    const bar = make("div", { title: `${counted(removed, "item")} at ${shownValue(steps[step])}` });
    bar.style.height = removed ? `${Math.max(1.5, 100 * Math.sqrt(removed / highest))}%` : "0";
    return bar;
  });
  byId("bars").append(...bars);
  byId("bars").setAttribute("aria-label", byDistance
    ? "Histogram of the removed items by distance"
    : "Histogram of the removed items by similarity");
  return bars;
}

/** Labels at both ends, and at every tenth of similarity or at some distances between. */
function drawAxis() {
  const every = byDistance ? Math.ceil(steps.length / 8) : 0.1;
  const isRound = (value) => Math.abs(value / every - Math.round(value / every)) < 1e-9;
  const last = steps.length - 1;
  steps.forEach((value, step) => {
    const isEnd = step === 0 || step === last;
    const isCrowded = Math.min(step, last - step) < steps.length / 16;
    if (!isEnd && (!isRound(value) || isCrowded)) return;
    const tick = make("span", {}, byDistance ? count(value) : shownValue(value));
    tick.style.left = `${(100 * (step + 0.5)) / steps.length}%`;
    byId("axis").append(tick);
  });
  byId("axis").append(make("em", {}, byDistance ? "bits apart" : "similarity"));
}

function showThreshold(step, bars) {
  bars.forEach((bar, at) => bar.classList.toggle("off", at < step));
  const removed = removedFrom[step] ?? 0, groups = groupsFrom[step] ?? 0;
  const fewer = data.head.removed - removed;
  const share = data.head.items ? Math.round((1000 * removed) / data.head.items) / 10 : 0;
  byId("verdict").replaceChildren(
    make("span", { class: "at" }, byDistance ? "At most " : "Similarity at least ", make("b", {}, shownValue(steps[step])), byDistance ? " apart" : ""),
    make("span", { class: "goes" }, make("b", {}, count(removed)), ` of ${counted(data.head.items, "item")} removed (${share}\u00a0%)`),
    make("span", {}, make("b", {}, count(groups)), groups === 1 ? " group" : " groups"));
  byId("option").replaceChildren(...(fewer === 0 && step === 0 ? ["Same as this run."] : [
    `${count(fewer)} fewer than in this run. Option: `,
    make("code", {}, byDistance ? `--distance ${steps[step]}` : `--similarity ${steps[step]}`)]));
  byId("slider").setAttribute("aria-valuetext", `${atLeast(step)}: ${counted(removed, "item")} removed, ${counted(groups, "group")}`);
  showLevels(step);
}

function showLevels(step) {
  const most = Math.max(1, data.head.removed);
  byId("levels").replaceChildren(...levels.map(({ name, words, has }) => {
    const removed = removedAt.reduce((sum, number, at) => sum + (at >= step && has(steps[at]) ? number : 0), 0);
    const bar = make("i", { "aria-hidden": "true" });
    bar.style.width = `${(100 * removed) / most}%`;
    return make("tr", {}, make("th", { scope: "row" }, name), make("td", {}, words), make("td", { class: "number" }, count(removed)), make("td", { class: "bar" }, bar));
  }));
}
