/* The data of a drawing: rows for the table of axes, and scenes, which show the inputs in the shape of the output. */

import {sizesOf, volume} from "./question.js";

const MOST = {slots: 6, layers: 4, rank: 8}; // the limits of what a drawing shows, to keep it readable
export const letterOf = (input) => (input < 26 ? String.fromCharCode(97 + input) : `input ${input}`);
const numeric = (sizes) => sizes.map((size) => (/^\d{1,15}$/.test(size) ? Number(size) : size));
const integers = (sizes) => sizes.every(Number.isInteger);
const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);

/** Returns the shapes of the inputs. Known sizes are numbers, and symbolic sizes are strings. */
export const shapesOf = (asked) => asked.inputs.map((text) => numeric(sizesOf(text)));

// ---- Rows

/** Returns {rows, more, heads, blamed} for the diagram in a response. A row is {name, input, letter, output, cells}, and has
 * a cell {size, mark, axis} for each column; `axis` is the axis of the input. `more` is the sentence about omitted inputs.
 * `heads` are the names of the columns. `blamed` tells for each column whether the sizes conflict. */
export function rowsOf({diagram = "", outputs = []}, asked) {
  const [head, ...lines] = diagram.split("\n"), shapes = shapesOf(asked);
  const found = [...head.matchAll(/\d+|sum/g)], heads = found.map(([name]) => (name === "sum" ? name : `axis ${name}`));
  const ends = found.map(({index, 0: {length}}) => index + length + 1); // includes the mark
  const isProduct = heads.includes("sum"), cut = (line, start) =>
    ends.map((end, column) => line.slice(ends[column - 1] ?? start, end).trim());
  const rows = lines.flatMap((line) => {
    const name = /^(input \d+|target|result|outputs?( \d+)?)(?= |$)/.exec(line)?.[0];
    if (!name) return [];
    const texts = cut(line, name.length), output = /^(output|result)/.test(name);
    const cells = texts.map((text) => ({size: text.replace(/[*~+]$/, ""), mark: /[*~+]$/.exec(text)?.[0] ?? ""}));
    const input = name.startsWith("input") ? Number(name.slice(6)) : null;
    const order = isProduct ? undefined : outputs.find((one) => one.input === input)?.axes ?? permuted(asked, input);
    if (!output) number(cells, shapes[input] ?? numeric(texts.filter(Boolean)), order);
    const letter = input === null ? name : letterOf(input);
    return [{name, input, letter, output, cells}];
  });
  const marks = lines.find((line) => /^ *\^[ ^]*$/.test(line)) ?? "", blamed = cut(marks, 0).map(Boolean);
  return {rows, more: lines.find((line) => line.startsWith("and ")) ?? "", heads, blamed};
}

/** Returns the output axis for each input axis if an attribute lists these axes, otherwise undefined. */
const permuted = ({values}, input) => {
  const text = values.axes_mapping ?? values.broadcast_dimensions;
  return input === 0 && text ? sizesOf(text)?.map(Number) : undefined;
};

/** Returns [name, marks] for each attribute that lists output axes, with a mark for each column. */
export function attributesAt({values}, {axes = []}, count) {
  return Object.entries(values).flatMap(([name, text = ""]) => {
    const places = /^(?!rhs).*(ax[ie]s|dimensions)/.test(name) && text ? numeric(sizesOf(text) ?? []) : [];
    if (!places.length || !places.every((place) => Number.isInteger(place) && place < count)) return [];
    const maps = places.length === axes.length && places.every((place, axis) => place === axes[axis]);
    const mark = (column) => (!places.includes(column) ? "" : maps ? `from axis ${places.indexOf(column)}` : "●");
    return [[name, [...Array(count).keys()].map(mark)]];
  });
}

/** Sets the input axis of each cell: by `order` if it fits, otherwise the first unused axis with the cell's size. */
function number(cells, shape, order) {
  const left = new Set(shape.keys()), own = cells.map(({size}) => numeric([size])[0]);
  if (own.filter((size) => size !== "").length !== shape.length) return; // an axis of the input is split into several columns
  const fits = order?.length === shape.length && order.every((column, axis) => own[column] === shape[axis]);
  cells.forEach((cell, column) => {
    const axis = fits ? order.indexOf(column) : [...left].find((one) => shape[one] === own[column]);
    if (left.delete(axis)) cell.axis = axis;
  });
}

// ---- Scenes

/** Returns a scene for each shape of the outputs. A conflict has no scene, because the table of axes shows the conflict.
 *
 * A scene has the drawn `shape`, its `factors` (equal to `shape` unless axes are merged) and their names, and a layer
 * {input, letter, shape, kinds, at} for each input. A kind tells how the input fills a factor: "" (with its own elements),
 * "stretch", "new" or "maybe". `at(place)` returns the element at a place of the scene: {index, copy}. */
export function scenesOf(answer, asked) {
  const byShape = Map.groupBy(answer.outputs ?? [], ({shape, factors}) => `${shape}:${factors}`);
  return [...byShape.values()].map((outputs) => meetingOf(outputs, asked)).filter(Boolean);
}

function meetingOf(outputs, asked) {
  const [{factors: written, shape: reached}] = outputs, shape = numeric(reached), factors = numeric(written ?? reached);
  const groups = written ? groupsOf(factors, shape) : null;
  if (shape.length > MOST.rank || (written && !groups)) return null;
  const split = (place) => (groups ? groups.flatMap((group, axis) => unravel(place[axis], group)) : place);
  const layers = outputs.slice(0, MOST.layers).map((output) => layerOf(output, factors, split, shapesOf(asked)));
  const headings = headingsOf(asked, factors.length);
  const names = outputs[0].dims ?? (headings && spokenOf(...headings));
  return {shape, factors, names, layers, merged: Boolean(groups), more: outputs.length - layers.length};
}

function layerOf({input, axes, broadcast_axes: copied, maybe_broadcast_axes: maybe = []}, factors, split, shapes) {
  const kinds = factors.map((_, axis) =>
    (!axes.includes(axis) ? "new" : copied.includes(axis) ? "stretch" : maybe.includes(axis) ? "maybe" : ""));
  const placed = axes.map((axis) => (kinds[axis] === "stretch" ? 1 : factors[axis])), shape = shapes[input];
  const whole = placed.length === shape.length && placed.every((size, axis) => size === shape[axis]);
  const splits = !whole && integers(placed) && integers(shape) && volume(placed) === volume(shape);
  const at = (place) => {
    const along = split(place), axis = axes.map((one) => (kinds[one] === "stretch" ? 0 : along[one]));
    const crossed = kinds.filter((_, one) => along[one] > 0);
    const copy = ["new", "stretch", "maybe"].find((kind) => crossed.includes(kind)) ?? "";
    return {index: splits ? unravel(ravel(axis, placed), shape) : axis, copy};
  };
  return {input, letter: letterOf(input), shape, kinds, at};
}

/** Returns the factors of each axis of a shape, or null if they are unknown. A factor of 1 may be in either group. */
function groupsOf(factors, shape) {
  const groups = shape.map(() => []);
  let axis = 0;
  for (const factor of factors) {
    if (axis < shape.length - 1 && groups[axis].length && complete(groups[axis], shape[axis])) axis += 1;
    groups[axis].push(factor);
  }
  return groups.every((group, place) => complete(group, shape[place])) ? groups : null;
}

const complete = (group, size) => (group.length === 1 ? group[0] === size : integers(group) && volume(group) === size);

const ravel = (index, shape) => index.reduce((flat, part, axis) => flat * shape[axis] + part, 0);

function unravel(flat, shape) {
  return shape.map((size, axis) => Math.floor(flat / volume(shape.slice(axis + 1))) % (size || 1));
}

// ---- What is drawn of an axis

/** Returns the places that are drawn along an axis, with "…" for omitted places. */
export function slotsOf(size) {
  if (!Number.isInteger(size)) return [0, 1, "…"];
  return size <= MOST.slots ? [...Array(size).keys()] : [0, 1, 2, "…", size - 1];
}

/** Returns the short name of an element: the letter of the input, and the last three indices. Axes of size 1 are omitted. */
export function labelOf({letter, shape}, index) {
  const told = index.filter((_, axis) => shape[axis] !== 1).slice(-3), most = Math.max(0, ...told);
  return letter + (most > 99999 ? "…" : told.join(most > 9 ? "," : ""));
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

/** Returns the names of factors for use in a sentence. The name of a number in a pattern mentions the output axis. */
function spokenOf(names, spans) {
  const axes = spans.flatMap((span, axis) => Array(span).fill(axis));
  return names.map((name, place) => {
    if (!/^\d+$/.test(name)) return name;
    const equal = [...names.keys()].filter((other) => names[other] === name && axes[other] === axes[place]);
    const which = equal.length > 1 ? `${ORDINALS[equal.indexOf(place)] ?? "next"} ` : "";
    return `the ${which}${name} of axis ${axes[place]}`;
  });
}
