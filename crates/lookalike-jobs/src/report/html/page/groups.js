// The list of groups, and the content of an open group.
//
// All groups are sorted and filtered as data. Only those of one page become elements, and only the
// visible pair is compared.

const PAGE_SIZE = 25;
// How long the search runs before it yields to the page, in milliseconds.
const SLICE = 12;

const groups = data.groups.map((group) => {
  // Kept members are not removed at any threshold.
  const memberSteps = group.members.map((member) => member.stays ? -1 : stepOf(member.value));
  const going = group.members.filter((member) => !member.stays).length, staying = group.members.length - going;
  return {
    ...group,
    memberSteps,
    // Members are listed least similar first. Those not listed are at least as close as the last.
    best: going > 0 ? memberSteps[going - 1] : -1,
    leftOut: group.size - going,
    looser: group.looser ?? 0,
    looserLeftOut: (group.looser ?? 0) - staying,
    freed: freed(group),
  };
});

// All items of a report are of one kind.
const kind = bodyOf(groups[0]?.keep ?? {});

const chosen = {
  threshold: 0, level: "", differ: "", sort: "size",
  mode: kind === bodies.text && matchMedia("(max-width: 46rem)").matches ? "inline" : "sides",
  query: "", found: null, // for each group, whether the search found it; null without a search
  matching: [], // the listed groups, in order
  page: 0, current: -1, open: null, member: 0,
};

/** The number of members removed at the chosen threshold. */
function going(group) {
  return group.memberSteps.filter((step) => step >= chosen.threshold).length + (group.best >= chosen.threshold ? group.leftOut : 0);
}

function hasLevel(group) {
  return chosen.level === "" || group.members.some((member, at) =>
    (group.memberSteps[at] >= chosen.threshold || member.stays) && levelOf(member.value) === chosen.level);
}

/** Whether a member is removed at the chosen threshold, or at that of the run a less similar one is kept. */
function isListed(group) {
  return group.best >= chosen.threshold || (chosen.threshold === 0 && group.looser > 0);
}

/** Whether a member differs from the kept item in the chosen attribute. */
function differs(group) {
  const attribute = attributes.find(({ name }) => name === chosen.differ);
  const shown = ({ image }) => attribute.shown(image);
  return !attribute || group.members.some((member) => shown(member) !== shown(group.keep));
}

/** The step of the least similar member that is removed. */
function farthest(group) {
  return group.memberSteps.find((step) => step >= chosen.threshold) ?? group.best;
}

const orders = {
  size: (a, b) => b.size - a.size || a.number - b.number,
  far: (a, b) => a.farthest - b.farthest || b.size - a.size || a.number - b.number,
  near: (a, b) => b.farthest - a.farthest || b.size - a.size || a.number - b.number,
  input: (a, b) => a.number - b.number,
  freed: (a, b) => b.freed - a.freed || a.number - b.number,
};

/** Updates the list from the first page. The open group stays open if it is still listed. */
function list() {
  for (const group of groups) group.farthest = farthest(group);
  chosen.matching = groups
    .filter((group, at) => isListed(group) && (chosen.found === null || chosen.found[at]) && hasLevel(group) && differs(group))
    .sort(orders[chosen.sort]);
  chosen.page = 0;
  chosen.current = -1;
  if (!chosen.matching.includes(chosen.open)) chosen.open = null;
  drawPage();
}

let search = 0;
/** Searches ids and texts in slices, so that typing stays smooth. */
function find(query) {
  const thisSearch = ++search;
  chosen.query = query;
  if (query.trim() === "") {
    chosen.found = null;
    return list();
  }
  const pattern = new RegExp(query.trim().replace(/[\\^$.*+?()[\]{}|/]/gu, "\\$&"), "iu");
  const found = new Uint8Array(groups.length);
  const hasQuery = (item) => pattern.test(item.id) || pattern.test(kind.words(item));
  let at = 0;
  const goOn = () => {
    if (thisSearch !== search) return;
    const end = performance.now() + SLICE;
    while (at < groups.length && performance.now() < end) {
      found[at] = hasQuery(groups[at].keep) || groups[at].members.some(hasQuery) ? 1 : 0;
      at++;
    }
    if (at < groups.length) {
      byId("count").textContent = `Searching: ${Math.round((100 * at) / groups.length)} %`;
      return setTimeout(goOn);
    }
    chosen.found = found;
    list();
  };
  goOn();
}

function pages() {
  return Math.max(1, Math.ceil(chosen.matching.length / PAGE_SIZE));
}

function drawPage() {
  const start = chosen.page * PAGE_SIZE;
  const onPage = chosen.matching.slice(start, start + PAGE_SIZE);
  byId("list").start = start + 1;
  byId("list").replaceChildren(...onPage.map(drawGroup));
  const total = chosen.matching.length;
  byId("count").textContent = total === 0 ? "No matching groups. Change the filter or move the slider to the left."
    : total <= PAGE_SIZE ? counted(total, "group") : `${count(start + 1)} to ${count(start + onPage.length)} of ${counted(total, "group")}`;
  document.querySelectorAll(".pager").forEach(drawPager);
}

function drawPager(pager) {
  const last = pages() - 1;
  pager.hidden = last === 0;
  const near = [0, chosen.page - 1, chosen.page, chosen.page + 1, last].filter((page) => page >= 0 && page <= last);
  const shown = [...new Set(near)];
  const button = (page, text, attributes = {}) =>
    make("button", { type: "button", onclick: () => turnTo(page), ...attributes }, text);
  pager.replaceChildren(
    button(chosen.page - 1, "←", { "aria-label": "previous page", disabled: chosen.page === 0 }),
    ...shown.flatMap((page, at) => [
      at > 0 && page > shown[at - 1] + 1 ? make("span", { "aria-hidden": "true" }, "…") : null,
      button(page, count(page + 1), { "aria-label": `page ${page + 1}`, "aria-current": page === chosen.page ? "page" : null }),
    ]).filter(Boolean),
    button(chosen.page + 1, "→", { "aria-label": "next page", disabled: chosen.page === last }));
}

function turnTo(page) {
  if (page < 0 || page >= pages() || page === chosen.page) return;
  chosen.page = page;
  chosen.current = -1;
  chosen.open = null;
  drawPage();
  byId("groups").scrollIntoView();
}

/** One row of the list, with the comparison if it is open. */
function drawGroup(group) {
  const isOpen = group === chosen.open;
  const head = make("button", {
    type: "button", class: "head", "aria-expanded": String(isOpen),
    onclick: () => toggle(group), onfocus: () => { chosen.current = chosen.matching.indexOf(group); },
  },
    make("span", { class: "names" }, kind.row?.(group), shownId(group.keep.id), make("span", { class: "preview", dir: "auto" }, kind.preview(group.keep))),
    drawStrip(group),
    make("span", { class: "range" }, range(group)),
    make("span", { class: "size" }, make("b", {}, count(going(group))), " removed",
      group.looser > 0 ? make("small", { title: "similar to the kept item, but below the threshold for removal" }, ` +\u00a0${count(group.looser)} looser`) : null));
  const item = make("li", { class: isOpen ? "group open" : "group" }, make("h3", {}, head), isOpen ? drawOpen(group) : null);
  item.group = group;
  return item;
}

/** The range from the least to the most similar member. */
function range(group) {
  const shown = group.members.filter((member) => !member.stays || group.size === 0);
  const values = shown.map((member) => member.value).filter((value) => value !== undefined);
  if (values.length === 0) return "";
  // Kept members are listed closest first.
  const [far, near] = group.size === 0 ? [values.at(-1), values[0]] : [values[0], values.at(-1)];
  if (shownValue(far) === shownValue(near)) return shownValue(far);
  return byDistance ? `${near} to ${shownValue(far)}` : `${shownValue(far)} to ${shownValue(near)}`;
}

/** A small chart of the members on the scale. */
function drawStrip(group) {
  const marks = [...new Set(group.memberSteps.filter((step) => step >= 0))].map((step) => {
    const mark = make("i", { class: step < chosen.threshold ? "off" : "" });
    mark.style.left = `${(100 * step) / Math.max(1, steps.length - 1)}%`;
    return mark;
  });
  return make("span", { class: "strip", "aria-hidden": "true" }, ...marks);
}

function toggle(group) {
  const before = chosen.open;
  chosen.open = before === group ? null : group;
  chosen.current = chosen.matching.indexOf(group);
  chosen.member = Math.max(0, group.memberSteps.findIndex((step) => step >= chosen.threshold));
  for (const changed of [before, group]) redraw(changed);
}

/** Redraws one row and keeps the focus. */
function redraw(group) {
  const item = [...byId("list").children].find((item) => item.group === group);
  if (!item) return;
  const focused = item.contains(document.activeElement) ? document.activeElement.dataset.member ?? "head" : null;
  const drawn = drawGroup(group);
  item.replaceWith(drawn);
  const target = focused === null ? null : drawn.querySelector(`[data-member="${chosen.member}"]`);
  if (focused !== null) (focused !== "head" && target ? target : drawn.querySelector(".head")).focus({ preventScroll: true });
}

function drawOpen(group) {
  const member = group.members[chosen.member];
  return make("div", { class: group.members.length > 1 ? "body many" : "body" },
    group.members.length > 1 ? drawMembers(group) : null,
    make("div", { class: "comparison" },
      drawReason("kept", "Kept", group.keep.id, group.why),
      member ? drawReason(member.stays ? "stays" : "removed", member.stays ? "Kept, too" : goes(group) ? "Removed" : "Would be kept", member.id, reason(member)) : null,
      ...(member ? kind.compare(group.keep, member, chosen.mode) : [])));
}

/** Whether the chosen member is removed at the chosen threshold. */
function goes(group) {
  return group.memberSteps[chosen.member] >= chosen.threshold;
}

function drawReason(side, verdict, id, why) {
  return make("p", { class: `reason ${side}` }, make("span", { class: "tag" }, verdict), shownId(id), make("span", { class: "why" }, shownText(why)));
}

/** Why the chosen member is removed or kept. */
function reason(member) {
  const limit = byDistance ? count(steps[chosen.threshold]) : shownValue(steps[chosen.threshold]);
  const named = levelOf(member.value);
  // In a chain, the figures refer to a neighbour.
  const other = member.alike === undefined ? "the kept item" : `${member.alike}, not the kept item`;
  if (byDistance) return `${named ? `${named}: ` : ""}${shownValue(member.value)} from ${other} (removed up to ${limit})`;
  const bits = `${counted(member.distance, "bit")} apart`;
  if (member.value === undefined) return `similar to ${member.alike ?? "another member of the group"}; ${bits}`;
  const level = levelOf(member.value);
  return `${level ? `${level}: ` : ""}similarity ${shownValue(member.value)} to ${other} (removed from ${limit}), ${bits}`;
}

function drawMembers(group) {
  const note = (words) => make("li", { class: "note" }, words);
  const more = [
    group.leftOut > 0 ? note(`and ${count(group.leftOut)} more removed, at least as close`) : null,
    group.looserLeftOut > 0 ? note(`and ${count(group.looserLeftOut)} more kept, not closer`) : null,
  ].filter(Boolean);
  return make("ol", { class: "members", "aria-label": "Removed items, least similar first; then similar items that are kept" }, ...group.members.map((member, at) =>
    make("li", {}, make("button", {
      type: "button", "data-member": at, "aria-current": at === chosen.member ? "true" : null,
      class: member.stays ? "stays" : group.memberSteps[at] < chosen.threshold ? "off" : "",
      onclick: () => showMember(group, at),
    }, kind.small ? make("span", { class: "thumb" }, kind.small(member)) : null, kind.small ? shownName(member.id) : shownId(member.id), make("span", { class: "value" }, shownValue(member.value),
      make("small", {}, member.stays ? `${levelOf(member.value) ?? "less similar"}, kept` : group.memberSteps[at] < chosen.threshold ? "would be kept" : levelOf(member.value) ?? ""))))), ...more);
}

function showMember(group, at) {
  if (at < 0 || at >= group.members.length) return;
  const scrolled = document.querySelector(".members")?.scrollTop ?? 0;
  chosen.member = at;
  redraw(group);
  const members = document.querySelector(".members");
  if (members) members.scrollTop = scrolled;
  members?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
}

/** Moves to another group, also across pages. If the current group is open, the next one opens. */
function move(by) {
  const next = chosen.current < 0 ? chosen.page * PAGE_SIZE + (by > 0 ? 0 : -1) : chosen.current + by;
  if (next < 0 || next >= chosen.matching.length) return;
  const group = chosen.matching[next];
  const follow = chosen.open !== null && chosen.matching[chosen.current] === chosen.open;
  const page = Math.floor(next / PAGE_SIZE);
  if (page !== chosen.page) {
    chosen.page = page;
    chosen.open = null;
    drawPage();
  }
  if (follow) toggle(group);
  const item = [...byId("list").children].find((item) => item.group === group);
  item.querySelector(".head").focus({ preventScroll: true });
  item.scrollIntoView({ block: follow ? "start" : "nearest" });
}
