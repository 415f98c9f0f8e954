// The result of a leaderboard in a sentence.
import { count, number, percent } from "./numbers.js";
import { familyText, significant } from "./relation.js";
import { measured } from "./words.js";

const NAMED = 4; // how many names a sentence can carry

function listed(names) {
  if (names.length > NAMED) return `${names.slice(0, NAMED).join(", ")} and ${count(names.length - NAMED)} more`;
  return names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}

const tests = (size, one, many) => `${count(size)} ${size === 1 ? one : many}`;

function ofAllPairs({ systems, groups, family }) {
  const best = groups.best_set;
  const sure = percent(Number((1 - family.alpha).toPrecision(12)));
  if (best.length === 0) return { tone: "", badge: "No best set", headline: "Which system is best cannot be said: the comparisons contradict each other." };
  if (best.length === 1) {
    return { tone: "yes", badge: "One best system", headline: `${best[0]} is the best of ${count(systems.length)} systems, with ${sure} confidence.` };
  }
  const badge = `${count(best.length)} may be the best`;
  if (best.length === systems.length) {
    return { tone: "", badge, headline: `Any of the ${count(systems.length)} systems may be the best: the data do not tell, with ${sure} confidence.` };
  }
  return { tone: "yes", badge, headline: `The best of ${count(systems.length)} systems is among ${listed(best)}, with ${sure} confidence.` };
}

function ofBaseline({ pairs, family }, baseline) {
  const counts = (relation) => pairs.filter((pair) => pair.relation === relation).length;
  const [better, worse] = [counts("better"), counts("worse")];
  const headline = `Of ${tests(family.size, "system", "systems")}, ${count(better)} ${better === 1 ? "is" : "are"} significantly better than ${baseline}, and ${count(worse)} significantly worse.`;
  return { tone: better ? "yes" : "", badge: better ? `${count(better)} better` : "None better", headline };
}

/** How many pairs differ, as far as the answer tells. */
function found({ systems, pairs, groups, family }, all) {
  const inGroups = groups && systems.reduce((sum, { better_than: better }) => sum + better, 0);
  const size = all ? systems.length * (systems.length - 1) / 2 : family.size;
  const different = groups ? inGroups : pairs.filter(significant).length;
  const open = pairs.filter(({ relation }) => relation === "undecided").length;
  const undecided = open ? ` ${tests(open, "pair is", "pairs are")} undecided.` : "";
  return `${count(different)} of ${tests(size, "pair differs", "pairs differ")} significantly (${familyText(family)}).${undecided}`;
}

/** {tone, badge, headline, details} of one board of an answer; `scope` names it where there are several. */
export function ranking(answer, board, { scope, dataset }) {
  const all = board.groups !== null;
  const of = { overall: "Overall: ", dataset: `${dataset}: ` }[scope] ?? "";
  const said = all ? ofAllPairs(board)
    : answer.compare === "baseline" ? ofBaseline(board, answer.baseline)
      : { tone: "", badge: "Chosen pairs", headline: `${count(board.pairs.filter(significant).length)} of ${tests(board.family.size, "pair differs", "pairs differ")} significantly.` };
  const up = answer.higher_is_better ? "higher" : "lower";
  const details = [found(board, all), `Scores are ${scoreLabel(answer)}; ${up} is better.`];
  return { ...said, headline: `${of}${said.headline}`, details };
}

const PLAIN = { mean_difference: "means", sum_difference: "totals" };
const scoreLabel = ({ statistic, metric }) => (metric ? measured({ metric, name: statistic }) : PLAIN[statistic] ?? measured({ name: statistic }));
