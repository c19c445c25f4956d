/* Functions that show responses of the service as HTML elements: the verdict, lists and tables. */

import {el, tuple, words} from "./elements.js";
import {comparisonOf, hinted, ops, queryOf, questionOf, questionWithOp, sizesOf} from "./question.js";

/** Returns the name of an input in sentences and pictures. */
export const letterOf = (input) => (input < 26 ? String.fromCharCode(97 + input) : `input ${input}`);

const help = (tag, ...content) => el(tag, {className: "help"}, ...content);
const linkTo = (question, ...content) => el("a", {href: `?${queryOf(question)}`}, ...content);
const reachedBy = ({shape, outputs = shape ? [{shape}] : []}) => [...new Set(outputs.map(({shape}) => tuple(shape)))].join(" and ");

/** Returns a list of the suggested fixes. If a fix contains a request, the fix has a link that loads the request. */
export function fixesOf(answer, question) {
  const {conflict, hints: matching = [], warnings = [], drawing: {fixes}} = answer;
  const hints = conflict?.hints ?? [...matching, ...warnings.map(({hint}) => hint).filter(Boolean)];
  return list("hint", hints.length > 1 ? "Suggested fixes" : "Suggested fix", hints.map((hint, place) => {
    const next = hinted(hint, question), said = fixes[place], text = el("span", {}, ...words(said));
    const apply = next && el("a", {href: `?${queryOf(next)}`, className: "apply", "aria-label": `Apply: ${said.replaceAll("`", "")}`}, "Apply");
    return apply ? [text, apply] : [text];
  }));
}

/** Returns the elements below the drawing: symbolic sizes, warnings, names and bytes of the outputs, and a link. */
export function detailsOf({outputs = [], axis_sizes: sizes = [], warnings = []}, question) {
  const messages = warnings.filter(({code}) => code !== "square").map(({message}) => words(message));
  const facts = outputs.filter(({dims, nbytes}) => dims || nbytes !== undefined).map(({shape, dims, elements, nbytes}) =>
    [`${tuple(shape)}: ${[dims?.join(", "), nbytes !== undefined && `${elements} elements, ${nbytes} bytes`].filter(Boolean).join("; ")}`]);
  return [
    ...list("condition", "Symbolic sizes", sizes.map(({axis, message}) => [`output axis ${axis} has size ${message}`])),
    ...list("warning", "Warnings", messages),
    ...list("output", outputs.length > 1 ? "Outputs" : "Output", facts),
    el("p", {className: "others"}, linkTo(comparisonOf(question, outputs), "Compare all frameworks"), " ",
       el("a", {href: `v1/check?${queryOf(question)}&format=svg`}, "Open the picture")),
  ];
}

const list = (kind, title, items) =>
  items.length ? [el("h2", {}, title), el("ul", {className: kind}, ...items.map((item) => el("li", {}, ...item)))] : [];

// ---- The comparison

/** Returns [kind, headline] for the response to a comparison. */
export function comparedOf({results, left_out: absent = []}) {
  const verdicts = results.flatMap(({compatible, also = []}) => Array(1 + also.length).fill(compatible));
  const count = verdicts.filter(Boolean).length, some = verdicts.filter((verdict) => verdict === null).length;
  const kind = count === verdicts.length ? "yes" : count || some ? "maybe" : "no";
  const more = [some && `${some} for some sizes`, absent.length && `${absent.length} skipped`].filter(Boolean);
  return [kind, [`${count} of ${verdicts.length} ops broadcast`, ...more].join(", ")];
}

/** Returns a folded item for each verdict of a comparison: its frameworks and, inside, each reason with its ops as links. */
export function comparisonList({results, left_out: absent = []}, question) {
  const kept = sizesOf(question.values.shape ?? "")?.includes("-1") ? " (-1 keeps the input's size)" : "";
  const verdicts = new Map(KINDS.map((kind) => [kind, new Map()]));
  for (const {also = [], ...answer} of results) {
    const [kind, verdict, reason] = outcomeOf(answer, kept);
    const reasons = verdicts.get(kind).get(verdict) ?? new Map();
    verdicts.get(kind).set(verdict, reasons.set(reason, [...reasons.get(reason) ?? [], answer.op, ...also]));
  }
  if (absent.length) verdicts.get("soft").set("Skipped", new Map([["It takes only known sizes", absent.map((name) => ({name}))]]));
  const items = [...verdicts].flatMap(([kind, found]) => [...found].map(([verdict, reasons]) => itemOf(kind, verdict, reasons, question)));
  return el("ul", {className: "comparison"}, ...items);
}

const KINDS = ["yes", "maybe", "no", "soft"]; // in the order in which the verdicts are listed

/** Returns [kind, verdict, reason] for a result of a comparison. `kept` explains -1 in the target. */
function outcomeOf(answer, kept) {
  const {compatible, conditions = [], conflict, warnings = []} = answer, label = isProduct(answer) ? "Matrix product " : "";
  if (conflict) return ["no", "✗ Does not broadcast", conflict.message];
  const reasons = [copiesOf(answer) + kept, ...conditions.map(({message}) => `if ${message}`), ...warnings.map(({code}) => code)];
  const shapes = reachedBy(answer) || "True";
  return [compatible ? "yes" : "maybe", compatible ? `✓ ${label}${shapes}` : `${label}${shapes} for some sizes`, reasons.filter(Boolean).join(", ")];
}

function itemOf(kind, verdict, reasons, question) {
  const linked = (op) => linkTo(questionWithOp(op.name, {...question, values: questionOf({op, inputs: []}).values}), written(op));
  const frameworks = [...new Set([...reasons.values()].flat().map(({name}) => name.split(".")[0]))];
  const title = el("summary", {}, el("b", {className: kind}, verdict), " ", help("span", frameworks.join(", ")));
  const parts = [...reasons].map(([reason, ops]) =>
    el("p", {}, ...words(reason.replace(/\.$/, "")), reason ? ": " : "", ...ops.map(linked).flatMap((link, place) => (place ? [", ", link] : [link]))));
  return el("li", {}, el("details", {}, title, ...parts));
}

const written = ({name, mode}) => (mode ? `${name} ${mode}` : name);

/** Returns whether an op computes an output with other axes than the broadcast inputs, as a matrix product does. */
const isProduct = ({op, shape, broadcast_inputs: inputs = []}) =>
  shape && ops.get(op?.name)?.outputs === "1" && inputs.some((input) => tuple(input.shape) !== tuple(shape));

/** Returns the axes along which a single input is copied, because different rules may copy along different axes. */
function copiesOf({broadcast_inputs: inputs = []}) {
  const axes = inputs.length === 1 ? inputs[0].broadcast_axes : [];
  return axes.length ? `copied along ${axes.length > 1 ? "axes" : "axis"} ${axes.join(", ")}` : "";
}
