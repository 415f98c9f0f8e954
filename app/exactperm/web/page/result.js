// The result of a test: the verdict, the numbers, the picture and the warnings.
import { button, element, icon } from "./dom.js";
import { count, number, percent, pNumber, power, probability, shortProbability, signed } from "./numbers.js";
import { certainty, interval, isControlled, verdict } from "./verdict.js";
import { prose } from "./prose.js";
import { measured, methodTitle } from "./words.js";

const question = (alternative, { u }) => ({ "two-sided": "different, either way" }[alternative] ?? `is ${u} ${alternative}?`);
const NULLS = { permutation: "paired permutation: systems exchanged", bootstrap: "bootstrap: items drawn with replacement",
  binomial: "right with the threshold’s probability", convex_bound: "all scores in the range with the threshold as their mean" };

const RUNS = { runs: "runs of each item", both: "items, and runs of each item" };
const runsExchanged = ({ exchange, generalises_to: of }) => (RUNS[exchange] ? `${RUNS[exchange]} exchanged: this speaks of ${of}` : null);

export function card(title, kind, ...children) {
  return element("section", { class: `card ${kind}` }, title ? element("h3", {}, title) : null, children);
}

export function verdictCard({ tone, badge, headline, details }, ...below) {
  const sign = { yes: "yes", no: "no" }[tone] ?? "unsure";
  return element("section", { class: `card verdict ${tone}` },
    element("p", { class: "badge" }, icon(sign), badge),
    element("h2", { id: "verdict", tabindex: "-1" }, headline),
    details.map((detail) => element("p", {}, detail)), below);
}

/** The cards of a result; the picture goes between the first and the second. */
export function testCards(answer, names) {
  return [
    verdictCard(verdict(answer, names), keyNumbers(answer, names)),
    warnings(answer.warnings, names), slicesCard(answer.slices, answer.alpha), numbersCard(answer, names), movedCard(answer.moved, names), notesCard(answer, names),
  ].filter(Boolean);
}

function keyNumbers(answer, names) {
  const shown = interval(answer.confidence_interval, 4);
  const observed = answer.statistic.observed;
  const label = measured(answer.statistic, names.statistic);
  const cells = [
    ["p-value", shortProbability(answer.p_value, answer.log10_p_value, answer.alpha), certainty(answer).split(/[,:]/)[0]],
    ["Difference", signed(observed), `${label}, ${names.u} − ${names.v}`],
  ];
  if (shown) cells.push([`${percent(answer.confidence_interval.level)} interval`, shown.text, shown.kind]);
  cells.push(["Items", count(answer.items.n), inClusters(answer.items)]);
  return keyList(cells);
}

/** The list of the most important numbers. */
export function keyList(cells) {
  return element("dl", { class: "key" }, cells.map(([term, value, small]) =>
    element("div", {}, element("dt", {}, term), element("dd", {}, value, small ? element("small", {}, small) : null))));
}

const inClusters = ({ clusters }) => (clusters === null ? "" : `in ${count(clusters)} clusters`);

export function warnings(list, names = null) {
  if (!list.length) return null;
  return card("Warnings", "warnings", element("ul", {}, list.map(({ detail }) => element("li", {}, prose(detail, names)))));
}

export function table(rows) {
  return element("table", { class: "numbers" }, element("tbody", {}, rows.filter(Boolean).map(([head, value, small]) =>
    element("tr", {}, element("th", { scope: "row" }, head),
      element("td", {}, value, small ? element("small", {}, small) : null)))));
}

export function numbersCard(answer, names, title = "Numbers") {
  const rows = [scoreRows(answer, names), effectRows(answer.effect_size, names), methodRows(answer, names)];
  return card(title, "", table(rows.flat()));
}

function scoreRows(answer, names) {
  const { statistic, items } = answer;
  const shown = interval(answer.confidence_interval);
  const units = items.clusters === null ? "items" : "clusters";
  return [
    ["p-value", probability(answer.p_value, answer.log10_p_value), certainty(answer)],
    ...Object.entries(answer.exchanges ?? {}).map(([of, own]) => [`p-value, ${of} exchanged`, probability(own.p_value, own.log10_p_value)]),
    fraction(answer.p_value_fraction),
    byItem(answer.item_level),
    answer.position_bias && positionRow(answer.position_bias),
    [measured(statistic, names.statistic), signed(statistic.observed), `${names.u} minus ${names.v}`],
    shown && ["Confidence interval", shown.text, shown.how],
    statistic.u !== null && [names.u, number(statistic.u)],
    statistic.v !== null && [names.v, number(statistic.v)],
    ["Items", count(items.n), inClusters(items)],
    statistic.higher_is_better !== null && ["Better", statistic.higher_is_better ? "higher" : "lower"],
    [`Wins, ties, losses of ${names.u}`, tally(items, units)],
  ];
}

/** Which place won the battles. */
function positionRow({ first, second, ties, p_value: p }) {
  const even = `ties: ${count(ties)}; if the place did not matter and both orders were asked or drawn, p = ${pNumber(p, 4)}`;
  return ["Won by the first / second shown", `${count(first)} / ${count(second)}`, even];
}

function byItem(level) {
  return level && ["p-value by item", probability(level.p_value, level.log10_p_value), "if every item swapped by itself"];
}

function fraction(exact) {
  if (!exact || exact.numerator.length > 12) return null;
  if (exact.denominator?.length > 12) return null;
  const of = exact.denominator ? count(Number(exact.denominator)) : power(exact.log2_denominator, 2);
  const below = exact.log2_denominator === 0 ? "" : ` / ${of}`;
  return ["as a fraction", `${count(Number(exact.numerator))}${below}`];
}

function tally({ wins, ties, losses }, units) {
  const bar = element("div", { class: "tally", "aria-hidden": "true" });
  for (const [name, size] of [["wins", wins], ["ties", ties], ["losses", losses]]) {
    if (!size) continue;
    const part = element("span", { class: name });
    part.style.flexGrow = String(size);
    bar.append(part);
  }
  return element("div", {}, `${count(wins)} / ${count(ties)} / ${count(losses)} ${units}`, bar);
}

function effectRows(effect, names) {
  if (!effect) return [];
  const { cohens_d_z: cohen, cliffs_delta: cliff, discordant } = effect;
  const name = element("span", {}, "Cohen’s d", element("sub", {}, "z"));
  return [
    cohen !== null && [name, number(cohen, 4), "mean of the differences over their standard deviation"],
    cliff !== null && ["Cliff’s delta", number(cliff, 4), "−1 to 1; 0 is no difference"],
    discordant && oddsRow(discordant, names),
  ];
}

function oddsRow({ only_u: u, only_v: v, odds, odds_low: low, odds_high: high }, names) {
  const bound = (value) => (value === null ? "∞" : number(value, 4));
  const sure = `odds ${bound(odds)}, from ${bound(low)} to ${bound(high)}`;
  return [`Right only with ${names.u} / ${names.v}`, `${count(u)} / ${count(v)}`, sure];
}

function methodRows(answer, names) {
  const { method } = answer;
  const kind = method.exact ? "exact" : answer.p_value_bounds_kind === "certified" ? "bounded"
    : isControlled(answer) ? "sampled, with a control variate" : "sampled";
  const least = answer.min_attainable_p;
  return [
    ["Method", `${methodTitle(method.name)} (${kind})`, method.reason],
    ["Question", question(answer.alternative, names), runsExchanged(answer) ?? NULLS[answer.test] ?? answer.test],
    least !== null && ["Smallest attainable p", smallest(least)],
    ["Answer", answer.id ?? "–", answer.signature ?? ""],
  ];
}

/** The table of slices, the smallest p-value first. */
export function slicesCard(slices, alpha) {
  if (!slices) return null;
  const heads = ["Slice", "Items", "Difference", "p-value", "Adjusted p", "Significant"];
  const rows = slices.items.map((one) => element("tr", {}, element("th", { scope: "row" }, element("bdi", {}, one.slice)),
    [count(one.n), signed(one.difference), pNumber(one.p_value, 4), pNumber(one.p_adjusted, 4)].map((cell) => element("td", {}, cell)),
    element("td", {}, one.significant ? "yes" : "")));
  const known = slices.exact ? "exact" : slices.p_value_bounds_kind === "confidence" ? "sampled" : "bounded";
  return card("Slices", "notes",
    element("p", {}, `The p-value of all slices together, at ${number(alpha)}, is ${pNumber(slices.p_value, 4)} (${slices.method.replaceAll("_", " ")}, ${known}).`),
    element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Slices" }, element("table", { class: "slices" },
      element("thead", {}, element("tr", {}, heads.map((head) => element("th", { scope: "col" }, head)))),
      element("tbody", {}, rows))));
}

export function movedCard(moved, names) {
  const listed = moved ? moved.toward_u.length + moved.toward_v.length : 0;
  if (!listed) return null;
  // The lists hold ten: fewer are all that moved.
  const none = listed < 10 ? "none" : `none of the ${listed} that moved most`;
  const list = (title, ids) => element("div", {}, element("h4", {}, title),
    ids.length ? element("ol", {}, ids.map((id) => element("li", {}, id))) : element("p", {}, none));
  return card("Items that moved most", "notes",
    element("div", { class: "moved" }, list(`Toward ${names.u}`, moved.toward_u), list(`Toward ${names.v}`, moved.toward_v)));
}

/** The smallest attainable p-value, or an upper bound beyond the range of doubles. */
export const smallest = (least) => (least > 1e-300 ? pNumber(least, 4) : `below ${power(-300)}`);

export function notesCard(answer, names = null) {
  const { pairing, reading } = answer;
  const notes = (reading?.notes ?? []).map((note) => prose(note, names));
  if (pairing && (pairing.only_u || pairing.only_v)) {
    const alone = `${count(pairing.only_u)} are in ${names?.u ?? "U"} only, ${count(pairing.only_v)} in ${names?.v ?? "V"} only`;
    notes.push(`${count(pairing.matched)} items were paired; ${alone}.`);
  }
  if (!notes.length) return null;
  const title = `What was read${reading ? `: ${reading.format}${reading.guessed ? ", guessed" : ""}` : ""}`;
  return card(title, "notes", element("ul", {}, notes.map((note) => element("li", {}, note))));
}

export function pictureCard(blob, caption, described) {
  const address = URL.createObjectURL(blob);
  const image = element("img", { src: address, alt: described });
  image.addEventListener("load", () => URL.revokeObjectURL(address));
  const frame = element("div", { class: "frame" }, image);
  const enlarge = button("Enlarge", () => {
    const large = frame.classList.toggle("large");
    enlarge.setAttribute("aria-pressed", String(large));
    if (large) frame.setAttribute("tabindex", "0"); // make it scroll sideways by keyboard
    else frame.removeAttribute("tabindex");
  }, { "aria-pressed": "false" });
  return element("figure", { class: "card picture" }, frame, element("figcaption", {}, caption, enlarge));
}

/** Save a Blob under a name. */
export function save(blob, name) {
  const address = URL.createObjectURL(blob);
  element("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
