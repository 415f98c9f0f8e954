// The result of a leaderboard: its boards, the table of systems, two systems, pictures and pairs.
import { element } from "./dom.js";
import { count, probability, signed } from "./numbers.js";
import { pairPlace } from "./pair.js";
import { picturesCard } from "./pictures.js";
import { ranking } from "./ranking.js";
import { RELATIONS, adjusted, significant } from "./relation.js";
import { card, keyList, notesCard, verdictCard, warnings } from "./result.js";
import { sortable } from "./sortable.js";
import { standings } from "./standings.js";

const CSV = "csv";

/** The boards of an answer with their scopes: the only one; or the overall one, then that of each data set. */
function boardsOf(answer) {
  const of = (board, scope, dataset = "") => ({ ...board, scope, dataset });
  if (!answer.datasets) return [of(answer, "")];
  const own = Object.entries(answer.datasets).map(([name, board]) => of(board, "dataset", name));
  return answer.overall ? [of(answer.overall, "overall"), ...own] : own;
}

const titleOf = ({ scope, dataset }) => ({ overall: "Overall", dataset }[scope] ?? "");

export function boardResult(request, answer, { comparison, theme }) {
  const boards = boardsOf(answer);
  const pair = pairPlace(request, theme);
  const shown = element("div", { class: "result" });
  const fewer = Object.fromEntries(request.fields).pairs === "significant"; // then unlisted pairs do not differ
  const said = (board) => ranking(answer, board, !fewer && board.pairs.length === 0);
  const first = said(boards[0]);
  const pictures = picturesCard(request, comparison.pictures.filter((name) => name !== "frontier" || answer.frontier), {
    theme, described: first.headline, of: boards.length > 1 ? `${titleOf(boards[0])}. ` : "",
  });
  const noted = answer.datasets ? answer.warnings : []; // else they are the warnings of the only board
  const show = (board) => shown.replaceChildren(...boardCards(answer, board, board === boards[0] ? null : said(board), pair));
  show(boards[0]);
  const cards = [
    verdictCard(first, keyList(key(answer, boards[0]))), warnings(noted),
    boards.length > 1 ? chooser(boards, show, pair) : null, shown, pictures.element, notesCard(answer),
  ].filter(Boolean);
  const draw = () => {
    pictures.draw();
    pair.draw();
  };
  return { cards, draw, downloads: (known) => downloads(known, comparison.tables, pictures.chosen) };
}

/** The certainty of the adjusted p-values of a board, including unlisted pairs. */
function known(certainty) {
  const kinds = ["exact", "bracketed", "sampled"].filter((kind) => certainty[kind]);
  if (kinds.length === 1 && kinds[0] === "exact") return "all exact";
  return kinds.map((kind) => `${count(certainty[kind])} ${kind}`).join(", ");
}

function key(answer, { systems, family, groups }) {
  const cells = [["Systems", count(systems.length)], ["Tests", count(family.size), known(family.certainty)]];
  if (groups) cells.push(["Clusters", count(groups.clusters.length)]);
  if (answer.datasets) cells.push(["Data sets", count(Object.keys(answer.datasets).length)]);
  return cells;
}

function chooser(boards, show, pair) {
  const select = element("select", { id: "board" }, boards.map((board, place) => element("option", { value: place }, titleOf(board))));
  select.addEventListener("change", () => {
    pair.clear();
    show(boards[Number(select.value)]);
  });
  return element("div", { class: "field" }, element("label", { for: "board" }, "Leaderboard of"), select);
}

/** Systems, the chosen pair, and the pairs of one board, with its summary `said` if the verdict above is that of another board. */
function boardCards(answer, board, said, pair) {
  const byName = new Map();
  for (const one of board.pairs) {
    if (!byName.has(one.u)) byName.set(one.u, new Map());
    byName.get(one.u).set(one.v, one);
  }
  const find = (one, other) => byName.get(one)?.get(other) ?? byName.get(other)?.get(one);
  const table = standings(board, answer.compare === "baseline" ? answer.baseline : null, (names) => {
    if (names.length < 2) return pair.clear();
    const found = find(...names);
    return found ? pair.show(found, board) : pair.say(`The answer does not list the pair of ${names[0]} and ${names[1]}.`);
  });
  const choose = (one) => {
    table.mark([one.u, one.v]);
    pair.show(one, board);
    pair.place.querySelector("h3").focus({ preventScroll: true });
    pair.place.scrollIntoView({ block: "nearest" });
  };
  return [
    warnings(board.warnings), card("Systems", "board", said && element("p", {}, said.headline), table.element), pair.place, pairsCard(board, choose),
  ].filter(Boolean);
}

function pairsCard({ pairs, family, warnings: warned }, choose) {
  if (!pairs.length) return null;
  const left = warned.some(({ code }) => code === "pairs_left_out");
  const name = (one) => {
    const made = element("button", { type: "button", class: "system" }, `${one.u} – ${one.v}`);
    made.addEventListener("click", () => choose(one));
    return made;
  };
  const columns = [
    { title: "Pair", key: ({ u, v }) => `${u} ${v}`, cell: name, heads: true },
    { title: "Difference", key: ({ difference }) => difference, cell: ({ difference }) => signed(difference, 4), numeric: true, first: "descending" },
    { title: "Adjusted p", key: (one) => one.log10_p_adjusted, cell: (one) => adjusted(one, family.alpha), numeric: true },
    { title: "p", key: (one) => one.log10_p_value, cell: (one) => probability(one.p_value, one.log10_p_value, 3), numeric: true },
    { title: "Relation", key: ({ relation }) => RELATIONS[relation] ?? relation, cell: ({ relation }) => RELATIONS[relation] ?? relation },
  ];
  const details = element("details", { class: "card" }, element("summary", {}, `${left ? "First" : "All"} pairs (${count(pairs.length)}; ${count(pairs.filter(significant).length)} significant)`));
  details.addEventListener("toggle", () => {
    if (details.open && details.children.length === 1) details.append(sortable({ label: "Pairs", columns, rows: pairs }));
  });
  return details;
}

/** One table of each kind, and the visible picture. */
function downloads(known, tables, chosen) {
  return known.flatMap((one) => {
    if (one.name === CSV) {
      return tables.map((table) => ({ ...one, title: `${one.title} of ${table}`, part: `-${table}`, query: () => ({ table }) }));
    }
    return one.title.startsWith("Picture") ? [{ ...one, query: () => ({ picture: chosen() }) }] : [one];
  });
}
