/* The question, which consists of an op, its inputs and its attributes, all as typed text. A link to the page contains a question. */

import {tuple} from "./elements.js";

const RESERVED = ["op", "input", "explain", "format", "warn", "as"]; // all other parameters of a link are attributes or fields
export const WARNINGS = ["mutual-stretch", "rank-promotion"]; // the warnings that appear only on request
export const IMPORT_NAMES = {np: "numpy", jnp: "jax.numpy", tf: "tensorflow", pytorch: "torch"};
export const fullName = (name) => name.replace(/^\w+(?=\.)/, (module) => IMPORT_NAMES[module] ?? module);
const FIRST = "numpy.broadcast_arrays";
const MEETING = {op: FIRST, inputs: [[3, 1], [1, 4]]}; // a small example in which both inputs are expanded
const DTYPE = {
  name: "dtype", schema: {type: "string", description: "Adds the number of bytes of each output.", examples: ["float32"]},
};
const ASSUME = {
  name: "assume",
  schema: {type: "object", description: "The range or the size of a symbolic size.", examples: ["N=2.., M=1..8"]},
};

const SHAPE = {type: "array", items: {type: "integer"}};
const schemaOf = (property) => ({...property, ...property.anyOf?.find(({type}) => type !== "null")});
const listsIntegers = ({type, items}) => type === "array" && JSON.stringify(items).includes('"integer"');

/** The comparison of all frameworks, which the form treats like an op. */
export const COMPARE = {
  name: "compare",
  doc: "The results of every framework for these shapes. Select an op to see its result.",
  attributes: {properties: {shape: {
    ...SHAPE, examples: [[2, -1]],
    description: "The target shape, for ops that take one, with one input. Without it, the ops that need no target are compared.",
  }}},
  target: "shape",
  inputs: {min: 1, max: null},
  example: {op: {name: "compare", shape: [2, -1]}, inputs: [[1, 3]]},
};
export const ops = new Map([[COMPARE.name, COMPARE]]); // the catalogue of ops, keyed by name
const attributesOf = (op) => ops.get(op)?.attributes.properties ?? {}; // the schemas of the op's attributes

/** Returns a value as typed text: a shape as 2,3 or (), other lists and maps as JSON, and null as an empty string. */
export function typed(value, schema = SHAPE) {
  if (typeof value !== "object") return String(value ?? "");
  if (value === null) return "";
  return listsIntegers(schema) ? value.join(",") || "()" : JSON.stringify(value);
}

// ---- Questions

// A question is {op, inputs, values, extras, warn}. `values` are the texts of all fields, `extras` the names of fields in
// a link, and `warn` the additional warnings that are requested.

/** Returns the question for a request in the form of the service's API. */
export function questionOf({op, inputs}) {
  const {name, ...attributes} = typeof op === "string" ? {name: op} : op;
  const text = (key, value) => typed(value, schemaOf(attributesOf(name)[key] ?? {}));
  const values = Object.fromEntries(Object.entries(attributes).map(([key, value]) => [key, text(key, value)]));
  return {op: name, inputs: inputs.map((shape) => typed(shape)), values, extras: [], warn: []};
}

export const exampleOf = (op) => ({...questionOf(op === FIRST ? MEETING : ops.get(op)?.example ?? MEETING), op});

export function fromLink(search) {
  const link = new URLSearchParams(search), op = fullName(link.get("op") ?? FIRST);
  const names = [...new Set(link.keys())].filter((name) => !RESERVED.includes(name));
  const warn = link.getAll("warn");
  if (!link.has("input") && !names.length) return {...exampleOf(op), warn};
  const value = (name) => (name === "assume" ? assumeOf(link.get(name)) : link.get(name) || "()");
  const values = Object.fromEntries(names.map((name) => [name, value(name)]));
  return {op, inputs: link.getAll("input").map((text) => text || "()"), values, extras: names, warn};
}

/** Returns the question for another op. Typed values are kept if possible, and the target moves to the op's field. */
export function questionWithOp(op, question, target = question.values[targetOf(question.op)]) {
  const values = {...question.values}, mode = attributesOf(op).mode;
  if (mode && !mode.enum.includes(values.mode)) delete values.mode;
  if (target && targetOf(op)) values[targetOf(op)] = target;
  return {...question, op, values, extras: []};
}

const targetOf = (op) => ops.get(op)?.target; // the attribute that holds the target shape, if the op has one

/** Returns the comparison for a question. If the op has no target, the shape of a single output is the target. */
export function comparisonOf(question, outputs) {
  const reached = question.inputs.length === 1 && outputs.length === 1 ? typed(outputs[0].shape) : undefined;
  const values = {assume: question.values.assume};
  return questionWithOp(COMPARE.name, {...question, values}, question.values[targetOf(question.op)] ?? reached);
}

/** Returns the question in a hint, with the options of the current question, or null if the page does not know the op. */
export function hinted({request}, {values: {dtype, assume}, warn}) {
  if (!ops.has(request?.op.name)) return null;
  const next = questionOf(request);
  return {...next, values: {...next.values, dtype, assume}, warn};
}

/** Returns the page title for a question. */
export function titleOf({op, inputs}) {
  const shapes = inputs.map(sizesOf);
  return shapes.every(Boolean) ? `${shapes.map(tuple).join(" with ")}: ${op} · axiscast` : "axiscast";
}

// ---- Fields

/** Returns the fields of the form: the op's attributes for the current mode, the fields in the link, and the options. */
export function fieldsOf({op, values, extras}) {
  const properties = attributesOf(op), {required = []} = ops.get(op)?.attributes ?? {};
  const mode = values.mode || properties.mode?.default;
  const suits = ({schema}) => schema.modes?.includes(mode) ?? true;
  const attributes = Object.keys(properties).filter((name) => name !== "name")
    .map((name) => ({name, schema: schemaOf(properties[name]), required: required.includes(name)})).filter(suits);
  const always = op === COMPARE.name ? [ASSUME] : [ASSUME, DTYPE];
  const others = extras.filter((name) => !(name in properties) && !always.some((field) => field.name === name));
  return [...attributes, ...others.map((name) => ({name, schema: {}})), ...always];
}

/** Returns the text of a field, or an empty string if the field is missing or equal to its default. */
export function valueIn({values}, {name, schema}) {
  const text = (values[name] ?? "").trim();
  return text === typed(schema.default, schema) ? "" : text;
}

const given = (question) =>
  fieldsOf(question).map((field) => [field, valueIn(question, field)]).filter(([, text]) => text);

/** Returns the query string for GET /v1/check and for this page. All shapes are written in the form 8,1. */
export function queryOf(question) {
  const encode = (text) => encodeURIComponent(text).replace(/(%20)*%2C(%20)*/g, ",").replace(/'/g, "%27");
  const plain = (text) => { const sizes = sizesOf(text); return sizes ? typed(sizes) : text.trim(); };
  const values = given(question).map(([{name, schema}, text]) => [name, listsIntegers(schema) ? plain(text) : text]);
  return [["op", question.op], ...question.inputs.map((text) => ["input", plain(text)]), ...values, ...question.warn.map((word) => ["warn", word])]
    .map(([name, text]) => `${encode(name)}=${encode(text).replace(/%3D/g, "=")}`).join("&");
}

const FORMS = "Write a shape as 8,1,6,1 or 8x1x6x1, a scalar as (), and symbolic sizes as N, ? or 2..8";

/** Returns the message about a string that is not a shape. The message contains the first part that is not a size. */
function invalidShape(text) {
  if (text.length > MAX_TEXT) return `A shape has at most ${MAX_TEXT} characters`;
  const part = text.replace(/[()[\]]/g, "").split(/[,×]/).map((one) => one.trim()).find((one) => !sizesOf(one)?.length);
  return part ? `'${part.slice(0, 40)}' is not a size. ${FORMS}` : FORMS;
}

/** Returns the first invalid field as {pointer, detail}, like a problem of the service, or null if all are valid. */
export function misreading(question) {
  const input = question.inputs.findIndex((text) => !text.trim() || !sizesOf(text));
  if (input >= 0) return {pointer: `/inputs/${input}`, detail: invalidShape(question.inputs[input])};
  for (const [{name, schema}, text] of given(question)) {
    if (listsIntegers(schema) && !sizesOf(text)) return {pointer: `/${name}`, detail: invalidShape(text)};
  }
  return null;
}

// ---- Shapes and assumptions

// The functions below read typed and pasted text in the same way as wire/shapes.py and messages/attribute_text.py.

const MAX_TEXT = 2000; // the maximum number of characters in a typed shape
const NAME = "[A-Za-z_][A-Za-z0-9_.]*";
const BRACKETS = new RegExp(`^(?:${NAME} ?[:=] ?)?(?:${NAME} ?)?(?:\\((.*)\\)|\\[(.*)\\])$`);
const TIMES = /(?<=[0-9]) ?x ?(?=-?[0-9])|([A-Za-z_][A-Za-z0-9_]*)/g; // an x between two sizes, or a whole name
const COMMA = / ?[,×] ?/, BY = / ?× ?| x | /;
const INTEGER = /^-?[0-9]{1,19}$/, SYMBOL = /^(\?|[A-Za-z_][A-Za-z0-9_]*|[0-9]+\.\.[0-9]*)$/;

/** Returns the sizes of a typed shape as strings, which are integers or symbols, or null if the text is not a shape. */
export function sizesOf(text) {
  if (text.length > MAX_TEXT) return null;
  let body = text.replace(/\s+/g, " ").trim();
  for (const _ of "()") { // two rounds, because a shape such as torch.Size([8, 1]) has two pairs of brackets
    const [, round, square] = BRACKETS.exec(body) ?? [];
    body = (round ?? square ?? body).trim();
  }
  if (!body) return [];
  body = body.replace(/ ?,$/, "").replace(TIMES, (_, name) => name ?? "×");
  const sizes = body.split(body.includes(",") ? COMMA : BY);
  if (!sizes.every((size) => INTEGER.test(size) || SYMBOL.test(size))) return null;
  return sizes.map((size) => (INTEGER.test(size) ? String(BigInt(size)) : ["None", "null"].includes(size) ? "?" : size));
}

const SIGN = "(?:[-+*/@|]|and|with)", BETWEEN = "[,×x:=\\s([]"; // what may stand between two shapes, or inside a shape
const SEPARATOR = new RegExp(`\\s*[\\n;]\\s*|(?<=[)\\]])[\\s,]*${SIGN}?\\s*(?=[\\w([?])|\\s+${SIGN}\\s+|(?<!${BETWEEN})\\s+(?!${BETWEEN})`);

/** Returns the texts of the shapes in lines, code or a list, such as "a (3, 4) + b (3,)" or "3,4 3". */
export const shapesIn = (text) => text.trim().split(SEPARATOR);

/** Returns whether a text is an error message, in which a line has three or more words and is not a shape. */
export const isProse = (text) => text.split("\n").some((line) => !sizesOf(line) && /\p{L}{3}.*\s\S+\s+\S/u.test(line));

/** Returns [name, size] for each assumption in a text such as "N=2.., M=3", or null if the text is invalid. */
function assumptionsIn(text) {
  if (text.length > MAX_TEXT) return null;
  const pairs = text.replace(/[\s,;]+/g, " ").trim().split(/ (?=[A-Za-z_])/).map((part) => {
    const [, name, size] = /^([A-Za-z_][A-Za-z0-9_]*) ?=(.*)$/.exec(part) ?? [];
    const sizes = name && sizesOf(size);
    return sizes?.length === 1 ? [name, sizes[0]] : null;
  });
  return pairs.every(Boolean) ? pairs : null;
}

/** Returns assumptions in a link as typed text. The link may contain them as JSON: {"N":"2.."}. */
function assumeOf(text) {
  try {
    return Object.entries(JSON.parse(text)).map((pair) => pair.join("=")).join(", ");
  } catch { return text; }
}

// ---- Source code

// The functions below require a valid question, whose strings are only shapes, names and JSON.

/** Returns a size as JSON. This JSON is also valid Python. */
const sizeIn = (size) => (INTEGER.test(size) ? size : JSON.stringify(size));
const listOf = (text) => `[${sizesOf(text).map(sizeIn).join(", ")}]`;
const mapOf = (text) => object(assumptionsIn(text).map(([name, size]) => [name, sizeIn(size)]));

/** Returns [name, JSON] for each attribute of the op, then for each field that is not an attribute. */
function literals(question) {
  const literal = (schema, text) => {
    if (listsIntegers(schema)) return listOf(text);
    if (schema === ASSUME.schema) return mapOf(text);
    const isText = schema.type === "string" || (schema.type === "array" && !text.startsWith("[")); // a string instead of a list
    return isText ? JSON.stringify(text) : text; // integers and JSON are not changed
  };
  return given(question).map(([{name, schema}, text]) => [name, literal(schema, text)]);
}

/** Returns the body of a POST request for a comparison. */
export function comparisonBodyOf(question) {
  const fields = [...literals(question), ...warnOf(question)];
  return object([["inputs", `[${question.inputs.map(listOf).join(", ")}]`], ...fields]);
}

/** Returns a list with the field for the requested warnings as [name, JSON], or an empty list if none are requested. */
const warnOf = ({warn}) => (warn.length ? [["warn", `[${warn.map((word) => JSON.stringify(word)).join(", ")}]`]] : []);

const object = (members) => `{${members.map(([name, json]) => `${JSON.stringify(name)}: ${json}`).join(", ")}}`;

export function curl(question) {
  const url = (path) => new URL(path, location.href).href;
  if (question.op !== COMPARE.name) return `curl '${url(`v1/check?${queryOf(question)}&format=text`)}'`;
  return `curl ${url("v1/compare")} -H 'Content-Type: application/json' -d '${comparisonBodyOf(question)}'`;
}

export function python(question) {
  const inPython = (json) => ({true: "True", false: "False"})[json] ?? json;
  const url = JSON.stringify(new URL(".", location.href).href.replace(/\/$/, ""));
  const fields = [...literals(question), ...warnOf(question)].map(([name, json]) => `${name}=${inPython(json)}`);
  const shapes = question.inputs.map((text) => tuple(sizesOf(text).map(sizeIn)));
  const [call, op] = question.op === COMPARE.name ? ["compare", []] : ["check", [JSON.stringify(question.op)]];
  return `from axiscast import Client

with Client(${url}) as client:
    print(client.${call}(${[...op, ...shapes, ...fields].join(", ")}))`;
}
