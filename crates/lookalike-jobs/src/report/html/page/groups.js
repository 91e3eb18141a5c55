// Which groups are listed, in which order, and what does an open one show?
//
// All groups are sorted and filtered as numbers; only those of one page become elements, and only
// the pair that is looked at is compared.

const PAGE_SIZE = 25;
// How long the search through texts may run before the page gets its turn, in milliseconds.
const SLICE = 12;

const groups = data.groups.map((group) => {
  // What stays, though it is alike, goes at no threshold there is.
  const memberSteps = group.members.map((member) => member.stays ? -1 : stepOf(member.value));
  const going = group.members.filter((member) => !member.stays).length, staying = group.members.length - going;
  return {
    ...group,
    memberSteps,
    // Members are listed least alike first; those left out are at least as close as the last.
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
  query: "", found: null, // which groups the search has found; null: no search
  matching: [], // the groups listed, in order
  page: 0, current: -1, open: null, member: 0,
};

/** The members that would still go at the chosen threshold. */
function going(group) {
  return group.memberSteps.filter((step) => step >= chosen.threshold).length + (group.best >= chosen.threshold ? group.leftOut : 0);
}

function hasLevel(group) {
  return chosen.level === "" || group.members.some((member, at) =>
    (group.memberSteps[at] >= chosen.threshold || member.stays) && levelOf(member.value) === chosen.level);
}

/** Whether something goes; as long as the threshold is that of the run, or something less alike stays. */
function isListed(group) {
  return group.best >= chosen.threshold || (chosen.threshold === 0 && group.looser > 0);
}

/** Whether one of those that go differs from the kept one in what was chosen. */
function differs(group) {
  const attribute = attributes.find(({ name }) => name === chosen.differ);
  const shown = ({ image }) => attribute.shown(image);
  return !attribute || group.members.some((member) => shown(member) !== shown(group.keep));
}

/** The place on the scale of the member least like its keeper, among those that go. */
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

/** Lists again from the first page; the open group stays open if it is still there. */
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
/** Searches ids and texts piece by piece, so that typing stays smooth. */
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
  byId("count").textContent = total === 0 ? "No group is like this. Widen the filter or move the slider back."
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

/** One row of the list, with its comparison if it is open. */
function drawGroup(group) {
  const isOpen = group === chosen.open;
  const head = make("button", {
    type: "button", class: "head", "aria-expanded": String(isOpen),
    onclick: () => toggle(group), onfocus: () => { chosen.current = chosen.matching.indexOf(group); },
  },
    make("span", { class: "names" }, kind.row?.(group), shownId(group.keep.id), make("span", { class: "preview", dir: "auto" }, kind.preview(group.keep))),
    drawStrip(group),
    make("span", { class: "range" }, range(group)),
    make("span", { class: "size" }, make("b", {}, count(going(group))), going(group) === 1 ? " goes" : " go",
      group.looser > 0 ? make("small", { title: "alike the kept one, but not enough to go" }, ` +\u00a0${count(group.looser)} looser`) : null));
  const item = make("li", { class: isOpen ? "group open" : "group" }, make("h3", {}, head), isOpen ? drawOpen(group) : null);
  item.group = group;
  return item;
}

/** From the least to the most alike member. */
function range(group) {
  const shown = group.members.filter((member) => !member.stays || group.size === 0);
  const values = shown.map((member) => member.value).filter((value) => value !== undefined);
  if (values.length === 0) return "";
  // What stays is listed nearest first.
  const [far, near] = group.size === 0 ? [values.at(-1), values[0]] : [values[0], values.at(-1)];
  if (shownValue(far) === shownValue(near)) return shownValue(far);
  return byDistance ? `${near} to ${shownValue(far)}` : `${shownValue(far)} to ${shownValue(near)}`;
}

/** A small image: where the members lie on the scale. */
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

/** Draws one row again, with the focus where it was. */
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
      member ? drawReason(member.stays ? "stays" : "removed", member.stays ? "Stays" : goes(group) ? "Removed" : "Would stay", member.id, reason(member)) : null,
      ...(member ? kind.compare(group.keep, member, chosen.mode) : [])));
}

/** Whether the chosen member still goes at the chosen threshold. */
function goes(group) {
  return group.memberSteps[chosen.member] >= chosen.threshold;
}

function drawReason(side, verdict, id, why) {
  return make("p", { class: `reason ${side}` }, make("span", { class: "tag" }, verdict), shownId(id), make("span", { class: "why" }, shownText(why)));
}

/** Why the chosen member goes, or would stay. */
function reason(member) {
  const limit = byDistance ? count(steps[chosen.threshold]) : shownValue(steps[chosen.threshold]);
  const named = levelOf(member.value);
  // In a chain, the figures are of a neighbour.
  const other = member.alike === undefined ? "the kept one" : `${member.alike}, not the kept one`;
  if (byDistance) return `${named ? `${named}: ` : ""}${shownValue(member.value)} apart from ${other} (at most ${limit} to go)`;
  const bits = `${counted(member.distance, "bit")} apart`;
  if (member.value === undefined) return `alike ${member.alike ?? "another one of the group"}; ${bits}`;
  const level = levelOf(member.value);
  return `${level ? `${level}: ` : ""}similarity ${shownValue(member.value)} to ${other} (at least ${limit} to go), ${bits}`;
}

function drawMembers(group) {
  const note = (words) => make("li", { class: "note" }, words);
  const more = [
    group.leftOut > 0 ? note(`and ${count(group.leftOut)} more that go, at least as close`) : null,
    group.looserLeftOut > 0 ? note(`and ${count(group.looserLeftOut)} more that stay, no closer`) : null,
  ].filter(Boolean);
  return make("ol", { class: "members", "aria-label": "Removed for it, least alike first; then what stays, though it is alike" }, ...group.members.map((member, at) =>
    make("li", {}, make("button", {
      type: "button", "data-member": at, "aria-current": at === chosen.member ? "true" : null,
      class: member.stays ? "stays" : group.memberSteps[at] < chosen.threshold ? "off" : "",
      onclick: () => showMember(group, at),
    }, kind.small ? make("span", { class: "thumb" }, kind.small(member)) : null, kind.small ? shownName(member.id) : shownId(member.id), make("span", { class: "value" }, shownValue(member.value),
      make("small", {}, member.stays ? `${levelOf(member.value) ?? "less alike"}, stays` : group.memberSteps[at] < chosen.threshold ? "would stay" : levelOf(member.value) ?? ""))))), ...more);
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

/** Goes to another group of the list, over the ends of pages; an open one hands its place on. */
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
