// Planning: the request to v1/power, and its answer.
import { element } from "./dom.js";
import { count, number, percent, valueOf } from "./numbers.js";
import { prose } from "./prose.js";
import { card, keyList, verdictCard, warnings } from "./result.js";
import { methodTitle } from "./words.js";

const OF_DESIGN = ["u", "v", "discordance"];
const WORDS = ["solve", "alternative"];
const DRAWN = 9; // rows of the table at most

/** The JSON request of a plan without data; empty with a pilot, which is sent as a form. */
export function planRequest(fields, design) {
  if (design !== "binary") return {};
  const json = { design: { kind: "binary" } };
  for (const [name, text] of fields) {
    const value = WORDS.includes(name) ? text : valueOf(text);
    if (OF_DESIGN.includes(name)) json.design[name] = value;
    else json[name] = value;
  }
  return { json, files: [] };
}

/** The cards of a plan. */
export function planCards(answer) {
  const { solution, alpha, comparisons, method } = answer;
  const badge = { n: "Items", power: "Power", effect: "Difference" }[answer.solve];
  const details = comparisons > 1 ? [`For ${count(comparisons)} comparisons at once, each at a level of ${number(alpha / comparisons, 4)}.`] : [];
  const cells = [
    ["Items", solution.n === null ? "–" : count(solution.n), always(solution)],
    ["True difference", solution.effect === null ? "–" : number(solution.effect, 4), ""],
    ["Found", solution.power === null ? "–" : found(solution.power, 4), method.exact ? "exact" : "approximate"],
    ["Level α", number(alpha, 4), answer.actual_alpha === null ? "" : `${number(answer.actual_alpha, 3)} is attained`],
  ];
  return [
    verdictCard({ tone: "", badge, headline: prose(answer.sentence), details }, keyList(cells)),
    warnings(answer.warnings), curveCard(answer),
    card("How it was computed", "notes", element("p", {}, `${methodTitle(method.name)}, ${method.exact ? "exact" : "approximate"}. ${prose(method.given)}`)),
  ].filter(Boolean);
}

const always = ({ n, n_always: always }) => (always === null || always === n ? "" : `and always from ${count(always)} on`);

/** A power in percent; never 100 % if it is less. */
function found(power, digits) {
  const rounded = Number(power.toPrecision(digits));
  return rounded === 1 && power < 1 ? "over 99.9 %" : percent(rounded);
}

/** Some points of the curve, including the solution. */
function curveCard({ curve, solution }) {
  if (curve.length < 2) return null;
  const step = Math.ceil(curve.length / DRAWN);
  const own = curve.findIndex(({ n, effect }) => n === solution.n && effect === solution.effect);
  const rows = curve.filter((_, place) => (place - Math.max(own, 0)) % step === 0);
  const head = ["Items", "True difference", "Found"].map((title) => element("th", { scope: "col" }, title));
  const row = ({ n, effect, power }) => element("tr", n === solution.n ? { class: "chosen" } : {},
    element("td", {}, count(n)), element("td", {}, effect === null ? "–" : number(effect, 4)),
    element("td", {}, power === null ? "–" : found(power, 3)));
  return card("With more or fewer items", "", element("table", { class: "numbers curve" },
    element("thead", {}, element("tr", {}, head)), element("tbody", {}, rows.map(row))));
}
