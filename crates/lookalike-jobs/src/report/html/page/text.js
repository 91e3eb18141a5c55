"use strict";

// Inserts texts and numbers into the page, always as text, never as markup.

// The data of the report. Its source is not needed after parsing.
const data = JSON.parse(byId("data").textContent);
byId("data").remove();

// Invisible characters and characters that change the text direction.
const HIDDEN_IN_TEXT = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/gu;
// In a name, also line ends and zero-width characters.
const HIDDEN_IN_ID = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/gu;

/** Creates an element with attributes and children. Strings become text. */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "class") element.className = value;
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== false && value != null) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child != null));
  return element;
}

function byId(id) {
  return document.getElementById(id);
}

/** A text with hidden characters shown as code points. */
function shownText(text, hidden = HIDDEN_IN_TEXT) {
  const fragment = document.createDocumentFragment();
  let start = 0;
  for (const match of text.matchAll(hidden)) {
    fragment.append(text.slice(start, match.index), hiddenCharacter(match[0]));
    start = match.index + match[0].length;
  }
  fragment.append(text.slice(start));
  return fragment;
}

function hiddenCharacter(character) {
  const number = character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
  return make("span", { class: "hidden-character", title: "a hidden character" }, `U+${number}`);
}

/** An id, isolated from the surrounding text direction. */
function shownId(id) {
  return make("bdi", { class: "id", title: id }, shownText(id, HIDDEN_IN_ID));
}

/** The file name of a path, for use next to the whole path. */
function shownName(id) {
  return make("bdi", { class: "id", title: id }, shownText(id.slice(id.lastIndexOf("/") + 1), HIDDEN_IN_ID));
}

function count(number) {
  return number.toLocaleString("en");
}

/** "1 group", "2,000 groups". */
function counted(number, noun) {
  return `${count(number)} ${noun}${number === 1 ? "" : "s"}`;
}
