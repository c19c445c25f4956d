// A function that returns what is wrong with the layout of a page, as a list of sentences. Tests expect an empty list.
() => {
  const faults = [], width = document.documentElement.clientWidth;
  const isShown = (node) => node.checkVisibility({visibilityProperty: true, contentVisibilityAuto: true});
  const named = (node) => `${node.localName}${node.id ? `#${node.id}` : ""} '${(node.value ?? node.textContent).trim().slice(0, 30)}'`;
  const isClipped = (node) => getComputedStyle(node).clipPath !== "none"; // read aloud, but not shown
  const ancestors = (node) => node ? [node, ...ancestors(node.parentElement)] : [];
  const scrolls = (node) => ["auto", "scroll"].includes(getComputedStyle(node).overflowX);
  const floats = (node) => ["sticky", "fixed"].includes(getComputedStyle(node).position) || node.role === "listbox";

  // Text and controls: [node, rect]
  const texts = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const {parentElement: node, data} = walker.currentNode;
    if (!data.trim() || !isShown(node) || ancestors(node).some(isClipped) || node.closest("option, script")) continue;
    const range = document.createRange();
    range.selectNodeContents(walker.currentNode);
    const line = node.closest(".line")?.getBoundingClientRect(); // a text in one line, which ends with an ellipsis
    for (const {left, right, top, bottom, width} of range.getClientRects()) {
      if (width > 1 && left < (line?.right ?? Infinity)) texts.push([node, {left, right: Math.min(right, line?.right ?? right), top, bottom}]);
    }
  }
  const controls = [...document.querySelectorAll("button, input, textarea, select, summary, nav a, .links a, .others a, .comparison a, .reference a, .apply")]
    .filter((node) => isShown(node) && !ancestors(node).some(isClipped)).map((node) => [node, node.getBoundingClientRect()]);

  if (document.documentElement.scrollWidth > width) faults.push(`the page is ${document.documentElement.scrollWidth} px wide`);
  for (const [node, {left, right}] of [...texts, ...controls]) {
    if ((left < -1 || right > width + 1) && !ancestors(node).some(scrolls)) faults.push(`${named(node)} is outside of the window`);
  }
  for (const [node] of controls) {
    const {scrollWidth, clientWidth, scrollHeight, clientHeight} = node;
    if (node.localName === "textarea") continue; // it scrolls
    if (scrollWidth > clientWidth + 1 || scrollHeight > clientHeight + 1) faults.push(`${named(node)} is cut`);
  }
  for (const [node, {left, right, top, bottom}] of texts) {
    const cell = node.closest("button, .apply")?.getBoundingClientRect();
    if (cell && (left < cell.left || right > cell.right || top < cell.top - 2 || bottom > cell.bottom + 2)) {
      faults.push(`${named(node)} is larger than its cell`);
    }
  }

  const overlap = (one, other) => Math.min(one.right, other.right) - Math.max(one.left, other.left) > 2
    && Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top) > 4;
  const still = ([node]) => !ancestors(node).some(floats);
  for (const boxes of [texts.filter(still), controls.filter(still)]) {
    boxes.sort(([, one], [, other]) => one.top - other.top);
    boxes.forEach(([node, rect], place) => {
      for (const [other, below] of boxes.slice(place + 1)) {
        if (below.top > rect.bottom) break;
        const line = node.closest(".line");
        if (line && line === other.closest(".line")) continue; // the hidden end of a line has a rectangle too
        if (overlap(rect, below)) faults.push(`${named(node)} overlaps ${named(other)}`);
      }
    });
  }

  for (const [node, rect] of controls) {
    if (Math.min(rect.width, rect.height) < 24) faults.push(`${named(node)} is ${rect.width} x ${rect.height} px`);
  }
  const apply = document.querySelector(".apply")?.getBoundingClientRect();
  if (apply && document.elementFromPoint(apply.left + 5, apply.bottom - 5) !== document.querySelector(".apply")) {
    faults.push("the first fix is not in the first viewport");
  }
  const verdict = document.getElementById("verdict")?.getBoundingClientRect();
  if (verdict && (verdict.top < 0 || verdict.bottom > innerHeight)) faults.push("the verdict is not in the first viewport");
  return [...new Set(faults)];
}
