// The pictures of a leaderboard in tabs; each is fetched when its tab is opened.
import { button, element } from "./dom.js";
import { card, pictureCard } from "./result.js";
import { answered } from "./sending.js";

const WORDS = {
  leaderboard: ["Ranks", "Scores, and the ranks that each system may truly have."],
  heatmap: ["Pairs", "The adjusted p-value of each pair."],
  bars: ["Groups", "Systems below one bar are not significantly different."],
  forest: ["Differences", "Differences to the baseline, or to the best system."],
  frontier: ["Costs", "Cost against quality; hollow where another system is shown to be better and cheaper."],
};
const STEPS = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };

/** {element, draw, chosen}: a card of tabs; `of` names the board of the pictures. */
export function picturesCard(request, names, { theme, described, of }) {
  let chosen = names[0];
  const kept = new Map(); // blobs by name and theme
  const panel = element("div", { role: "tabpanel", id: "picture-panel", "aria-labelledby": `tab-${chosen}` });
  const tabs = names.map((name) => button(WORDS[name]?.[0] ?? name, () => choose(name), { id: `tab-${name}`, role: "tab", "aria-controls": panel.id }));

  function choose(name) {
    chosen = name;
    mark();
    draw();
  }

  function mark() {
    names.forEach((name, place) => {
      tabs[place].setAttribute("aria-selected", String(name === chosen));
      tabs[place].tabIndex = name === chosen ? 0 : -1;
    });
    panel.setAttribute("aria-labelledby", `tab-${chosen}`);
  }

  async function draw() {
    const [name, colours] = [chosen, theme()];
    const key = `${name} ${colours}`;
    if (!kept.has(key)) {
      panel.setAttribute("aria-busy", "true");
      kept.set(key, answered(request, "svg", { picture: name, theme: colours }));
    }
    const { blob, reason } = await kept.get(key);
    if (name !== chosen || colours !== theme()) return;
    panel.removeAttribute("aria-busy");
    const [title, meaning] = WORDS[name] ?? [name, ""];
    panel.replaceChildren(blob ? pictureCard(blob, `${of}${meaning}`, `${title}. ${described}`) : element("p", { class: "hint" }, reason));
  }

  const list = element("div", { class: "tabs", role: "tablist", "aria-label": "Pictures" }, tabs);
  list.addEventListener("keydown", (event) => {
    const step = STEPS[event.key];
    if (!step) return;
    event.preventDefault();
    const place = (names.indexOf(chosen) + step + names.length) % names.length;
    choose(names[place]);
    tabs[place].focus();
  });
  mark();
  return { element: card("Pictures", "pictures", list, panel), draw, chosen: () => chosen };
}
