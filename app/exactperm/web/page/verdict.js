// Describe the result of a test in a sentence.
import { count, number, often, percent, pNumber, shortProbability } from "./numbers.js";
import { measured, methodTitle } from "./words.js";

/** The {tone, badge, headline, details} of a test's answer. */
export function verdict(answer, names) {
  const { p_value: p, log10_p_value: log10, alpha } = answer;
  const [low, high] = answer.missing ? answer.missing.p_value : answer.p_value_bounds;
  const unsure = low <= alpha && alpha < high && !(answer.missing && answer.significant);
  const difference = answer.statistic.observed;
  const about = answer.method.exact ? "=" : "≈";
  const pText = `p\u00a0${about}\u00a0${shortProbability(p, log10, alpha)}`;
  const details = [meaning(answer, names)];
  if (answer.missing) {
    const [worst, best] = answer.missing.difference.map((end) => number(end, 4));
    const lacking = `${count(answer.missing.n)} outcomes are missing; these numbers are of the complete items`;
    details.push(`${lacking}. Over all items the difference lies between ${worst} and ${best}, and p between ${pNumber(low)} and ${pNumber(high)}.`);
  }
  if (answer.min_attainable_p !== null && answer.min_attainable_p > alpha && answer.items.nonzero > 0) {
    const least = pNumber(answer.min_attainable_p, 3);
    details.push(`With so few items that differ, no outcome could have had p below ${least}.`);
  }
  const start = comparison(answer, names);
  if (difference === 0 && answer.items.nonzero === 0) {
    const headline = `${names.u} and ${names.v} do not differ on any item.`;
    return { tone: "", badge: "No difference", headline, details };
  }
  if (unsure) {
    const between = `p lies between ${pNumber(low)} and ${pNumber(high)}`;
    const headline = `${start}. Significance is undecided: ${between}.`;
    return { tone: "", badge: `Undecided at ${number(alpha)}`, headline, details };
  }
  if (answer.significant) {
    const headline = `${start}, and chance hardly explains this (${pText}).`;
    return { tone: "yes", badge: `Significant at ${number(alpha)}`, headline, details };
  }
  const wrong = { greater: difference < 0, less: difference > 0, "two-sided": false }[answer.alternative];
  const end = wrong
    ? `, which is no evidence that ${names.u} is ${answer.alternative} (${pText}).`
    : `, but chance alone can explain this (${pText}).`;
  const level = difference === 0 ? ` (${pText}).` : end;
  return { tone: "", badge: `Not significant at ${number(alpha)}`, headline: start + level, details };
}

/** The better system, and the difference. */
function comparison({ statistic, items }, names) {
  const { name, observed, u, v, higher_is_better: better } = statistic;
  if (name === "sign") {
    const units = items.clusters === null ? "items" : "clusters";
    const [more, less] = better === false ? [items.losses, items.wins] : [items.wins, items.losses];
    return `${names.u} is higher on ${count(more)} ${units} and lower on ${count(less)}`;
  }
  if (name === "signed_rank") {
    if (observed === 0) return `The ranks of the differences favour neither ${names.u} nor ${names.v}`;
    return `The ranks of the differences favour ${observed > 0 ? names.u : names.v}`;
  }
  const label = worded(measured(statistic, names.statistic));
  if (observed === 0) return `${names.u} and ${names.v} have the same ${label}`;
  const by = `${number(Math.abs(observed), 4)} ${observed > 0 ? "higher" : "lower"}`;
  const scores = u === null || v === null ? "" : `: ${number(u, 4)} against ${number(v, 4)}`;
  const which = better === false ? " (lower is better)" : "";
  return `The ${label} of ${names.u} is ${by} than that of ${names.v}${scores}${which}`;
}

/** A statistic's label within a sentence. */
function worded(label) {
  return /^[A-Z][a-z]/.test(label) && !/^(Matthews|Jaccard)/.test(label) ? label[0].toLowerCase() + label.slice(1) : label;
}

/** The meaning of the p-value. */
function meaning(answer, names) {
  const { p_value: p, log10_p_value: log10, alternative } = answer;
  const [more, less] = answer.statistic.higher_is_better === false ? [names.v, names.u] : [names.u, names.v];
  const large = {
    "two-sided": "a difference at least this large, either way,",
    greater: `a difference at least this much in favour of ${more}`,
    less: `a difference at least this much in favour of ${less}`,
  }[alternative];
  if (alternative !== "two-sided" && p >= 0.5) {
    const end = `If the two were equal, as much or more would be seen ${often(p, log10)}.`;
    return `The question was whether ${names.u} is ${alternative}. ${end}`;
  }
  if (answer.test === "bootstrap") {
    return `If there were no difference, ${large} would come from drawing items ${often(p, log10)}.`;
  }
  const same = { runs: "If all runs of an item, of both systems, came from one distribution",
    both: "If it did not matter which system gave which answer, or if all runs of an item came from one distribution" };
  return `${same[answer.exchange] ?? "If it did not matter which system gave which answer"}, ${large} would be seen ${often(p, log10)}.`;
}

/** Whether the sampling used a control variate. */
export const isControlled = ({ method }) => Boolean(method.monte_carlo?.control);

/** The certainty of the p-value. */
export function certainty(answer) {
  const [low, high] = answer.p_value_bounds;
  const { method } = answer;
  if (method.exact) {
    const error = method.relative_error_bound;
    return error ? `exact, up to a relative rounding error of ${number(error, 2)}` : "exact";
  }
  const between = `between ${pNumber(low, 5)} and ${pNumber(high, 5)}`;
  if (answer.p_value_bounds_kind === "certified") return `bounded: certainly ${between}`;
  const drawn = method.monte_carlo;
  const control = isControlled(answer) ? " and a control variate" : "";
  const samples = drawn ? `${count(drawn.samples)} samples, seed ${drawn.seed}${control}; ` : "";
  return `sampled: ${samples}${between} with 99 % confidence`;
}

/** The interval of the difference: its text and how it was computed. */
export function interval(given, digits) {
  if (!given) return null;
  const end = (value, open) => (value === null ? open : number(value, digits));
  return {
    text: `${end(given.low, "−∞")} to ${end(given.high, "∞")}`,
    how: `${percent(given.level)}, ${given.kind}, ${methodTitle(given.method)}`,
    kind: `${given.kind}, ${methodTitle(given.method)}`,
  };
}
