"use strict";
// What the pages share: elements, sliders, choices, a player of steps, arrow keys over a grid.
// A classic script, no module: a browser loads no module from file://.

const $ = (id) => document.getElementById(id);

function fill(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== null) made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}
const element = (name, attributes = {}, ...children) =>
  fill(document.createElement(name), attributes, children);
const drawn = (name, attributes = {}, ...children) =>
  fill(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);

/** A labelled range; `value` reads it, `limit(min, max)` moves its ends, `set` its value. */
function slider(parent, { label, min, max, value, step = 1, change }) {
  const shown = element("output");
  const input = element("input", { type: "range", min, max, step, value, "aria-label": label });
  const tell = () => {
    shown.textContent = input.value;
  };
  input.addEventListener("input", () => {
    tell();
    change(Number(input.value));
  });
  const box = element("label", { class: "slider" }, element("span", {}, label), shown, input);
  parent.append(box);
  tell();
  return {
    box,
    get value() {
      return Number(input.value);
    },
    set(to) {
      input.value = to;
      tell();
    },
    limit(low, high) {
      input.min = low;
      input.max = high;
      tell();
    },
  };
}

/** Sliders of a problem's numbers: `number(label, name, min, max)` makes one, which sets and applies. */
function sliderOf(parent, problem, apply) {
  return (label, name, min, max) =>
    slider(parent, {
      label,
      min,
      max,
      value: problem[name],
      change(value) {
        problem[name] = value;
        apply();
      },
    });
}

/** Radio buttons in a row; options are [value, text]. */
function choice(parent, { label, options, value, change }) {
  const name = `choice${document.querySelectorAll("fieldset").length}`;
  const buttons = options.map(([key, text]) => {
    const input = element("input", { type: "radio", name, value: key, "aria-label": text });
    input.checked = String(key) === String(value);
    input.addEventListener("change", () => change(key));
    return element("label", {}, input, text);
  });
  const box = element(
    "fieldset",
    {},
    element("legend", {}, label),
    element("div", { class: "choices" }, ...buttons),
  );
  parent.append(box);
  return box;
}

/** First, back, play, next, last and a range over `count` steps; `show(step)` draws one. */
function player(parent, { show, milliseconds = () => 700 }) {
  let at = 0;
  let count = 1;
  let timer = null;
  const button = (text, label, click, className = "") =>
    element(
      "button",
      { type: "button", "aria-label": label, title: label, class: className, onclick: click },
      text,
    );
  const play = button("Play", "play", () => (timer ? stop() : start()), "play");
  const first = button("«", "first step", () => go(0));
  const back = button("‹", "step back", () => go(at - 1));
  const next = button("›", "next step", () => go(at + 1));
  const last = button("»", "last step", () => go(count - 1));
  const range = element("input", { type: "range", min: 0, value: 0, "aria-label": "step" });
  const told = element("output", {});
  range.addEventListener("input", () => go(Number(range.value)));
  parent.append(
    element(
      "div",
      { class: "player", role: "group", "aria-label": "steps" },
      first,
      back,
      play,
      next,
      last,
      range,
      told,
    ),
  );

  function stop() {
    clearTimeout(timer);
    timer = null;
    play.textContent = "Play";
    play.setAttribute("aria-label", "play");
  }
  function start() {
    if (at === count - 1) move(0);
    play.textContent = "Pause";
    play.setAttribute("aria-label", "pause");
    timer = setTimeout(tick, milliseconds());
  }
  function tick() {
    move(at + 1);
    if (at === count - 1) stop();
    else timer = setTimeout(tick, milliseconds());
  }
  function move(to) {
    at = Math.max(0, Math.min(count - 1, to));
    range.value = at;
    told.textContent = `${at} / ${count - 1}`;
    first.disabled = back.disabled = at === 0;
    next.disabled = last.disabled = at === count - 1;
    show(at);
  }
  function go(to) {
    stop();
    move(to);
  }
  document.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || event.defaultPrevented) return;
    if (event.target.closest("input, select, textarea, [data-arrows]")) return;
    const moves = {
      ArrowRight: () => go(at + 1),
      ArrowLeft: () => go(at - 1),
      Home: () => go(0),
      End: () => go(count - 1),
    };
    if (!moves[event.key]) return;
    moves[event.key]();
    event.preventDefault();
  });
  return {
    get at() {
      return at;
    },
    go,
    reset(steps, to = 0) {
      count = steps;
      range.max = steps - 1;
      go(to);
    },
  };
}

/** Arrow keys over a focused grid: `move(row difference, column difference)`. */
function arrows(box, move) {
  const by = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
  box.tabIndex = 0;
  box.dataset.arrows = "";
  box.addEventListener("keydown", (event) => {
    if (!by[event.key] || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    move(...by[event.key]);
  });
}

/** Replaces the children of a box; the focus stays at its place among them. */
function renew(box, ...children) {
  const at = [...box.children].indexOf(document.activeElement);
  box.replaceChildren(...children);
  if (at >= 0) box.children[Math.min(at, children.length - 1)]?.focus();
}

/** The element of a class under the pointer, which a captured or touching pointer does not say. */
function under(event, selector) {
  return document.elementFromPoint(event.clientX, event.clientY)?.closest(selector) ?? null;
}
