/* The op picker: a combobox whose list shows the ops and their aliases. */

import {el} from "./elements.js";
import {IMPORT_NAMES, fullName} from "./question.js";

const SHOWN_ALIASES = 3; // the number of aliases beside the name of an op
const functionOf = (name) => name.slice(name.indexOf(".") + 1);

/** Returns {name, help} for the ops and aliases whose names contain all words of the text, best matches first. If the text
 * is empty, the options are all ops, without their aliases. */
export function optionsFor(ops, text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean).map(fullName), options = [];
  for (const {name, aliases = [], doc} of ops) {
    const more = aliases.length - SHOWN_ALIASES, some = aliases.slice(0, SHOWN_ALIASES).map(functionOf).join(", ");
    const help = aliases.length ? `and ${some}${more > 0 ? `, ${more} more` : ""}` : name.includes(".") ? "" : doc;
    options.push({name, help}, ...(words.length ? aliases.map((alias) => ({name: alias, help: `like ${name}`})) : []));
  }
  const ranked = options.map((option) => [rankOf(option.name.toLowerCase(), words), option]).filter(([rank]) => rank !== null);
  return ranked.sort(([one], [other]) => one - other).map(([, option]) => option);
}

/** Returns how well a name matches the words, or null if a word is missing. Lower ranks are better. */
function rankOf(name, words) {
  const isIn = (word) => name.includes(word) || (word in IMPORT_NAMES && name.startsWith(IMPORT_NAMES[word]));
  if (!words.every(isIn)) return null;
  const last = words.at(-1) ?? "";
  const ranks = [!last || name === last, name.endsWith(`.${last}`), name.startsWith(last) || name.includes(`.${last}`), true];
  return ranks.indexOf(true);
}

/** Turns the elements into a combobox. `ops()` returns the ops, `current()` the name of the current op, and `choose(name)`
 * selects an op. */
export function opPicker({input, list, status}, {ops, current, choose}) {
  let active = null; // the option that Enter selects
  const isOpen = () => !list.hidden;
  const options = () => [...list.querySelectorAll("[role=option]")];

  const activate = (option) => {
    active?.setAttribute("aria-selected", "false");
    active = option ?? null;
    input.removeAttribute("aria-activedescendant");
    if (!active) return;
    active.setAttribute("aria-selected", "true");
    input.setAttribute("aria-activedescendant", active.id);
    active.scrollIntoView({block: "nearest"});
  };

  const open = (text) => {
    const found = optionsFor(ops(), text).map(optionElement);
    list.replaceChildren(...found);
    if (!found.length) list.append(el("p", {className: "help"}, "No op has this name."));
    list.hidden = false;
    input.ariaExpanded = "true";
    status.textContent = found.length ? `${found.length} ops` : "No op has this name.";
    activate(text ? found[0] : found.find(({dataset}) => dataset.name === current()));
  };

  const close = () => {
    list.hidden = true;
    input.ariaExpanded = "false";
    status.textContent = "";
    activate(null);
  };

  const accept = (name) => {
    close();
    input.value = name || current();
    if (input.value !== current()) choose(input.value);
  };

  const move = (step) => {
    if (!isOpen()) return open("");
    const all = options(), place = all.indexOf(active);
    activate(all[place < 0 && step < 0 ? all.length - 1 : (place + step + all.length) % all.length]);
  };

  input.onclick = () => { if (!isOpen()) open(""); };
  input.onfocus = () => input.select();
  input.oninput = () => open(input.value.trim());
  input.onblur = () => accept(options().find(({dataset}) => dataset.name === input.value.trim())?.dataset.name);
  input.onkeydown = (event) => {
    const {key, isComposing} = event, step = {ArrowDown: 1, ArrowUp: -1}[key];
    if (isComposing) return;
    if (step) move(step);
    else if (key === "Enter") accept(active?.dataset.name ?? input.value.trim());
    else if (key === "Escape" && isOpen()) { close(); input.value = current(); } else return;
    event.preventDefault();
  };
  list.onmousedown = (event) => event.preventDefault(); // the input keeps the focus, so that a click on the scroll bar does not close the list
  list.onclick = ({target}) => {
    const option = target.closest("[role=option]");
    if (option) accept(option.dataset.name);
  };
}

function optionElement({name, help}, place) {
  const option = el("div", {role: "option", id: `ops-${place}`, "aria-selected": "false", "data-name": name}, name);
  if (help) option.append(" ", el("span", {className: "help"}, help));
  return option;
}
