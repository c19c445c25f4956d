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

/** Returns the parts of a sentence, with `<code>` elements for the parts between backticks. */
export const words = (text = "") => text.split("`").map((part, place) => (place % 2 ? el("code", {}, part) : part));

export const tuple = (sizes) => `(${sizes.join(", ")}${sizes.length === 1 ? "," : ""})`;
