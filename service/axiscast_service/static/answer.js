/* Functions that show responses of the service as HTML elements: the verdict, lists and tables. */

import {el, tuple, words} from "./elements.js";
import {isProduct, letterOf} from "./picture.js";
import {questionWithOp, comparisonOf, hinted, queryOf, questionOf, sizesOf} from "./question.js";

const help = (tag, ...content) => el(tag, {className: "help"}, ...content);
const linkTo = (question, ...content) => el("a", {href: `?${queryOf(question)}`}, ...content);
const reachedBy = ({shape, outputs = shape ? [{shape}] : []}) => [...new Set(outputs.map(({shape}) => tuple(shape)))].join(" and ");

const MOST_CONDITION = 48; // the maximum number of characters of a condition in the headline
const outerProductIn = ({warnings = []}) => warnings.find(({code}) => code === "square");

/** Returns the text of a hint. If the hint changes the shape of one input, the text is the code, its shape and the output. */
function textOf({input, suffix, shape, output, message}) {
  return suffix ? `\`${letterOf(input)}${suffix}\` has shape ${tuple(shape)}: the output is ${tuple(output)}` : message;
}

/** Returns the text of a conflict. If two or more inputs conflict on an output axis, the text states their sizes. */
function conflictText({axis, inputs = [], sizes = [], message}) {
  if (axis === undefined || inputs.length < 2) return message;
  const sides = inputs.map((input, side) => `${input === null ? "the target" : letterOf(input)} has size ${sizes[side]}`);
  return `On output axis ${axis}, ${sides.slice(0, -1).join(", ")} but ${sides.at(-1)}.`;
}

/** Returns the assumed sizes as comparisons: `N=2..` as `N >= 2`, and `N=2..8` as `2 <= N <= 8`. */
const bounds = (assume) => assume.replace(/(\w+)=(\d*)\.\.(\d*)/g, (_, name, least, most) =>
  (most ? `${least && `${least} <= `}${name} <= ${most}` : `${name} >= ${least || 0}`));

/** Returns [kind, headline, ...message] for the response to a check. The headline warns of an accidental outer product. */
export function verdictOf(answer, {values: {assume}}) {
  const {compatible, conditions = [], conflict, warnings} = answer;
  const shapes = reachedBy(answer), reached = shapes && ` to ${shapes}`, square = outerProductIn({warnings});
  if (compatible === false) return ["no", "✗ Does not broadcast", ...words(conflictText(conflict))];
  if (square) return ["maybe", `⚠ Broadcasts${reached}: probably not what you want`, ...words(square.message)];
  const only = `only if ${conditions.map(({message}) => message).join(", and ")}`, given = assume ? words(`Assumed: \`${bounds(assume)}\``) : [];
  if (compatible === null && only.length > MOST_CONDITION) return ["maybe", `Broadcasts${reached} for some sizes`, `O${only.slice(1)}. `, ...given];
  if (compatible === null) return ["maybe", `Broadcasts${reached} ${only}`, ...given];
  return ["yes", isProduct(answer) ? `✓ Fits: the result is ${shapes}` : `✓ Broadcasts${reached}`];
}

/** Returns a list of the suggested fixes. If a fix contains a request, the fix has a link that loads the request. */
export function fixesOf(answer, question) {
  const {conflict, hints: matching = [], warnings = []} = answer;
  const hints = conflict?.hints ?? [...matching, ...warnings.map(({hint}) => hint).filter(Boolean)];
  return list("hint", hints.length > 1 ? "Suggested fixes" : "Suggested fix", hints.map((hint) => {
    const next = hinted(hint, question), said = textOf(hint), text = el("span", {}, ...words(said));
    const apply = next && el("a", {href: `?${queryOf(next)}`, className: "apply", "aria-label": `Apply: ${said.replaceAll("`", "")}`}, "Apply");
    return apply ? [text, apply] : [text];
  }));
}

/** Returns the elements below the drawing: symbolic sizes, warnings, outputs, broadcast inputs and a link to the comparison. */
export function detailsOf({outputs = [], broadcast_inputs: inputs = [], axis_sizes: sizes = [], warnings = []}, question) {
  const others = linkTo(comparisonOf(question, outputs), "Compare all frameworks");
  const messages = warnings.filter(({code}) => code !== "square").map(({message}) => words(message));
  return [
    ...list("condition", "Symbolic sizes", sizes.map(({axis, message}) => [`output axis ${axis} has size ${message}`])),
    ...list("warning", "Warnings", messages),
    ...tableOf(outputs.length > 1 ? "Outputs" : "Output", outputs.filter(isListed), [
      ["output", (_, number) => (outputs.length > 1 ? number : "")],
      ["shape", ({shape}) => tuple(shape)], ["dims", ({dims}) => dims?.join(", ")],
      ["elements", ({elements}) => elements], ["bytes", ({nbytes}) => nbytes],
    ]),
    ...tableOf("Broadcast inputs", inputs, [
      ["input", ({input}) => letterOf(input)], ["shape", ({shape}) => tuple(shape)],
      ["factors", ({factors}) => factors && tuple(factors)],
      ["broadcast axes", ({broadcast_axes: axes}) => axes.join(", ") || "none"],
      ["for some sizes", ({maybe_broadcast_axes: axes}) => axes?.join(", ")],
    ]),
    el("p", {className: "others"}, others),
  ];
}

/** Returns whether an output has more to say than the table of axes: other shapes beside it, names or bytes. */
const isListed = ({shape, dims, nbytes}, _, outputs) => dims || nbytes !== undefined || outputs.some((other) => `${other.shape}` !== `${shape}`);

const list = (kind, title, items) =>
  items.length ? [el("h2", {}, title), el("ul", {className: kind}, ...items.map((item) => el("li", {}, ...item)))] : [];

/** Returns a heading and a table with a row for each item. A column is [name, cell], where cell(item, number) is a value. */
function tableOf(title, items, columns) {
  const filled = columns.map(([name, cell]) => [name, items.map((item, number) => String(cell(item, number) ?? ""))])
    .filter(([, cells]) => cells.some(Boolean)); // empty columns are omitted
  const head = filled.map(([name]) => el("th", {scope: "col"}, name));
  const rows = items.map((_, number) => el("tr", {}, ...filled.map(([, cells]) => el("td", {}, cells[number]))));
  const wide = {className: "wide", tabIndex: 0, role: "region", "aria-label": title}; // on a phone, the user can scroll the table
  return rows.length ? [el("h2", {}, title), el("div", wide, el("table", {}, el("tr", {}, ...head), ...rows))] : [];
}

// ---- The comparison

/** Returns [kind, headline] for the response to a comparison. */
export function comparedOf({results, left_out: absent = []}) {
  const verdicts = results.flatMap(({compatible, also = []}) => Array(1 + also.length).fill(compatible));
  const count = verdicts.filter(Boolean).length, some = verdicts.filter((verdict) => verdict === null).length;
  const kind = count === verdicts.length ? "yes" : count || some ? "maybe" : "no";
  const more = [some && `${some} for some sizes`, absent.length && `${absent.length} skipped`].filter(Boolean);
  return [kind, [`${count} of ${verdicts.length} ops broadcast`, ...more].join(", ")];
}

const LEFT_OUT = "skipped: it takes only known sizes";

/** Returns groups [text, answer, ops] of ops with the same output or conflict. Groups that broadcast come first. */
function groupsOf(results) {
  const groups = new Map(), order = [true, null, false];
  const rank = (answer) => (isProduct(answer) ? order.length : 0) + order.indexOf(answer.compatible); // matrix products are last
  for (const {also = [], ...answer} of results) {
    const {op, compatible, conditions = [], conflict} = answer, reached = reachedBy(answer);
    const shown = [isProduct(answer) && "matrix product:", reached].filter(Boolean).join(" ");
    const text = conflict ? `no   ${conflict.message}` : compatible ? `yes  ${shown || "True"}`
      : ["if ", conditions.map(({message}) => message).join(", and "), shown].filter(Boolean).join("  ");
    const codes = answer.warnings?.map(({code}) => code), key = [text, copiesOf(answer), codes].join();
    const group = groups.get(key) ?? [text, answer, []];
    groups.set(key, group);
    group[2].push(op, ...also);
  }
  return [...groups.values()].sort(([, one], [, other]) => rank(one) - rank(other));
}

const written = ({name, mode}) => mode ? `${name} ${mode}` : name;

/** Returns a comparison as plain text, with two lines for each group of ops. */
export function comparisonText({results, left_out: absent = []}) {
  const lines = groupsOf(results).map(([text, , ops]) => `${text}\n     ${ops.map(written).join(", ")}`);
  if (absent.length) lines.push(`-    ${LEFT_OUT}\n     ${absent.join(", ")}`);
  return lines.join("\n");
}

/** Returns a table with a row for each group of ops that have the same output or conflict. Each op is a link. */
export function comparisonTable({results, left_out: absent = []}, question) {
  const linked = (op) => linkTo(questionWithOp(op.name, {...question, values: questionOf({op, inputs: []}).values}), written(op));
  const kept = sizesOf(question.values.shape ?? "")?.includes("-1") ? " (-1 keeps the input's size)" : "";
  const rows = groupsOf(results).map(([, answer, ops]) =>
    el("tr", {}, el("th", {scope: "row"}, ...verdictCell(answer, kept)), el("td", {}, ...listed(ops.map(linked)))));
  if (absent.length) rows.push(el("tr", {}, el("th", {scope: "row"}, help("span", LEFT_OUT)), el("td", {}, absent.join(", "))));
  const head = ["output or conflict", "ops"].map((name) => el("th", {scope: "col"}, name));
  return el("table", {className: "comparison"}, el("thead", {}, el("tr", {}, ...head)), el("tbody", {}, ...rows));
}

const listed = (links) => links.flatMap((link, index) => index ? [", ", link] : [link]);

/** Returns the content of a table cell that shows a result of a comparison. `kept` explains -1 in the target. */
function verdictCell(answer, kept) {
  const {compatible, conditions = [], conflict, warnings = []} = answer;
  const reached = reachedBy(answer), codes = warnings.map(({code}) => help("span", ` ${code}`));
  if (conflict) return [el("span", {className: "no"}, "✗ "), ...words(conflictText(conflict)), ...codes];
  const label = isProduct(answer) ? "matrix product " : "";
  if (compatible) return [el("span", {className: "yes"}, `✓ ${label}${reached || "True"}`), help("span", copiesOf(answer) + kept), ...codes];
  return [el("span", {className: "maybe"}, label + reached), ...conditions.map(({message}) => help("p", `if ${message}`)), ...codes];
}

/** Returns the axes along which a single input is copied, because different rules may copy along different axes. */
function copiesOf({broadcast_inputs: inputs = []}) {
  const axes = inputs.length === 1 ? inputs[0].broadcast_axes : [];
  return axes.length ? ` copied along ${axes.length > 1 ? "axes" : "axis"} ${axes.join(", ")}` : "";
}
