// The table of the systems of a leaderboard, with sorting by its headers and a choice of two systems.
import { button, element } from "./dom.js";
import { count, number, signed } from "./numbers.js";
import { RELATIONS, adjusted } from "./relation.js";
import { sortable } from "./sortable.js";

const PROMPT = "Choose two systems to see their test.";
const BEST = "best set";

/** The possible ranks of a system. */
const rangeText = ({ rank_low: low, rank_high: high }) => (low === high ? String(low) : `${low}–${high}`);

/** Scores with enough digits to distinguish neighbours. */
function scoreTexts(systems) {
  return systems.map(({ score }, place) => {
    const near = [systems[place - 1], systems[place + 1]].filter((other) => other && other.score !== score);
    for (let digits = 4; digits < 17; digits += 1) {
      const text = number(score, digits);
      if (near.every((other) => number(other.score, digits) !== text)) return text;
    }
    return number(score, 17);
  });
}

/** Each system's test against the baseline. */
function againstColumns({ pairs, family }) {
  const own = new Map(pairs.map((pair) => [pair.u, pair]));
  const of = (key) => ({ name }) => (own.has(name) ? key(own.get(name)) : null);
  const column = (title, key, text, more) => ({ title, key: of(key), cell: (system) => of(text)(system) ?? "–", ...more });
  const relation = (pair) => RELATIONS[pair.relation] ?? pair.relation;
  return [
    column("Difference", ({ difference }) => difference, ({ difference }) => signed(difference, 4), { numeric: true, first: "descending" }),
    column("Adjusted p", (pair) => pair.log10_p_adjusted, (pair) => adjusted(pair, family.alpha), { numeric: true }),
    column("To the baseline", relation, relation, {}),
  ];
}

/** Each system's mean cost, and the system that is shown to be better and cheaper. */
function frontierColumns({ systems }) {
  const own = new Map(systems.map((one) => [one.name, one]));
  const cost = ({ name }) => own.get(name).cost;
  const behind = ({ name }) => (own.get(name).excluded ? `behind ${own.get(name).dominated_by}` : "yes");
  return [{ title: "Mean cost", key: cost, cell: (system) => number(cost(system), 4), numeric: true }, { title: "Frontier", key: behind, cell: behind }];
}

function columnsOf({ systems, ...board }, baseline, name) {
  const scores = new Map(scoreTexts(systems).map((text, place) => [systems[place], text]));
  const whole = systems.every(({ rank_low: low }) => low !== null);
  const lettered = systems.some(({ letters }) => letters !== null);
  const uneven = systems.some(({ n }) => n !== systems[0].n);
  const known = [
    { title: "Rank", sorted: "ascending", key: ({ rank }) => rank, cell: ({ rank }) => String(rank), numeric: true },
    { title: "System", key: (system) => system.name, cell: name, heads: true },
    { title: "Score", key: ({ score }) => score, cell: (system) => scores.get(system), numeric: true, first: "descending" },
    ...(board.frontier ? frontierColumns(board.frontier) : []),
    whole && { title: "Rank range", key: (system) => system.rank_low + system.rank_high / 1e6, cell: rangeText, numeric: true },
    lettered && { title: "Letters", key: ({ letters }) => letters, cell: ({ letters }) => letters ?? "–" },
    whole && { title: "Cluster", key: ({ cluster }) => cluster, cell: ({ cluster }) => String(cluster), numeric: true },
    whole && { title: "Better than", key: (system) => system.better_than, cell: (system) => count(system.better_than), numeric: true, first: "descending" },
    ...(baseline === null ? [] : againstColumns(board)),
    uneven && { title: "Items", key: ({ n }) => n, cell: ({ n }) => count(n), numeric: true, first: "descending" },
  ];
  return known.filter(Boolean);
}

/** The table of a board as {element, mark}; with the tests against the `baseline` if there is one. `chose(names)` is called with the chosen systems: none, one or two, in order of choice. */
export function standings(board, baseline, chose) {
  const { systems } = board;
  let chosen = [];
  const buttons = new Map();
  const status = element("p", { class: "hint", role: "status" }, PROMPT);

  function press(name) {
    chosen = chosen.includes(name) ? chosen.filter((other) => other !== name) : [...chosen, name].slice(-2);
    mark(chosen);
    chose(chosen);
  }

  function mark(names) {
    chosen = names;
    for (const [name, one] of buttons) one.setAttribute("aria-pressed", String(names.includes(name)));
    status.textContent = { 0: PROMPT, 1: `${names[0]} is chosen; choose another system.` }[names.length] ?? `${names[0]} and ${names[1]}: their test is below.`;
  }

  function nameCell(system) {
    const made = button(system.name, () => press(system.name), { class: "system", "aria-pressed": "false" });
    buttons.set(system.name, made);
    return element("span", { class: "named" }, made, system.in_best_set ? element("span", { class: "best" }, BEST) : null);
  }

  const drawn = (system, row, next, initial) => {
    row.classList.toggle("in-best", system.in_best_set === true);
    row.classList.toggle("ends-cluster", initial && next !== null && system.cluster !== next.cluster);
  };
  const table = sortable({ label: "Systems", columns: columnsOf(board, baseline, nameCell), rows: systems, drawn });
  const lines = new Set(systems.map(({ cluster }) => cluster)).size > 1;
  const note = lines ? "A line below a system: all above it are significantly better than all below it." : "";
  return { element: element("div", { class: "standings" }, status, table, element("p", { class: "hint" }, note)), mark };
}
