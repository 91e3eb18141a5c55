// Start-up and keyboard shortcuts.

function startFilter() {
  const total = data.head.listed, hidden = total - groups.length;
  byId("left-out").hidden = hidden === 0;
  byId("left-out").textContent = `To limit the file size, this page shows only the ${count(groups.length)} largest of ${counted(total, "group")}. ` +
    "All groups are counted in the figures above.";
  byId("columns-scale").textContent = byDistance ? "Distance of removed items" : "Similarity of removed items";
  byId("level-label").hidden = levels.length === 0;
  byId("level").append(make("option", { value: "" }, "all"), ...namedLevels.filter(({ name, used }) => used || groups.some((group) => group.members.some((member) => levelOf(member.value) === name)))
    .map(({ name }) => make("option", { value: name }, name)));
  byId("mode").append(...kind.modes.map(([value, name]) => make("option", { value }, name)));
  byId("mode").value = chosen.mode;
  byId("query").placeholder = kind.search;
  const hasImages = kind === bodies.image;
  byId("differ").append(make("option", { value: "" }, "anything"), ...attributes.slice(0, 3).map(({ name }) => make("option", { value: name }, name.toLowerCase())));
  for (const only of document.querySelectorAll(".images-only")) only.hidden = !hasImages;
  byId("filter").addEventListener("submit", (event) => event.preventDefault());
  byId("query").addEventListener("input", (event) => find(event.target.value));
  for (const name of ["level", "sort", "differ"]) {
    byId(name).addEventListener("change", (event) => { chosen[name] = event.target.value; list(); });
  }
  byId("mode").addEventListener("change", (event) => setMode(event.target.value));
}

function nextMode() {
  const modes = kind.modes.map(([mode]) => mode);
  return modes[(modes.indexOf(chosen.mode) + 1) % modes.length];
}

function setMode(mode) {
  chosen.mode = mode;
  byId("mode").value = mode;
  redraw(chosen.open);
}

const THEMES = ["auto", "light", "dark"];

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  byId("theme").textContent = `Theme: ${theme}`;
  remember("theme", theme);
}

function nextTheme() {
  setTheme(THEMES[(THEMES.indexOf(document.documentElement.dataset.theme) + 1) % THEMES.length]);
}

/** Browsers may refuse to store anything for a local file. */
function remember(name, value) {
  try { localStorage.setItem(`lookalike ${name}`, value); } catch { /* not stored */ }
}

function remembered(name) {
  try { return localStorage.getItem(`lookalike ${name}`); } catch { return null; }
}

const keys = {
  j: () => move(1),
  k: () => move(-1),
  n: () => chosen.open && showMember(chosen.open, chosen.member + 1),
  p: () => chosen.open && showMember(chosen.open, chosen.member - 1),
  d: () => setMode(nextMode()),
  f: () => flicker(true),
  t: nextTheme,
  "/": () => byId("query").focus(),
  "?": () => byId("help").showModal(),
  ArrowLeft: () => turnTo(chosen.page - 1),
  ArrowRight: () => turnTo(chosen.page + 1),
  Enter: () => openCurrent(),
  " ": () => openCurrent(),
};

/** A focused button opens its group by itself; this is for all other cases. */
function openCurrent() {
  const group = chosen.matching[chosen.current];
  if (!group) return false;
  toggle(group);
}

function onKey(event) {
  const target = event.target;
  if (event.ctrlKey || event.metaKey || event.altKey || byId("help").open) return;
  if (event.key === "Escape" && target === byId("query")) return target.blur();
  if (target.closest("input, select, textarea")) return;
  if ((event.key === "Enter" || event.key === " ") && target.closest("button, a")) return;
  if (!Object.hasOwn(keys, event.key)) return;
  if (keys[event.key]() !== false) event.preventDefault();
}

function start() {
  const theme = remembered("theme");
  setTheme(THEMES.includes(theme) ? theme : "auto");
  byId("theme").addEventListener("click", nextTheme);
  byId("help-open").addEventListener("click", () => byId("help").showModal());
  document.addEventListener("keydown", onKey);
  document.addEventListener("keyup", (event) => { if (event.key === "f" || event.key === "F") flicker(false); });
  addEventListener("blur", () => flicker(false));
  startFilter();
  let waiting = 0;
  drawOverview((step) => {
    chosen.threshold = step;
    cancelAnimationFrame(waiting);
    waiting = requestAnimationFrame(list);
  });
  list();
  document.documentElement.classList.add("ready");
}

start();
