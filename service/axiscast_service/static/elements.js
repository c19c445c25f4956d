/* Elements, and texts as people read them. */

/** An element. Text stays text: nothing that the server says becomes markup. */
export function el(tag, properties, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.includes("-")) node.setAttribute(name, value); else node[name] = value;
  }
  node.append(...children);
  return node;
}

/** A sentence in which code stands between backticks. */
export const words = (text = "") => text.split("`").map((part, place) => (place % 2 ? el("code", {}, part) : part));

export const tuple = (sizes) => `(${sizes.join(", ")}${sizes.length === 1 ? "," : ""})`;
