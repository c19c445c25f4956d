/* Answers, as elements: verdict, drawing, lists, tables, and the values that went in and came out. */

import {el, tuple, words} from "./elements.js";
import {askedOf, comparisonOf, hinted, queryOf, questionOf, volume} from "./question.js";

const help = (tag, ...content) => el(tag, {className: "help"}, ...content);
const linkTo = (asked, ...content) => el("a", {href: `?${queryOf(asked)}`}, ...content);
const reachedBy = (outputs) => [...new Set(outputs.map(({shape}) => tuple(shape)))].join(" and ");

/** [kind, headline, ...message] of an answer of check. */
export function verdictOf({compatible, outputs = [], conflict}) {
  const reached = outputs.length ? ` to ${reachedBy(outputs)}` : "";
  if (compatible) return ["yes", `✓ Broadcasts${reached}`];
  if (compatible === null) return ["maybe", `Broadcasts${reached} for some sizes`];
  return ["no", "✗ Does not broadcast", ...words(conflict?.message)];
}

/** What stands below the drawing. */
export function detailsOf({outputs = [], conflict, conditions = [], warnings = []}, asked) {
  const hints = (conflict?.hints ?? []).map((hint) => hintOf(hint, asked));
  const others = linkTo(comparisonOf(asked, outputs), "What the other frameworks answer");
  return [
    ...list("hint", "What would fit", hints), ...list("condition", "It fits where", conditions.map(({text}) => [text])),
    ...warned(warnings, asked), ...tableOf(outputs),
    el("p", {className: "others"}, others),
  ];
}

/** A hint's words, which lead to its question where it has one. */
function hintOf(hint, asked) {
  const next = hinted(hint, asked);
  return next ? [linkTo(next, hint.text)] : words(hint.text);
}

const warned = (warnings, asked) => list("warning", "Worth knowing", warnings.map(({message, hint}) =>
  [...words(message), ...(hint ? [el("p", {}, ...hintOf(hint, asked))] : [])]));

const list = (kind, title, items) =>
  items.length ? [el("h2", {}, title), el("ul", {className: kind}, ...items.map((item) => el("li", {}, ...item)))] : [];

function tableOf(outputs) {
  const columns = [
    ["output", (_, number) => (outputs.length > 1 ? number : "")],
    ["from input", ({input}, number) => (input === number ? "" : input)],
    ["shape", ({shape}) => tuple(shape)], ["dims", ({dims}) => dims?.join(", ")],
    ["factors", ({factors}) => factors && tuple(factors)],
    ["broadcast axes", (output) => output.broadcast_axes.join(", ") || "none"],
    ["perhaps", (output) => output.maybe_broadcast_axes?.join(", ")],
    ["elements", ({elements}) => elements], ["bytes", ({nbytes}) => nbytes],
  ].map(([name, cell]) => [name, outputs.map((output, number) => String(cell(output, number) ?? ""))])
    .filter(([, cells]) => cells.some(Boolean)); // a column that says nothing is left out
  const head = columns.map(([name]) => el("th", {scope: "col"}, name));
  const rows = outputs.map((_, number) => el("tr", {}, ...columns.map(([, cells]) => el("td", {}, cells[number]))));
  const title = el("h2", {}, rows.length > 1 ? "Outputs" : "Output");
  return rows.length ? [title, el("div", {className: "wide"}, el("table", {}, el("tr", {}, ...head), ...rows))] : [];
}

/** The drawing, coloured: what stretches, or may, what is new, and the column over the ^. */
export function draw(diagram) {
  const lines = diagram.split("\n"), marks = {"*": "stretch", "~": "maybe", "+": "new", "^": "conflict"};
  const caret = lines.find((line) => /^ +\^$/.test(line))?.indexOf("^");
  return lines.flatMap((line) => {
    const label = /^(axis|input \d+|target|outputs?( \d+)?)(?= |$)/.exec(line)?.[0] ?? "";
    const plain = label.startsWith("output") ? "output" : label === "axis" || !label ? "quiet" : "";
    let end = label.length;
    const cells = line.slice(end).split(/( +)/).map((cell) => {
      const start = end;
      end += cell.length;
      const conflicts = label && start <= caret && caret < end && /[^ +]/.test(cell);
      return el("span", {className: conflicts ? "conflict" : marks[cell.at(-1)] ?? plain}, cell);
    });
    return [el("span", {className: "quiet"}, label), ...cells, "\n"];
  });
}

// ---- The comparison

/** [kind, headline] of an answer of compare. */
export function comparedOf({results}) {
  const count = results.filter(({compatible}) => compatible).length;
  const some = results.filter(({compatible}) => compatible === null).length;
  const kind = count === results.length ? "yes" : count || some ? "maybe" : "no";
  return [kind, `${count} of ${results.length} broadcast${some ? `, ${some} for some sizes` : ""}`];
}

/** A row for each framework's ops and modes that agree: what comes out, and along which axes it is replicated, or why not. */
export function comparisonTable({results}, asked) {
  const linked = (op) => {
    const next = askedOf(op.name, {...asked, values: questionOf({op, inputs: []}).values});
    return [linkTo(next, op.name), help("span", op.mode ? ` ${op.mode}` : "")];
  };
  const rows = results.map(({op, also = [], compatible, outputs = [], conditions = [], conflict, warnings = []}) => {
    const answer = compatible
      ? [el("span", {className: "yes"}, "✓ ", reachedBy(outputs) || "yes"), help("span", replicationOf(outputs)),
         help("span", ...warnings.map(({code}) => ` ${code}`))]
      : conflict ? [el("span", {className: "no"}, "✗ ", conflict.code), help("p", ...words(conflict.message))]
      : [el("span", {className: "maybe"}, reachedBy(outputs)), ...conditions.map(({text}) => help("p", `where ${text}`))];
    const names = el("th", {scope: "row"}, ...linked(op), ...also.map((other) => help("p", ...linked(other))));
    return el("tr", {}, names, el("td", {}, ...answer));
  });
  const head = ["op", "output, or why not"].map((name) => el("th", {scope: "col"}, name));
  return el("table", {className: "comparison"}, el("thead", {}, el("tr", {}, ...head)), el("tbody", {}, ...rows));
}

/** Along which axes the one output is replicated, since other rules may reach the same shape along others. */
function replicationOf(outputs) {
  const axes = outputs.length === 1 ? outputs[0].broadcast_axes : [];
  return axes.length ? ` replicated along ${axes.length > 1 ? "axes" : "axis"} ${axes.join(", ")}` : "";
}

// ---- Values

const MOST = {outputs: 8, axes: 6, elements: 12, outputElements: 64}; // what an eye takes in

/** Why there are no values to be seen, in words where that is worth saying; null where there are some. */
export function whyNoValues(shapes, {compatible, outputs = []}) {
  if (!compatible || !outputs.some(({shape}) => volume(shape))) return "";
  const few = (shape, most) => shape.length <= MOST.axes && volume(shape) <= most;
  const fits = outputs.length <= MOST.outputs && outputs.every(({shape, factors = shape, input}) =>
    few(shapes[input], MOST.elements) && few(shape, MOST.outputElements) && factors.length <= MOST.axes);
  return fits ? null : `Up to ${MOST.elements} elements in and ${MOST.outputElements} out, each value is shown here.`;
}

/** Each input that is read, and the output beside it: an element has one colour in both. */
export function valuesOf(shapes, outputs, tensors) {
  const pairs = outputs.flatMap(({input, shape, factors = shape, axes, broadcast_axes: replicated}, number) => {
    const count = volume(shapes[input]);
    const marks = factors.map((_, axis) => (!replicated.includes(axis) ? "" : axes.includes(axis) ? "stretch" : "new"));
    const copyAt = (place) => { // how the element came there; the first one along an axis counts as the element itself
      const along = marks.filter((_, axis) => Math.floor(place / volume(factors.slice(axis + 1))) % factors[axis] > 0);
      return along.includes("new") ? "new" : along.includes("stretch") ? "stretch" : "";
    };
    const cell = (value, copy) => {
      const node = el("span", {className: `cell ${copy}`, "data-source": `${input}:${value}`}, value);
      node.style.setProperty("--hue", Math.round((360 * value) / count));
      return node;
    };
    const before = [...Array(count).keys()].map((value) => cell(value, ""));
    const after = [tensors[number].data].flat(Infinity).map((value, place) => cell(value, copyAt(place)));
    return [grid(`input ${input}`, shapes[input], before), el("span", {className: "arrow"}, "→"),
            grid(outputs.length > 1 ? `output ${number}` : "output", shape, after, factors === shape ? marks : [])];
  });
  const kinds = [["stretch", "a copy along a stretched axis"], ["new", "a copy along a new axis"]];
  const legend = kinds.filter(([kind]) => pairs.some((pair) => pair.querySelector(`.cell.${kind}`)))
    .map(([kind, meaning]) => el("span", {}, el("span", {className: `cell ${kind}`}), ` ${meaning} `));
  return [el("h2", {}, "Where each value goes"), el("div", {className: "pairs"}, ...pairs),
          el("p", {className: "help legend"}, ...legend)];
}

/** Cells in C order, under their shape: the last axis to the right, the one before it down, and so on in turn. */
function grid(name, shape, cells, marks = []) {
  const inside = (axis, from) => {
    if (axis === shape.length) return cells[from];
    const step = volume(shape.slice(axis + 1)), places = [...Array(shape[axis]).keys()];
    return el("span", {className: `axis axis-${shape.length - axis}`},
              ...places.map((place) => inside(axis + 1, from + place * step)));
  };
  const sizes = shape.flatMap((size, axis) => [axis ? ", " : "", el("span", {className: marks[axis] ?? ""}, size)]);
  const values = cells.map((cell) => cell.textContent).join(" ");
  return el("figure", {}, el("figcaption", {}, `${name} (`, ...sizes, shape.length === 1 ? ",)" : ")"),
            el("div", {role: "img", "aria-label": `${name}: ${values}`}, inside(0, 0)));
}

/** Shows where one element stands in every grid; none without a source. */
export function light(grids, source) {
  const cells = grids.querySelectorAll("[data-source]"); // the legend's have none
  for (const cell of cells) cell.classList.toggle("lit", cell.dataset.source === source);
}
