// Draws and compares images, which are in the file at a reduced size.

/** An image that fills its frame, or a note if there is none. */
function drawImage({ image }, attributes = {}) {
  if (!image.data) return make("span", { class: "no-image", ...attributes }, "not shown");
  return make("img", { src: `data:image/jpeg;base64,${image.data}`, alt: "", draggable: "false", decoding: "sync", ...attributes });
}

const THUMBS = 4;

/** The kept image and the first removed ones. */
function imageRow(group) {
  const more = group.size + group.looser - Math.min(THUMBS, group.members.length);
  return make("span", { class: "thumbs", "aria-hidden": "true" },
    make("span", { class: "thumb kept" }, drawImage(group.keep)),
    ...group.members.slice(0, THUMBS).map((member) => make("span", { class: "thumb" }, drawImage(member))),
    more > 0 ? make("span", { class: "more" }, `+${count(more)}`) : null);
}

function shownBytes(bytes) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (bytes >= 1024 && unit < units.length - 1) { bytes /= 1024; unit++; }
  return `${unit > 0 && bytes < 100 ? bytes.toFixed(1) : count(Math.round(bytes))} ${units[unit]}`;
}

function shownTime(seconds) {
  if (seconds === undefined) return "";
  const time = new Date(seconds * 1000);
  return Number.isNaN(time.getTime()) ? "" : time.toISOString().slice(0, 19).replace("T", " ");
}

/** The attributes of an image as text, and as a number where more is better. */
const attributes = [
  { name: "Pixels", shown: ({ width, height }) => `${count(width)} × ${count(height)}`, rank: ({ width, height }) => width * height },
  { name: "File", shown: ({ bytes }) => shownBytes(bytes), rank: ({ bytes }) => bytes },
  { name: "Format", shown: ({ format }) => format },
  { name: "Modified", shown: ({ modified }) => shownTime(modified) },
];

function imageWords({ image }) {
  return `${image.format} ${image.width}x${image.height}`;
}

function imageSummary({ image }) {
  return attributes.slice(0, 3).map(({ shown }) => shown(image)).join(" · ");
}

/** Compares two images; `mode` is "sides" or "difference". The key F or a touch switches between them. */
function compareImages(kept, removed, mode) {
  const stage = mode === "difference" ? [differenceImage(kept, removed)] : [
    frame("kept", "Kept", kept, kept, removed), frame("removed", otherName(removed), removed, kept, null)];
  return [make("div", { class: mode === "difference" ? "images one" : "images" }, ...stage), imageNote(mode), attributeTable(kept, removed)];
}

/** One image in a frame of the kept image's shape, so that both are aligned. */
function frame(side, name, item, kept, other) {
  const holder = shaped(kept, drawImage(item, { class: fit(item, kept) }),
    other ? drawImage(other, { class: `other ${fit(other, kept)}` }) : null);
  if (other) holdToFlicker(holder);
  return make("figure", { class: side }, holder,
    make("figcaption", {}, make("span", { class: "tag" }, name), other ? make("span", { class: "tag instead" }, otherName(other)) : null));
}

function differenceImage(kept, removed) {
  const holder = shaped(kept, drawImage(kept, { class: fit(kept, kept) }), drawImage(removed, { class: `blend ${fit(removed, kept)}` }));
  return make("figure", { class: "both" }, make("div", { class: "brighter" }, holder),
    make("figcaption", {}, make("span", { class: "tag" }, "Difference")));
}

function shaped({ image }, ...images) {
  const holder = make("div", { class: "frame" }, ...images);
  holder.style.aspectRatio = `${Math.max(1, image.width)} / ${Math.max(1, image.height)}`;
  holder.style.setProperty("--shape", Math.max(1, image.width) / Math.max(1, image.height));
  return holder;
}

/** Images of nearly the same shape fill the frame; others keep their own shape. */
function fit({ image }, { image: like }) {
  const ratio = (image.width * like.height) / Math.max(1, image.height * like.width);
  return ratio > 0.95 && ratio < 1.05 ? "fills" : "fits";
}

function holdToFlicker(holder) {
  holder.addEventListener("pointerdown", (event) => { if (event.isPrimary) flicker(true); });
  for (const end of ["pointerup", "pointerleave", "pointercancel"]) holder.addEventListener(end, () => flicker(false));
}

function flicker(on) {
  document.documentElement.classList.toggle("flicker", on);
}

function imageNote(mode) {
  const words = mode === "difference" ? ["Equal parts are black; differences are four times as bright."]
    : ["Hold ", make("kbd", {}, "f"), " or press the kept image to show the removed one in its place."];
  return make("p", { class: "note" }, ...words, " ", make("kbd", {}, "d"), mode === "difference" ? " shows them side by side." : " shows their difference.");
}

function attributeTable(kept, removed) {
  const row = ({ name, shown, rank }) => {
    const [one, other] = [kept, removed].map(({ image }) => shown(image));
    if (one === "" && other === "") return null;
    const more = rank ? Math.sign(rank(kept.image) - rank(removed.image)) : 0;
    const cell = (text, isMore) => make("td", {}, text, ...(isMore ? [" ", make("span", { class: "mark-more" }, "more")] : []));
    return make("tr", { class: one === other ? "" : "differs" }, make("th", { scope: "row" }, name),
      cell(one, more > 0), cell(other, more < 0), make("td", { class: "verdict-cell" }, one === other ? "equal" : "differs"));
  };
  return make("table", { class: "attributes" },
    make("thead", {}, make("tr", {}, make("td", {}), make("th", { scope: "col" }, "Kept"), make("th", { scope: "col" }, otherName(removed)), make("td", {}))),
    make("tbody", {}, ...attributes.map(row)));
}

/** The size of the removed files. */
function freed(group) {
  return group.members.reduce((sum, { image, stays }) => sum + (stays ? 0 : image?.bytes ?? 0), 0);
}
