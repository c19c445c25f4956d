/* The drawing: the service's pictures of an answer, whose cells name the elements that they read. */

import {el} from "./elements.js";

const asIs = {createHTML: (svg) => svg}; // the service escapes all text in a picture
const policy = globalThis.trustedTypes?.createPolicy("drawing", asIs) ?? asIs;

function picture(svg) {
  const page = new DOMParser().parseFromString(policy.createHTML(svg), "image/svg+xml");
  return document.importNode(page.documentElement, true);
}

/** Returns the table and the pictures of an answer below a sentence. A cell under the pointer or the focus outlines the
 * cells that read the same elements. */
export function drawingOf({summary = "", rows = []} = {}) {
  const say = el("p", {className: "say"}, summary);
  const lines = rows.map((row) => el("div", {className: "pictures", tabIndex: 0, role: "group", ariaLabel: "Drawing"}, ...row.map(picture)));
  const node = el("div", {className: "drawing"}, say, ...lines);
  const cells = [...node.querySelectorAll("[data-reads]")];
  for (const cell of cells) {
    cell.setAttribute("role", "img");
    cell.setAttribute("aria-label", sentenceOf(cell));
  }
  const show = ({target}) => {
    const own = target.closest("[data-reads]"), reads = own ? readsOf(own) : [];
    const isLit = (cell) => cell === own || (isInput(cell, own) && readsOf(cell).some((one) => reads.includes(one)));
    for (const cell of cells) cell.classList.toggle("lit", own !== null && isLit(cell));
    say.textContent = own ? sentenceOf(own) : summary;
  };
  node.onpointerover = show;
  node.addEventListener("focusin", show);
  node.onpointerleave = () => show({target: node.contains(document.activeElement) ? document.activeElement : node});
  node.onkeydown = move;
  for (const svg of node.querySelectorAll("svg:has([data-reads])")) {
    svg.querySelector("[data-reads]").setAttribute("tabindex", 0);
    if (!matchMedia("(prefers-reduced-motion: reduce)").matches) spread(svg);
  }
  return node;
}

const readsOf = ({dataset: {reads}}) => reads.split(";");
const isInput = (cell, own) => !("output" in cell.dataset) || !("output" in own.dataset); // an output lights no other output

function sentenceOf(cell) {
  const reads = readsOf(cell), {output} = cell.dataset, others = reads.slice(0, -1).join(", ");
  return output === undefined ? reads[0] : `Output ${output} reads ${others && `${others} and `}${reads.at(-1)}.`;
}

/** Moves the focus to the next cell in the direction of an arrow key. */
function move(event) {
  const svg = event.target.closest("svg"), cells = [...svg?.querySelectorAll("[data-reads]") ?? []];
  const columns = cells.filter((cell) => placeOf(cell).y === placeOf(cells[0]).y).length;
  const step = {ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns}[event.key];
  const next = step && cells[cells.indexOf(event.target) + step];
  if (!next) return;
  event.preventDefault();
  event.target.setAttribute("tabindex", -1);
  next.setAttribute("tabindex", 0);
  next.focus();
}

function placeOf(cell) {
  const {x, y} = cell.querySelector("rect");
  return {x: x.baseVal.value, y: y.baseVal.value};
}

/** Moves each copy of an element from the place of the element to its own place. */
function spread(svg) {
  const sources = new Map();
  for (const cell of svg.querySelectorAll("[data-reads]:not([data-output])")) {
    const place = placeOf(cell), source = sources.get(cell.dataset.reads) ?? place;
    sources.set(cell.dataset.reads, source);
    const from = `translate(${source.x - place.x}px, ${source.y - place.y}px)`;
    if (source !== place) cell.animate([{transform: from}, {transform: "none"}], {duration: 500, easing: "ease-out"});
  }
}
