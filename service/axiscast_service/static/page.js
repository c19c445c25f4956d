/* The web page: its form, its requests to the service, and the results. */

import {comparedOf, comparisonList, detailsOf, fixesOf, letterOf} from "./answer.js";
import {drawingOf} from "./drawing.js";
import {el, tuple, words} from "./elements.js";
import {opPicker} from "./op_picker.js";
import {
  COMPARE, WARNINGS, questionWithOp, comparisonBodyOf, curl, exampleOf, fieldsOf, fromLink, isProse,
  misreading, ops, python, queryOf, questionOf, shapesIn, sizesOf, titleOf, typed, valueIn,
} from "./question.js";

let question; // the current question (op, inputs and attributes), with all values as typed text
let listed = [COMPARE]; // the entries of the op picker
let timer;
let request = new AbortController();

const $ = (id) => document.getElementById(id);

// ---- The form

function showForm() {
  const op = ops.get(question.op);
  $("op").value = question.op;
  const source = op?.reference ? `As in ${op.reference.package} ${op.reference.version}` : "";
  const linked = /^https?:/.test(op?.link) ? el("a", {href: op.link, rel: "noreferrer"}, source) : source;
  const more = op?.link && $("docs") ? [" ", el("a", {href: `ops#${op.name}`}, "Rule and examples")] : [];
  const about = el("span", {className: "line", title: (op?.doc ?? "").replaceAll("`", "")}, ...words(op?.doc));
  $("doc").replaceChildren(about, " ", el("span", {className: "links"}, linked, ...more));
  $("warn").checked = question.warn.length > 0;
  $("inputs").value = question.inputs.map(shownShape).join(" ");
  showFields();
}

/** Returns a valid shape in the form that Python prints, and any other text as it is. */
const shownShape = (text) => { const sizes = text.trim() && sizesOf(text); return sizes ? tuple(sizes) : text; };

/** Reads the shapes in the text box. A product sign selects the matrix product of the framework. */
function readInputs() {
  const {value} = $("inputs"), product = `${question.op.split(".")[0]}.matmul`;
  const parts = shapesIn(value), areShapes = parts.every((part) => /[\d([?]/.test(part) && sizesOf(part));
  question.inputs = isProse(value) && !areShapes ? [value] : parts;
  if (/[\])]\s*@/.test(value) && ops.has(product)) { question.op = product; $("op").value = product; }
  askSoon();
}

const errorSlot = (id) => el("p", {className: "error", id, "aria-live": "polite"});

const OPTIONS = ["assume", "dtype"]; // the fields that every op has, which are optional

function showFields() {
  const isHidden = ({name}) => OPTIONS.includes(name) && !(name === "assume" && question.values.assume);
  const fields = fieldsOf(question);
  $("fields").replaceChildren(...fields.filter((field) => !isHidden(field)).map(fieldRow));
  $("fields-more").replaceChildren(...fields.filter(isHidden).map(fieldRow));
  if (question.warn.length || question.values.dtype) $("options").open = true;
}

function fieldRow(field) {
  const {name, schema, required} = field, id = `field-${name}`, error = `error-${id}`, help = `help-${id}`;
  const choices = schema.enum ?? (schema.type === "boolean" ? [true, false] : null);
  const control = choices ? el("select", {}) : el("input", {spellcheck: false, autocapitalize: "off", value: question.values[name] ?? ""});
  if (choices) {
    const value = valueIn(question, field), usual = typed(schema.default, schema);
    const options = [...new Set([usual, ...choices.map(String), value || usual])];
    control.append(...options.map((option) => new Option(option || "default", option === usual ? "" : option)));
    control.value = value;
  } else if (schema.examples?.length) control.placeholder = `such as ${typed(schema.examples[0], schema)}`;
  control.id = id;
  control.setAttribute("aria-describedby", `${error} ${help}`);
  control.oninput = () => {
    question.values[name] = control.value;
    if (name === "mode") { showFields(); $(id).focus(); } // each mode of an op has different attributes
    askSoon();
  };
  return el("div", {className: "field"},
    el("div", {className: "about"}, el("label", {htmlFor: id}, name), el("span", {className: "help"}, required ? "" : "optional"),
       el("span", {className: "help line", id: help, title: (schema.description ?? "").replaceAll("`", "")}, ...words(schema.description))),
    control, errorSlot(error));
}

// ---- Requests

class Problem extends Error {
  constructor(details) { super(details.detail); this.details = details; }
}

function askSoon(wait = 200) {
  $("why").textContent = "";
  request.abort(); // the result of the previous request would be outdated
  $("answer").setAttribute("aria-busy", "true");
  clearTimeout(timer);
  timer = setTimeout(ask, wait);
}

/** Shows the request in the address bar. Typing adds no steps to the history. */
function showLink() {
  const as = $("as").value === "curl" ? "" : `&as=${encodeURIComponent($("as").value)}`;
  history.replaceState(null, "", `?${queryOf(question)}${as}`);
}

async function ask() {
  showLink();
  document.title = titleOf(question);
  const misread = misreading(question);
  const pasted = misread && question.inputs.find(isProse);
  if (pasted) return explain(pasted);
  return settled(async () => {
    if (misread) showProblem(misread);
    else if (question.op === COMPARE.name) showComparison(await post("v1/compare", comparisonBodyOf(question)));
    else showAnswer(await send(`v1/check?${queryOf(question)}&format=drawing`));
  });
}

/** Runs the work for a new request, which a later request aborts, and shows a problem. `placed` replaces fields of the problem. */
async function settled(work, placed = {}) {
  const {signal} = request = new AbortController();
  $("answer").setAttribute("aria-busy", "true");
  try {
    await work();
  } catch (error) {
    if (error instanceof Problem) {
      showProblem({...error.details, ...placed});
      if (error.details.after) timer = setTimeout(ask, error.details.after * 1000);
    } else if (!signal.aborted) throw error;
  } finally {
    if (!signal.aborted) $("answer").setAttribute("aria-busy", "false");
  }
}

const post = (path, body) => send(path, {method: "POST", body, headers: {"Content-Type": "application/json"}});

/** Returns the server's response. Throws a Problem, or an AbortError if the question has changed in the meantime. */
async function send(path, {headers, ...options} = {}) {
  const {signal} = request;
  let response, text;
  try {
    response = await fetch(path, {...options, headers: {...headers, Accept: "application/json"}, signal});
    text = await response.text();
  } catch (error) {
    throw signal.aborted ? error : new Problem({detail: "The server can't be reached. Change the request to try again."});
  }
  const answer = read(text);
  if (response.ok && answer) return answer;
  const after = Number(response.headers.get("Retry-After")) || 0; // seconds
  throw new Problem({...(answer ?? {detail: `The server returned status ${response.status} ${response.statusText}.`}), after});
}

/** Returns the parsed JSON, or null if the JSON is invalid. Large integers become strings, so that they stay exact. */
function read(text) {
  const exact = (token) => (token[0] === '"' ? token : `"${token}"`);
  try { return JSON.parse(text.replace(/"(?:\\.|[^"\\])*"|-?\d{16,}/g, exact)); } catch { return null; }
}

const MAX_CHARACTERS = 65536;

/** Loads the op and the inputs from an error message, or shows an explanation of the error. */
async function explain(text) {
  clearTimeout(timer);
  request.abort();
  return settled(async () => {
    const {op, inputs, message} = await post("v1/why", JSON.stringify({text: text.slice(-MAX_CHARACTERS)}));
    if (!op || !inputs) {
      showVerdict("", "An error message", ...words(message));
      for (const id of RESULT) $(id).hidden = true;
      return;
    }
    start({...questionOf({op, inputs}), warn: question.warn});
    $("why").textContent = `Read from the error: ${op.name} of ${inputs.map(tuple).join(" and ")}`;
  }, {pointer: "/inputs"});
}

// ---- The result

const RESULT = ["fixes", "copying", "picture", "result"]; // the elements below the verdict

function showVerdict(kind, verdict, ...message) {
  for (const slot of document.querySelectorAll(".error")) slot.textContent = "";
  for (const control of document.querySelectorAll("[aria-invalid]")) control.removeAttribute("aria-invalid");
  $("verdict").className = kind;
  $("verdict").replaceChildren(...words(verdict));
  $("message").replaceChildren(...message);
  for (const id of RESULT) $(id).inert = !["yes", "maybe", "no"].includes(kind); // the old result stays visible, but faded, until the next result
}

/** Shows a problem's message beside the field that its pointer or parameter names. Otherwise, shows it as the result. */
function showProblem({title, detail = title ?? "", pointer, parameter = ""}) {
  const location = pointer?.slice(1) ?? parameter, [place, ...path] = location.split("/");
  const ids = [...path.map((part) => `field-${part}`), `field-${place}`, place];
  const id = ids.find((one) => $(one) && $(`error-${one}`));
  if (!id) return showVerdict("", "No result", detail);
  const axis = place === "inputs" && path.length > 1 ? `Axis ${path[1]} ` : "";
  const message = axis + (detail.startsWith(`${location}: `) ? detail.slice(location.length + 2) : detail);
  const label = place === "inputs" ? `shape${path.length ? ` ${letterOf(Number(path[0]))}` : "s"}` : place;
  if ($(id).value.trim()) showVerdict("error", `✗ Invalid ${label}`, "Correct the marked field.");
  else showVerdict("", `Fill in ${label}`);
  $(`error-${id}`).textContent = message.replace(/^[a-z](?=[a-z]* )/, (letter) => letter.toUpperCase());
  $(id).setAttribute("aria-invalid", "true");
}

function showAnswer(answer) {
  const {drawing} = answer;
  showVerdict(drawing.kind, drawing.verdict, ...words(drawing.message));
  showResult(fixesOf(answer, question), drawingOf(drawing), detailsOf(answer, question));
}

function showComparison(answer) {
  showVerdict(...comparedOf(answer));
  showResult([], "", [comparisonList(answer, question)]);
}

function showResult(fixes, drawing, details) {
  for (const id of RESULT) $(id).hidden = false;
  $("fixes").replaceChildren(...fixes);
  $("picture").replaceChildren(drawing);
  $("details").replaceChildren(...details);
  showCode();
}

// ---- The request as code

function showCode() {
  $("code").textContent = ($("as").value === "curl" ? curl : python)(question);
}

async function copy() {
  const {textContent: code} = $("code");
  getSelection().selectAllChildren($("code")); // the clipboard requires https, and without it the user can copy the selection
  const copied = await navigator.clipboard?.writeText(code).then(() => true, () => false);
  $("copy").textContent = copied ? "Copied" : "Selected: press Ctrl+C";
  setTimeout(() => { $("copy").textContent = "Copy"; }, 2000);
}

// ---- The start

$("form").onsubmit = (event) => event.preventDefault();
$("inputs").oninput = readInputs;
$("warn").onchange = ({target: {checked}}) => { question.warn = checked ? WARNINGS : []; askSoon(0); };
opPicker({input: $("op"), list: $("ops"), status: $("found")}, {
  ops: () => listed,
  current: () => question.op,
  choose(op) { // a step of the history, and the new op's example replaces an unchanged example, but not typed text
    history.pushState(null, "", location.href);
    const untouched = queryOf(question) === queryOf(exampleHere(question.op));
    start(untouched ? exampleHere(op) : questionWithOp(op, question));
  },
});
$("as").onchange = () => { showLink(); showCode(); };
$("copy").onclick = copy;

onpopstate = () => start(fromLink(location.search));
document.onclick = (event) => { // a link to another question does not reload the page
  const link = event.target.closest('a[href^="?"]');
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  history.pushState(null, "", link.href);
  start(fromLink(location.search));
  $("verdict").focus();
  scrollTo(0, 0); // on a phone, the verdict is always visible, but the drawing may not be
};

/** Returns the example of an op, with the currently enabled warnings. */
const exampleHere = (op) => ({...exampleOf(op), warn: question.warn});

function start(next) {
  question = next;
  showForm();
  askSoon(0);
}

/** Loads the list of ops for the form. If the service is busy, the page shows its first answer, and loads the list later. */
async function loadOps() {
  try {
    listed = [COMPARE, ...(await send("v1/ops")).ops];
  } catch (error) {
    if (error instanceof Problem && !error.details.after) throw error;
    setTimeout(() => loadOps().then(showForm), (error.details?.after ?? 1) * 1000);
    return;
  }
  for (const op of listed) for (const name of [...op.aliases ?? [], op.name]) ops.set(name, op);
}

try {
  await loadOps();
  $("as").value = new URLSearchParams(location.search).get("as") ?? "curl";
  $("as").selectedIndex = Math.max(0, $("as").selectedIndex); // 0 if the link names an unknown form
  start(fromLink(location.search));
} catch (error) {
  if (!(error instanceof Problem)) throw error;
  const unread = {detail: "The server's list of ops can't be read. Reload the page to try again."};
  showProblem(error.details.code === "unauthenticated" ? error.details : unread);
}
