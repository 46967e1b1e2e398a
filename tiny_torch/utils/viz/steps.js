"use strict";
const STEPS = {{STEPS}};
const $ = (id) => document.getElementById(id);
let at = 0;

function element(name, text) {
  const made = document.createElement(name);
  made.textContent = text;
  return made;
}
function show() {
  const step = STEPS[at];
  $("at").textContent = `${at + 1} of ${STEPS.length}: ${step.title}`;
  $("values").replaceChildren(...step.cards.map(([heading, entries]) => {
    const card = document.createElement("div");
    card.append(element("h3", heading));
    for (const [title, value] of entries) card.append(element("p", title), element("pre", value));
    return card;
  }));
  for (const marked of document.querySelectorAll(".now")) marked.classList.remove("now");
  $(step.at)?.classList.add("now");
  $("first").disabled = $("back").disabled = at === 0;
  $("next").disabled = $("last").disabled = at === STEPS.length - 1;
}
function go(to) {
  at = Math.max(0, Math.min(STEPS.length - 1, to));
  show();
}
const MOVES = {
  first: () => go(0), back: () => go(at - 1), next: () => go(at + 1),
  last: () => go(STEPS.length - 1),
};
const KEYS = { ArrowLeft: "back", ArrowRight: "next", Home: "first", End: "last" };
for (const [id, move] of Object.entries(MOVES)) $(id).onclick = move;
document.onkeydown = (event) => {
  const id = KEYS[event.key];
  if (!id || event.altKey || event.ctrlKey || event.metaKey) return;
  MOVES[id]();
  event.preventDefault();
};
show();
