// Describe the result of a leaderboard in a sentence.
import { count, number, percent } from "./numbers.js";
import { familyText, significant } from "./relation.js";
import { measured } from "./words.js";

const NAMED = 4; // names in a sentence at most

function listed(names) {
  if (names.length > NAMED) return `${names.slice(0, NAMED).join(", ")} and ${count(names.length - NAMED)} more`;
  return names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}

const tests = (size, one, many) => `${count(size)} ${size === 1 ? one : many}`;

function ofAllPairs({ systems, groups, family }) {
  const best = groups.best_set;
  const sure = percent(Number((1 - family.alpha).toPrecision(12))).replace(" ", "\u00a0");
  if (best.length === 0) return { tone: "", badge: "No best set", headline: "The best system is not determined: the comparisons contradict each other." };
  if (best.length === 1) {
    return { tone: "yes", badge: "One best system", headline: `${best[0]} is the best of ${count(systems.length)} systems, with ${sure} confidence.` };
  }
  const badge = `${count(best.length)} may be the best`;
  if (best.length === systems.length) {
    return { tone: "", badge, headline: `Any of the ${count(systems.length)} systems may be the best: the data do not decide, with ${sure} confidence.` };
  }
  return { tone: "yes", badge, headline: `The best of ${count(systems.length)} systems is among ${listed(best)}, with ${sure} confidence.` };
}

/** The number of pairs that a board compares; its family can be larger, and its list shorter. */
export function sizeOf({ compare }, { systems, pairs }) {
  const others = systems.length - 1;
  return { all_pairs: systems.length * others / 2, baseline: others }[compare] ?? pairs.length;
}

function ofBaseline({ systems, pairs }, baseline) {
  const counts = (relation) => pairs.filter((pair) => pair.relation === relation).length;
  const [better, worse] = [counts("better"), counts("worse")];
  const others = tests(systems.length - 1, "other system", "other systems");
  const headline = `Of ${others}, ${count(better)} ${better === 1 ? "is" : "are"} significantly better than ${baseline}, and ${count(worse)} significantly worse.`;
  return { tone: better ? "yes" : "", badge: better ? `${count(better)} better` : "None better", headline };
}

/** The result of a board without ranks and pairs. */
const UNLISTED = { tone: "", badge: "No pairs listed", headline: "The answer lists no pairs, so it does not show which differ." };

/** The number of pairs that differ, from the list of pairs or the counts of the systems. */
function found(size, { systems, pairs, groups, family }) {
  const different = groups ? systems.reduce((sum, { better_than: better, worse_than: worse }) => sum + better + worse, 0) / 2 : pairs.filter(significant).length;
  const open = pairs.filter(({ relation }) => relation === "undecided").length;
  const undecided = open ? ` ${tests(open, "pair is", "pairs are")} undecided.` : "";
  return `${count(different)} of ${tests(size, "pair differs", "pairs differ")} significantly (${familyText(family)}).${undecided}`;
}

/** {tone, badge, headline, details} of one board of an answer; `unlisted` if its pairs are not listed. */
export function ranking(answer, board, unlisted) {
  const size = sizeOf(answer, board);
  const of = { overall: "Overall: ", dataset: `${board.dataset}: ` }[board.scope] ?? "";
  const open = unlisted && !board.groups;
  const chosen = { tone: "", badge: "Chosen pairs", headline: `${count(board.pairs.filter(significant).length)} of ${tests(size, "pair differs", "pairs differ")} significantly.` };
  const said = board.groups ? ofAllPairs(board) : open ? UNLISTED : answer.compare === "baseline" ? ofBaseline(board, answer.baseline) : chosen;
  const up = answer.higher_is_better ? "higher" : "lower";
  const details = [open ? `${familyText(board.family)}.` : found(size, board), `Scores are ${scoreLabel(answer)}; ${up} is better.`];
  return { ...said, headline: `${of}${said.headline}`, details };
}

const PLAIN = { mean_difference: "means", sum_difference: "totals" };
const scoreLabel = ({ statistic, metric }) => (metric ? measured({ metric, name: statistic }) : PLAIN[statistic] ?? measured({ name: statistic }));
