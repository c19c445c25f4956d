/* The drawing: grids of cells that show how the inputs are combined, and a table of axes. */

import {el, tuple} from "./elements.js";
import {attributesAt, headingsOf, isProduct, labelOf, letterOf, panelsOf, rowsOf, scenesOf, slotsOf} from "./picture.js";

const HUES = [255, 60, 150, 320, 205, 95, 285, 30]; // the hues of the inputs, chosen so that successive hues differ clearly
const PLANES = 4; // the maximum number of planes in a drawn stack
const MOST_LINES = 3; // the maximum number of labels in a cell of the output
const tint = (input) => `oklch(var(--source) ${HUES[input % HUES.length]})`;

const indexed = (index) => `[${index.join(", ")}]`;
const listed = (items) => items.flatMap((item, place) =>
  [place === 0 ? "" : place < items.length - 1 ? ", " : " and ", ...[item].flat()]);
const axesOf = (kinds, ...wanted) => [...kinds.keys()].filter((axis) => wanted.includes(kinds[axis]));
const copiedAxes = (kinds) => axesOf(kinds, "new", "stretch");
const along = (axes, names) => ["along ", names ? "" : axes.length > 1 ? "axes " : "axis ",
                                ...listed(axes.map((axis) => names?.[axis] ?? axis))].join("");

/** Returns an element with the name of an input in the input's colour. The target has no colour. */
export function named(input, text = letterOf(input)) {
  const node = el("b", {className: input === null ? "" : "input"}, text);
  node.style.setProperty("--hue", HUES[input % HUES.length]);
  return node;
}

/** Returns the drawing for a response. `resize(input, axis, size)` requests a new size; `input` is null for the target. */
export function drawingOf(answer, question, resize) {
  const sentence = el("p", {className: "say"}), scenes = scenesOf(answer, question);
  const say = (...words) => sentence.replaceChildren(...words);
  const drawn = scenes.map(sceneOf), table = axesTable(answer, question, resize);
  addChoosers(drawn);
  const panels = panelsOf(answer);
  const summary = answer.conflict ? [] : scenes.length ? scenes.flatMap((scene) => [...summaryOf(scene), " "]) : panels.length ? productSummary(panels) : [];
  const above = summary.length ? [sentence, table.node] : [table.node, sentence];
  const node = el("div", {className: "drawing"}, ...above, ...plainScene(panels, answer), ...drawn.map(({figure}) => figure));
  const show = ({target}) => {
    const column = target.closest?.("[data-column]")?.dataset.column;
    for (const cell of table.node.querySelectorAll("[data-column]")) {
      cell.classList.toggle("on", cell.dataset.column === column);
    }
    const parts = drawn.map(({light}) => light(target, Number(column ?? -1))).find(Boolean);
    say(...(parts ?? table.sentences[column] ?? summary));
  };
  node.onpointerover = show;
  node.addEventListener("focusin", show);
  node.onpointerleave = () => show({target: node.contains(document.activeElement) ? document.activeElement : node});
  say(...summary);
  return node;
}

function productSummary(panels) {
  const summed = panels.filter(({marked}) => marked >= 0).map(({input, marked}) => [named(input), ` along axis ${marked}`]);
  return summed.length ? ["The product is summed over ", ...listed(summed), "."] : ["Nothing is summed."];
}

/** Returns the figure of a conflict or of a product: its arrays side by side, with the marked axis of each. */
function plainScene(panels, {conflict}) {
  const drawn = panels.filter(({shape}) => shape.length);
  if (!drawn.length || drawn.length !== panels.length) return [];
  const slots = drawn.map(({shape}) => shape.map((size) => slotsOf(size)));
  const along = (axis) => Math.max(...slots.map((own) => own.at(axis)?.length || 1));
  const figure = el("figure", {className: `scene plain ${conflict ? "conflict" : "product"}`}), depth = Math.min(PLANES, along(-3)) - 1;
  for (const [name, value] of Object.entries({rows: along(-2), columns: along(-1), depth, panels: drawn.length - 1})) {
    figure.style.setProperty(`--${name}`, value);
  }
  const joined = drawn.map((panel, place) => {
    const cells = new Map(), scene = {shape: panel.shape, factors: panel.shape, layers: [panel], merged: false};
    const node = panelOf(scene, panel, slots[place], slots[place].slice(0, -2).map(([first]) => first), cells);
    for (const [cell, {place: at}] of cells) cell.classList.toggle("marked", at.every((one, axis) => axis === panel.marked || one === 0));
    if (panel.marked >= 0) node.querySelector("figcaption").replaceChildren(named(panel.input, panel.letter), " (", ...sizesOf(panel), ")");
    const sign = conflict ? "and" : panel.output ? "=" : "×";
    return el("div", {className: "joined"}, ...(place ? [el("span", {className: "sign", "aria-hidden": "true"}, sign)] : []), node);
  });
  figure.append(el("div", {className: "panels"}, ...joined));
  return [figure];
}

const sizesOf = ({shape, marked}) => shape.flatMap((size, axis) =>
  [axis ? ", " : "", axis === marked ? el("b", {className: "marked"}, size) : String(size)]);

/** Returns the sentence about an input that is repeated as a whole, as tile does, or null if an axis is copied otherwise. */
function tiledSummary({layers: [layer, ...others], groups}) {
  if (others.length || groups.every(({length}) => length === 1)) return null;
  let start = 0;
  const counts = groups.map((group) => {
    const own = layer.kinds.slice(start, start += group.length);
    return group.reduce((product, size, place) => (own[place] ? product * size : product), 1);
  });
  const parts = counts.flatMap((count, axis) => (count === 1 ? [] : [`${count} times along axis ${axis}`]));
  return [named(layer.input), parts.length ? " is repeated " : " is not repeated", ...listed(parts), "."];
}

function summaryOf({layers, shape, factors, names, groups}) {
  const tiled = names ? null : tiledSummary({layers, groups});
  if (tiled) return tiled;
  if (shape.includes(0)) return ["An axis of size 0 has no elements, so nothing is copied."];
  const axesByInput = (axesIn) => layers.map(({input, kinds}) => [input, axesIn(kinds)]).filter(([, axes]) => axes.length)
    .map(([input, axes], place) => [named(input), place ? " " : " is copied ", along(axes, names)]);
  const always = axesByInput((kinds) => copiedAxes(kinds).filter((axis) => factors[axis] !== 1));
  const sometimes = layers.flatMap(({input, kinds, sizes}) => axesOf(kinds, "maybe").map((axis) =>
    [named(input), ` is copied ${along([axis], names)} ${ifOne(sizes[axis])}`]));
  const none = layers.length === 1 ? [named(layers[0].input), " is not copied."] : ["Nothing is copied."];
  const sentence = always.length ? [...listed(always), ". "] : sometimes.length ? [] : none;
  return sometimes.length ? [...sentence, ...listed(sometimes), "."] : sentence;
}

// ---- Scenes

/** Returns {figure, light, slots, choose} for a scene. `light(target, axis)` highlights the cells that share an element
 * with the cell `target`, or the cells along an axis. It returns a sentence about the cell. `slots` are the positions on
 * the axes along which only one plane is drawn, and `choose(axis, place)` shows another plane. */
function sceneOf(scene) {
  const {shape, layers} = scene, slots = shape.map((size) => slotsOf(size));
  const chosen = slots.slice(0, -2).map(([first]) => first), cells = new Map();
  const panels = el("div", {className: "panels"}), figure = el("figure", {className: "scene"}, panels);
  const render = () => {
    cells.clear();
    const drawn = layers.map((layer) => panelOf(scene, layer, slots, chosen, cells));
    const sign = (text) => el("span", {className: "sign", "aria-hidden": "true"}, text);
    const joined = (...parts) => el("div", {className: "joined"}, ...parts);
    const inputs = drawn.map((panel, place) => (place ? joined(sign("and"), panel) : joined(panel)));
    panels.replaceChildren(...inputs, joined(sign("→"), panelOf(scene, null, slots, chosen, cells)));
  };
  const [rows, columns] = [-2, -1].map((axis) => slots.at(axis)?.length || 1), depth = Math.min(PLANES, slots.at(-3)?.length ?? 1) - 1;
  for (const [name, value] of Object.entries({rows, columns, depth, panels: layers.length})) {
    figure.style.setProperty(`--${name}`, value);
  }
  render();
  const choose = (axis, place) => {
    chosen[axis] = place;
    figure.classList.add("still");
    render();
  };
  if (scene.more) figure.append(el("figcaption", {className: "help"}, `and ${scene.more} more inputs`));
  figure.append(legendOf(cells, scene));
  const light = (target, axis) => {
    const own = cells.get(target.closest?.("td"));
    for (const [node, cell] of cells) node.classList.toggle("lit", own ? meets(cell, own) : isAlong(cell.place, axis));
    return own && sentenceOf(own, scene);
  };
  const base = () => [...chosen, 0, 0];
  const isAlong = (place, axis) => axis >= 0 && axis < place.length
    && place.every((slot, other) => other === axis || slot === base()[other]);
  return {figure, light, slots: slots.slice(0, -2), choose};
}

/** Adds the buttons that choose planes. Scenes with the same leading axes share the buttons above the first of them. */
function addChoosers(drawn) {
  const groups = Map.groupBy(drawn, ({slots}) => JSON.stringify(slots));
  for (const scenes of groups.values()) {
    const [{figure, slots}] = scenes;
    const choose = (axis) => (place) => { for (const scene of scenes) scene.choose(axis, place); };
    const choosers = slots.map((places, axis) => (places.length > 1 ? chooserOf(axis, places, choose(axis)) : ""));
    if (choosers.some(Boolean)) figure.prepend(el("div", {className: "choosers"}, ...choosers));
  }
}

/** Returns whether a cell is highlighted together with the selected cell `own`. Both show or read the same element. */
function meets(cell, own) {
  if (cell === own) return true;
  const shared = cell.reads.some((element) => own.reads.includes(element));
  return shared && (own.layer ? true : Boolean(cell.layer) && (!cell.copy || `${cell.place}` === `${own.place}`));
}

function sentenceOf({layer, place, parts, copy}, {layers, factors, names}) {
  const element = ({input, letter}, index) => named(input, letter + indexed(index));
  if (!layer) {
    const read = layers.map((one, number) => element(one, parts[number].index));
    return [`Output ${indexed(place)} reads `, ...listed(read), "."];
  }
  const [part] = parts;
  const axes = copiedAxes(layer.kinds);
  const count = axes.reduce((product, axis) => product * factors[axis], 1);
  const who = element(layer, part.index), readers = Number.isInteger(count) ? count : "many";
  if (!axes.length) return [who, " is read once."];
  return [who, copy ? " again, copied " : " is copied ", along(axes, names), `: ${readers} outputs read it.`];
}

function chooserOf(axis, places, choose) {
  const buttons = places.map((place) => {
    if (place === "…") return el("span", {}, place);
    const button = el("button", {type: "button", "aria-pressed": place === places[0]}, place);
    button.onclick = () => {
      for (const other of buttons) other.ariaPressed &&= String(other === button);
      choose(place);
    };
    return button;
  });
  return el("div", {className: "chooser", role: "group", "aria-label": `Place on output axis ${axis}`},
            el("span", {className: "help", "data-column": axis}, `show axis ${axis} =`), ...buttons);
}

/** Returns a panel that shows the output, or an input in the output's shape. The plane that the user chose is in front. */
function panelOf(scene, layer, slots, chosen, cells) {
  const name = layer ? [named(layer.input, layer.letter), ` ${tuple(layer.shape)}`]
    : [el("b", {}, scene.isOperand ? "operand" : "output"), ` ${tuple(scene.shape)}`];
  const stack = slots.at(-3)?.filter((place) => place !== "…") ?? [0];
  const front = Math.max(0, stack.indexOf(chosen.at(-1)));
  const empty = scene.shape.includes(0);
  const planes = empty ? [] : [...stack.slice(front), ...stack.slice(0, front)].slice(0, PLANES);
  const label = name.map((part) => part.textContent ?? part).join("");
  const tables = planes.map((plane, depth) => {
    const before = chosen.length ? [...chosen.slice(0, -1), plane] : [];
    const table = gridOf(scene, layer, slots.slice(-2), before, cells, depth === 0 ? label : "");
    table.style.setProperty("--behind", depth);
    return table;
  });
  const stacked = el("div", {className: "stack"}, ...tables.reverse());
  const drawn = empty ? el("p", {className: "empty"}, "no elements") : stacked;
  return el("figure", {className: `panel ${layer ? "" : "output"}`}, drawn, el("figcaption", {}, ...name));
}

/** Returns a plane of cells as a table. Only the plane in front has a label and can be reached with the keyboard. */
function gridOf(scene, layer, slots, before, cells, label) {
  const [columns = [null], rows = [null]] = [...slots].reverse(), nodes = [];
  const lines = rows.map((row, down) => el("tr", {}, ...columns.map((column, right) => {
    const place = [...before, row, column].filter((slot) => slot !== null);
    const elided = place.includes("…");
    const node = elided ? el("td", {className: "elided"}, label && "…") : cellOf(scene, layer, place, cells, label);
    node.style.setProperty("--right", right);
    node.style.setProperty("--down", down);
    (nodes[down] ??= [])[right] = node;
    return node;
  })));
  const table = el("table", {role: label ? "grid" : "presentation"}, el("tbody", {}, ...lines));
  if (!label) {
    table.ariaHidden = "true";
    return table;
  }
  table.ariaLabel = label;
  for (const node of table.querySelectorAll("td")) node.role = "gridcell";
  for (const row of lines) row.role = "row";
  nodes.flat().find((node) => cells.has(node)).tabIndex = 0;
  table.onkeydown = (event) => moveBy(event, nodes);
  return table;
}

const STEPS = {ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0]};

function moveBy(event, nodes) {
  const step = STEPS[event.key], row = nodes.findIndex((line) => line.includes(event.target));
  if (!step || row < 0) return;
  event.preventDefault();
  let [down, right] = [row, nodes[row].indexOf(event.target)];
  do { down += step[0]; right += step[1]; } while (nodes[down]?.[right]?.className === "elided");
  const next = nodes[down]?.[right];
  if (!next) return;
  event.target.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
}

function cellOf(scene, layer, place, cells, label) {
  const shown = layer ? [layer] : scene.layers, parts = shown.map((one) => one.at(place));
  const reads = shown.map(({input}, number) => `${input}:${parts[number].index}`);
  const copy = layer ? parts[0].copy : "";
  const texts = shown.flatMap((one, number) => (one.input === null ? [] : [named(one.input, labelOf(one, parts[number].index))]));
  const node = el("td", {className: `cell ${copy}`, tabIndex: -1});
  if (!label) node.removeAttribute("tabindex");
  else if (texts.length <= MOST_LINES) node.append(...texts);
  else node.ariaLabel = texts.map(({textContent}) => textContent).join(" ");
  node.style.setProperty("--lines", Math.max(2, texts.length));
  if (label && copy) {
    const text = texts[0]?.textContent ?? layer.letter;
    node.ariaLabel = copy === "maybe" ? `${text}, or ${sourceOf(layer, parts[0].index)}` : `copy of ${text}`;
  }
  const inks = shown.filter(({input}) => input !== null).map(({input}) => tint(input));
  const step = 100 / inks.length, stops = inks.map((ink, number) => `${ink} ${number * step}% ${(number + 1) * step}%`);
  if (inks.length) node.style.setProperty("--fill", `linear-gradient(135deg, ${stops.join(", ")})`);
  if (layer?.input != null) node.style.setProperty("--hue", HUES[layer.input % HUES.length]);
  node.style.setProperty("--characters", Math.max(...texts.map(({textContent: {length}}) => length), 2));
  const copied = layer && !scene.merged ? copiedAxes(layer.kinds).map((axis) => axis - scene.shape.length) : [];
  if (copied.includes(-1)) node.classList.add("from-left");
  if (copied.includes(-2)) node.classList.add("from-top");
  cells.set(node, {layer, place, parts, reads, copy});
  return node;
}

const ifOne = (size) => (size === "?" || size === undefined ? "if its size is 1" : `if ${size} == 1`);

/** Returns the name of the element that a cell shows if the symbolic sizes of its layer are 1, and this condition. */
function sourceOf({letter, shape, kinds, axes, sizes}, index) {
  const isSource = axes.length === shape.length;
  const source = index.map((one, axis) => (isSource && kinds[axes[axis]] === "maybe" ? 0 : one));
  const crossed = axesOf(kinds, "maybe").filter((axis) => index[axes.indexOf(axis)] > 0);
  return `${labelOf({letter, shape}, source)} ${crossed.map((axis) => ifOne(sizes[axis])).join(" and ")}`;
}

function legendOf(cells, {layers}) {
  const kinds = {stretch: "a copy along an axis of size 1", new: "a copy along a new axis"}, drawn = [...cells];
  const known = Object.entries(kinds).filter(([kind]) => drawn.some(([, {copy}]) => copy === kind));
  const examples = layers.map((layer) => drawn.find(([, cell]) => cell.layer === layer && cell.copy === "maybe")?.[1]).filter(Boolean)
    .map(({layer, parts: [{index}]}) => ["maybe", `${labelOf(layer, index)} is ${sourceOf(layer, index)}`]);
  return el("p", {className: "help legend"},
            ...[...known, ...examples].map(([kind, meaning]) => el("span", {}, el("i", {className: `cell ${kind}`}), ` ${meaning}`)));
}

// ---- The table of axes

/** Returns {node, sentences}: the table with the sizes on each output axis, and a sentence about each column. */
function axesTable(answer, question, resize) {
  const {rows, more, heads: titles, blamed} = rowsOf(answer), {outputs = [], broadcast_inputs: inputs = []} = answer;
  const count = rows[0]?.cells.length ?? 0, last = outputs.length && isProduct(answer) ? rows.at(-1).cells : null;
  const [first = {}] = inputs, dims = outputs.findLast(({dims: names}) => names?.length === count)?.dims;
  const [names, spans] = (inputs.length && headingsOf(question, count)) || [dims, Array(count).fill(1)];
  let column = 0;
  const heads = spans.map((span, axis) => {
    const button = el("button", {type: "button"}, count === spans.length && titles[axis] ? titles[axis] : `axis ${axis}`);
    return el("th", {scope: "col", colSpan: span, "data-column": (column += span) - span}, button);
  });
  const head = [el("tr", {}, el("td", {}), ...heads)];
  if (names) head.push(el("tr", {}, el("td", {}), ...names.map((name, place) =>
    el("th", {scope: "col", className: "name", "data-column": place}, name))));
  const own = ({size, mark, axis}, place, {input, name, output}) => {
    const reached = last ? last[place].size : first.factors?.[place] ?? first.shape?.[place];
    const steps = !output && /^\d{1,15}$/.test(size) && axis !== null;
    const step = (next) => resize(input, axis, next);
    const content = [steps ? stepper(Number(size), `${name} axis ${axis}`, step) : size];
    if (mark === "+") content.push(el("span", {className: "new"}, "new"));
    const condition = mark === "~" && size !== "1" ? ` ${ifOne(size)}` : "";
    if (reached !== undefined && mark) content.push(el("span", {className: "to"}, ` → ${reached}${condition}`));
    return content;
  };
  const body = rows.map((row) => {
    const merged = row.output && first.factors && spans.length === first.shape.length;
    const cells = merged ? first.shape.map((size, axis) => el("td", {colSpan: spans[axis]}, size))
      : row.cells.map((cell, place) => {
        const conflict = blamed[place] && cell.size !== "" ? "conflict" : "";
        return el("td", {className: conflict, "data-column": place}, ...own(cell, place, row));
      });
    const title = row.input === null ? row.name : [named(row.input), el("span", {className: "help"}, ` ${row.name}`)];
    return el("tr", {className: row.output ? "output" : ""}, el("th", {scope: "row"}, ...[title].flat()), ...cells);
  });
  const attributes = attributesAt(question, first, count).map(([name, marks]) =>
    el("tr", {className: "attribute"}, el("th", {scope: "row"}, el("code", {}, name)),
       ...marks.map((mark, place) => el("td", {"data-column": place}, mark))));
  const at = body.findIndex(({className}) => className === "output");
  body.splice(at < 0 ? body.length : at, 0, ...attributes);
  const caption = el("caption", {}, "The sizes on each output axis");
  const parts = [caption, el("thead", {}, ...head), el("tbody", {}, ...body)];
  const table = el("table", {className: count > 2 ? "axes many" : "axes"}, ...parts);
  const node = el("div", {className: "wide"}, table, ...(more ? [el("p", {className: "help"}, more)] : []));
  const sentences = [...Array(count).keys()].map((place) => sentenceAt(place, rows, names?.[place] ?? titles[place], blamed));
  return {node: count ? node : el("div", {}), sentences};
}

function sentenceAt(place, rows, name, blamed) {
  const copied = (size, mark) => (mark === "*" ? ", which is copied" : mark === "~" ? `, which is copied ${size === "1" ? "" : ifOne(size)}`.trimEnd() : "");
  const parts = rows.filter(({output}) => !output).flatMap(({input, letter, cells}) => {
    const {size, mark} = cells[place], who = named(input, letter);
    return mark === "+" ? [[who, " gets a new axis"]]
      : size === "" ? [] : [[who, ` has ${size}${copied(size, mark)}`]];
  });
  const verdict = blamed[place] ? ": these sizes conflict." : name.startsWith("sum") ? ": the product is summed along it." : ".";
  const words = parts.flatMap((part, number) => [number ? "; " : "", ...part]);
  const head = name.startsWith("sum") ? `Summed${name.slice(3)}` : /^axis \d+/.test(name) ? `A${name.slice(1)}` : `Axis ${place} (${name})`;
  return [`${head}: `, ...words, verdict];
}

/** Returns a size with one button that decreases the size and one button that increases it. */
function stepper(size, name, resize) {
  const button = (sign, next, word) => {
    const node = el("button", {type: "button", "aria-label": `${word} ${name}`, "data-key": `${word} ${name}`}, sign);
    node.disabled = next < 0;
    node.onclick = () => resize(next);
    return node;
  };
  const shrink = button("−", size - 1, "Shrink"), grow = button("+", size + 1, "Grow");
  return el("span", {className: "stepper"}, shrink, el("b", {}, size), grow);
}
