// Draws and compares items, with one entry per kind of body. An item has the field of its kind
// ("text"), or none of them.

const bodies = {
  text: {
    preview: textPreview, compare: compareTexts, words: (item) => item.text,
    modes: [["sides", "side by side"], ["inline", "inline"]], search: "Search ids and texts",
  },
  image: {
    preview: imageSummary, row: imageRow, small: drawImage, compare: compareImages, words: imageWords,
    modes: [["sides", "side by side"], ["difference", "difference"]], search: "Search names, formats, sizes",
  },
};

const noBody = {
  preview: () => "", modes: [["sides", "side by side"]], search: "Search ids",
  compare: () => [make("p", { class: "note" }, "These items have no content to show.")],
  words: () => "",
};

function bodyOf(item) {
  const kind = Object.keys(bodies).find((name) => item[name] !== undefined);
  return kind ? bodies[kind] : noBody;
}

/** The label of the item beside the kept one. */
function otherName({ stays }) {
  return stays ? "Kept, too" : "Removed";
}

/** The beginning of a text, on one line. */
function textPreview(item) {
  const text = item.opening ?? item.text;
  return shownText(Array.from(text.slice(0, 400).replace(/\s+/gu, " ").trim()).slice(0, 180).join(""));
}

/** The differences of two texts; `mode` is "sides" or "inline". */
function compareTexts(kept, removed, mode) {
  const stretches = difference(kept.text, removed.text, kept.characters > 0, removed.characters > 0);
  const all = rows(stretches);
  const shown = mode === "sides" ? sideBySide(all, otherName(removed)) : inOneText(all);
  const isCut = kept.characters > 0 || removed.characters > 0;
  return [legend(stretches, isCut), skippedNote(kept), shown, excerptNote(kept, removed, kept.skipped ?? 0)];
}

function legend(stretches, isCut) {
  const words = (kind) => stretches.reduce((sum, stretch) =>
    sum + (stretch.kind === kind ? stretch.kept.length + stretch.removed.length : 0), 0);
  const kept = words("kept"), removed = words("removed");
  if (kept + removed === 0) {
    return make("p", { class: "legend" }, isCut || stretches.length === 0 ? "No differences in the excerpts." : "Both texts have the same words.");
  }
  return make("p", { class: "legend" },
    kept ? make("span", {}, make("ins", {}, "+ " + counted(kept, "word")), " only in the kept text") : null,
    removed ? make("span", {}, make("del", {}, "− " + counted(removed, "word")), " only in the other text") : null);
}

function skippedNote({ skipped }) {
  return skipped ? make("p", { class: "note" }, `The first ${count(skipped)} characters are the same in the whole group and are not shown.`) : null;
}

function excerptNote(kept, removed, skipped) {
  const after = ({ text, characters }) => counted(characters - skipped - Array.from(text).length, "character");
  const parts = [["kept", kept], ["removed", removed]].filter(([, item]) => item.characters > 0)
    .map(([name, item]) => `${after(item)} of the ${name} text`);
  return parts.length ? make("p", { class: "note" }, `Not shown and not compared here: the last ${parts.join(", the last ")}.`) : null;
}

function sideBySide(all, other) {
  const cell = (row, side) => make("td", { dir: "auto" }, ...row.pieces.map((piece) => drawn(piece.kind, piece[side])));
  return make("table", { class: "sides" },
    make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "Kept"), make("th", { scope: "col" }, other))),
    make("tbody", {}, ...folded(all,
      (row) => make("tr", { class: row.changed ? "changed" : "" }, cell(row, "kept"), cell(row, "removed")),
      (button) => make("tr", { class: "fold" }, make("td", { colspan: 2 }, button)))));
}

function inOneText(all) {
  const line = (row) => make("div", { class: row.changed ? "line changed" : "line", dir: "auto" },
    ...row.pieces.flatMap((piece) => piece.kind === "same" ? [drawn("same", piece.kept)]
      : [drawn(piece.kind, piece.removed), drawn(piece.kind, piece.kept)]));
  return make("div", { class: "inline" }, ...folded(all, line, (button) => make("div", { class: "fold" }, button)));
}

/** A piece of text, marked by its kind. */
function drawn(kind, text) {
  if (text === "") return null;
  const words = text.replace(/\r\n?/gu, "\n");
  if (kind === "same") return shownText(words);
  // The white space after a change is not marked.
  const end = words.trimEnd().length;
  const mark = kind === "beyond" ? make("span", { class: "beyond", title: "the other excerpt ends earlier" })
    : make(kind === "kept" ? "ins" : "del");
  mark.append(shownText(words.slice(0, end)));
  const fragment = document.createDocumentFragment();
  fragment.append(mark, words.slice(end));
  return fragment;
}

/** Draws rows. Long unchanged parts become a button that unfolds them. */
function folded(all, draw, wrap) {
  const AROUND = 2, LEAST = 4;
  const drawnRows = [];
  let start = 0;
  const changes = all.flatMap((row, at) => (row.changed ? [at] : []));
  if (changes.length === 0) changes.push(-1);
  const foldUpTo = (end) => {
    if (end - start >= LEAST) drawnRows.push(fold(all.slice(start, end), draw, wrap));
    else drawnRows.push(...all.slice(start, end).map(draw));
    start = end;
  };
  for (const change of changes) {
    if (change - AROUND > start) foldUpTo(change - AROUND);
    const end = Math.min(change + AROUND + 1 + (change < 0 ? 8 : 0), all.length);
    while (start < end) drawnRows.push(draw(all[start++]));
  }
  foldUpTo(all.length);
  return drawnRows;
}

function fold(hidden, draw, wrap) {
  const button = make("button", { type: "button" }, `${count(hidden.length)} equal lines`);
  const holder = wrap(button);
  button.addEventListener("click", () => holder.replaceWith(...hidden.map(draw)));
  return holder;
}
