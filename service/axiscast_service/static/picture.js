/* The data of a drawing: rows for the table of axes, and scenes that show the inputs in the shape of the output. */

import {tuple} from "./elements.js";
import {ops, sizesOf, volume} from "./question.js";

const MOST = {slots: 6, characters: 5}; // the maximum number of positions that are drawn along an axis, and of characters in a cell
export const letterOf = (input) => (input < 26 ? String.fromCharCode(97 + input) : `input ${input}`);
const numeric = (sizes) => sizes.map((size) => (/^\d{1,15}$/.test(size) ? Number(size) : size));
const integers = (sizes) => sizes.every(Number.isInteger);
const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);

// ---- Rows

/** Returns {rows, more, heads, blamed} for the drawing in a response. A row is {name, input, letter, output, cells}, and has
 * a cell {size, mark, axis} for each column; `axis` is the axis of the input. `more` is a sentence about omitted inputs.
 * `heads` are the names of the columns. `blamed` says for each column whether the sizes conflict. */
export function rowsOf({drawing}) {
  const {heads, rows, omitted_inputs: omitted} = drawing ?? NOTHING, count = heads.filter(Boolean).length;
  const cellsOf = (cells) => (count ? [...Array(count - cells.length).fill({size: "", mark: "", axis: null}), ...cells] : []);
  return {
    heads: heads.filter(Boolean).map((head) => (head.startsWith("sum") ? head : `axis ${head}`)),
    more: omitted ? `and ${omitted} more inputs` : "",
    blamed: cellsOf(rows.find(({name}) => !name)?.cells ?? []).map(({mark}) => mark === "^"),
    rows: rows.filter(({name}) => name).map(({name, input, cells}) => (
      {name, input, letter: input === null ? name : letterOf(input), output: /^(output|result)/.test(name), cells: cellsOf(cells)})),
  };
}

/** Returns whether an op computes an output with other axes than the broadcast inputs, as a matrix product does. A response
 * without a drawing does not show this if all shapes are equal. */
export function isProduct({op, shape, drawing, broadcast_inputs: inputs = []}) {
  if (drawing) return drawing.rows.some(({name}) => name === "result") || drawing.heads.some((head) => head.startsWith("sum"));
  return shape && ops.get(op?.name)?.outputs === "1" && inputs.some((input) => tuple(input.shape) !== tuple(shape));
}

const NOTHING = {heads: [], rows: [], scenes: [], omitted_inputs: 0};

/** Returns [name, marks] for each attribute that lists output axes. There is a mark for each column. */
export function attributesAt({values}, {axes = []}, count) {
  return Object.entries(values).flatMap(([name, text = ""]) => {
    const places = /^(?!rhs).*(ax[ie]s|dimensions)/.test(name) && text ? numeric(sizesOf(text) ?? []) : [];
    if (!places.length || !places.every((place) => Number.isInteger(place) && place < count)) return [];
    const maps = places.length === axes.length && places.every((place, axis) => place === axes[axis]);
    const mark = (column) => (!places.includes(column) ? "" : maps ? `from axis ${places.indexOf(column)}` : "●");
    return [[name, [...Array(count).keys()].map(mark)]];
  });
}

// ---- Scenes

/** Returns a scene for each shape of the outputs. A conflict has no scene, because the table of axes shows the conflict. An
 * operand of a product that is not copied has no scene.
 *
 * A scene has the drawn `shape`, whether this is the shape of an operand of a product, its `factors` (equal to `shape` unless axes are merged) and their names, and a layer
 * {input, letter, shape, axes, kinds, sizes, at} for each input. `axes` and `sizes` are the factor of each axis of the
 * input, and its size on each factor. A kind says how the input fills a factor: "" (with its own elements),
 * "stretch", "new" or "maybe". `at(place)` returns the element at a position in the scene: {index, copy}. */
export function scenesOf(answer, question) {
  const {drawing, outputs = []} = answer, isOperand = isProduct(answer);
  const isDrawn = ({layers}) => !isOperand || layers.some(({kinds}) => kinds.some(Boolean));
  return (drawing ?? NOTHING).scenes.filter(isDrawn).map(({shape, groups, layers, omitted_layers: more}) => {
    const factors = groups.flat(), headings = headingsOf(question, factors.length);
    const split = (place) => groups.flatMap((group, axis) => (group.length === 1 ? place[axis] : unravel(place[axis], group)));
    const names = outputs.find((output) => `${output.shape}` === `${shape}`)?.dims ?? (headings && spokenOf(...headings));
    const merged = groups.some(({length}) => length !== 1);
    return {shape, groups, factors, names, layers: layers.map((layer) => layerOf(layer, split)), merged, more, isOperand};
  });
}

/** Returns a panel for each input of a conflict, or for each operand and the result of a product, or an empty list.
 *
 * A panel has the name, the `shape` and its `marked` axis, which conflicts or is summed. Each element is its own. */
export function panelsOf(answer) {
  const {rows, blamed, heads} = rowsOf(answer), isConflict = Boolean(answer.conflict);
  if (!isConflict && !isProduct(answer)) return [];
  const columns = isConflict ? blamed : heads.map((head) => head.startsWith("sum"));
  return rows.map(({input, letter, output, cells}) => {
    const own = output ? cells.filter(({size}) => size !== "" && size !== "()") : cells.filter(({axis}) => axis !== null);
    const shape = numeric(own.map(({size}) => size)), axes = [...shape.keys()];
    const marked = own.findIndex((cell) => columns[cells.indexOf(cell)]);
    const at = (place) => ({index: place, copy: ""});
    return {input, letter, shape, factors: shape, axes, kinds: axes.map(() => ""), sizes: shape, marked, at, output};
  }).filter(({shape, output}) => output || shape.length);
}

function layerOf({input, shape, factors, axes, kinds: given}, split) {
  const sizes = given.map((_, axis) => factors[axes.indexOf(axis)]);
  const kinds = given.map((kind, axis) => (kind === "maybe" && sizes[axis] === 1 ? "stretch" : kind)); // also right for size 1
  const splits = `${factors}` !== `${shape}` && integers(factors) && integers(shape);
  const at = (place) => {
    const along = split(place), axis = axes.map((one) => (kinds[one] === "stretch" ? 0 : along[one]));
    const crossed = kinds.filter((_, one) => along[one] > 0);
    const copy = ["new", "stretch", "maybe"].find((kind) => crossed.includes(kind)) ?? "";
    return {index: splits ? unravel(ravel(axis, factors), shape) : axis, copy};
  };
  return {input, letter: letterOf(input), shape, axes, kinds, sizes, at};
}

const ravel = (index, shape) => index.reduce((flat, part, axis) => flat * shape[axis] + part, 0);

function unravel(flat, shape) {
  return shape.map((size, axis) => Math.floor(flat / volume(shape.slice(axis + 1))) % (size || 1));
}

// ---- What is drawn of an axis

/** Returns the positions that are drawn along an axis, with "…" for omitted positions. */
export function slotsOf(size) {
  if (!Number.isInteger(size)) return [0, 1, "…"];
  return size <= MOST.slots ? [...Array(size).keys()] : [0, 1, 2, "…", size - 1];
}

/** Returns the short name of an element: the input's letter and the last indices, without axes of size 1. The indices are
 * omitted if they do not fit into a cell. */
export function labelOf({letter, shape}, index) {
  const indices = index.filter((_, axis) => shape[axis] !== 1).slice(-3), isLong = indices.some((one) => one > 9);
  const text = letter + (isLong ? indices.slice(-2).join(",") : indices.join(""));
  return text.length > MOST.characters ? `${letter}…` : text;
}

// ---- Names of axes

/** Returns [factor names, factors per output axis] for an einops pattern, or null if the pattern does not fit. */
export function headingsOf({values: {pattern = ""}}, factors) {
  const [, right = ""] = pattern.split("->");
  const tokens = [...right.matchAll(/\(([^()]*)\)|[^\s()]+/g)]
    .map(([token, inside]) => inside?.trim().split(/\s+/) ?? [token]);
  const rest = factors - sum(tokens.map(({length}) => length)) + 1;
  const groups = tokens.flatMap((names) => {
    const all = names.flatMap((name) => (name === "..." ? Array(Math.max(rest, 0)).fill("…") : [name || "1"]));
    return names.length === 1 && names[0] === "..." && all.length ? all.map((name) => [name]) : [all];
  }).filter(({length}) => length);
  const names = groups.flat();
  return names.length === factors && factors ? [names, groups.map(({length}) => length)] : null;
}

const ORDINALS = ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth"];

/** Returns the names of factors for use in a sentence. If a factor is an integer in a pattern, its name contains the output axis. */
function spokenOf(names, spans) {
  const axes = spans.flatMap((span, axis) => Array(span).fill(axis));
  return names.map((name, place) => {
    if (!/^\d+$/.test(name)) return name;
    const equal = [...names.keys()].filter((other) => names[other] === name && axes[other] === axes[place]);
    const which = equal.length > 1 ? `${ORDINALS[equal.indexOf(place)] ?? "next"} ` : "";
    return `the ${which}${name} of axis ${axes[place]}`;
  });
}
