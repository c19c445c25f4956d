/* Functions that create HTML elements and readable text. */

/** Returns a new HTML element. Text is inserted as text, so that text from the server can never become markup. */
export function el(tag, properties, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.includes("-")) node.setAttribute(name, value); else node[name] = value;
  }
  node.append(...children);
  return node;
}

const BRACKETS = /([([][^()[\]]{1,22}[)\]])/; // a short shape, which must not break across lines
const unbroken = (part) => part.split(BRACKETS).map((text, place) => (place % 2 ? el("span", {className: "short"}, text) : text));

/** Returns the parts of a sentence, with `<code>` elements for the parts between backticks. */
export const words = (text = "") => text.split("`").flatMap((part, place) =>
  (place % 2 ? el("code", {className: part.length < 28 ? "short" : ""}, part) : unbroken(part)));

export const tuple = (sizes) => `(${sizes.join(", ")}${sizes.length === 1 ? "," : ""})`;
