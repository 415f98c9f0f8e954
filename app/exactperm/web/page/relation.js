// Describe how two systems of a leaderboard relate.
import { adjustmentTitle } from "./board_options.js";
import { count, number, pNumber, probability, shortProbability, signed } from "./numbers.js";
import { smallest } from "./result.js";
import { interval } from "./verdict.js";
import { methodTitle } from "./words.js";

/** Titles of relations in tables. */
export const RELATIONS = {
  better: "better", worse: "worse", tied: "not significant", undecided: "undecided", untestable: "cannot be significant",
};

export const significant = ({ relation }) => relation === "better" || relation === "worse";

/** The adjusted p-value, rounded on its side of α. */
export function adjusted(pair, alpha) {
  const { p_adjusted_certainty: certainty } = pair;
  return shortProbability(pair.p_adjusted, pair.log10_p_adjusted, alpha) + (certainty === "exact" ? "" : ` (${certainty})`);
}

/** `Holm over 66 tests, α = 0.05`. */
export function familyText({ adjust, size, alpha }) {
  const tests = `${count(size)} ${size === 1 ? "test" : "tests"}`;
  const how = adjust === "none" ? `No adjustment of ${tests}` : `${adjustmentTitle(adjust)} over ${tests}`;
  return `${how}, α = ${number(alpha)}`;
}

/** The relation of a pair in a sentence. */
export function relationText(pair, alpha) {
  const { u, v } = pair;
  return {
    better: `${u} is significantly better than ${v}.`,
    worse: `${u} is significantly worse than ${v}.`,
    tied: `${u} and ${v} do not differ significantly.`,
    undecided: `Whether ${u} and ${v} differ significantly is undecided: the adjusted p-value is between ${pNumber(pair.p_adjusted_bounds[0])} and ${pNumber(pair.p_adjusted_bounds[1])}.`,
    untestable: `Too few items differ between ${u} and ${v}: no outcome could have had p at or below α = ${number(alpha)}.`,
  }[pair.relation] ?? pair.relation;
}

function certainty({ exact, p_value_bounds: [low, high], p_value_bounds_kind: kind }) {
  if (exact) return "exact";
  const between = `between ${pNumber(low, 5)} and ${pNumber(high, 5)}`;
  return kind === "confidence" ? `sampled: ${between} with 99 % confidence` : `bounded: certainly ${between}`;
}

/** Rows of the table of numbers of a pair. */
export function pairRows(pair, family) {
  const shown = interval(pair.confidence_interval);
  return [
    ["Adjusted p-value", adjusted(pair, family.alpha), familyText(family)],
    ["p-value", probability(pair.p_value, pair.log10_p_value), certainty(pair)],
    ["Difference", signed(pair.difference), `${pair.u} minus ${pair.v}`],
    shown && ["Confidence interval", shown.text, shown.how],
    ["Better, equal, worse", `${count(pair.wins)} / ${count(pair.ties)} / ${count(pair.losses)}`, `${pair.u} against ${pair.v}`],
    ["Items", count(pair.n)],
    pair.min_attainable_p !== null && ["Smallest attainable p", smallest(pair.min_attainable_p)],
    ["Method", methodTitle(pair.method)],
  ];
}
