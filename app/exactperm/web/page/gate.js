// The result of a gate: pass, fail or inconclusive, with the reason.
import { AGAIN, eCell, isSequential, lookRows } from "./looks.js";
import { number, percent, probability, shortProbability, signed } from "./numbers.js";
import { card, keyList, movedCard, notesCard, numbersCard, slicesCard, table, verdictCard, warnings } from "./result.js";
import { interval, isControlled } from "./verdict.js";
import { prose } from "./prose.js";
import { measured, methodTitle } from "./words.js";

const TITLES = { pass: "Pass", fail: "Fail", inconclusive: "Inconclusive", continue: "Continue" };
const TONES = { pass: "yes", fail: "no", inconclusive: "", continue: "" };
const POLICIES = { no_regression: "no regression", non_inferior: "not inferior", improve: "improvement", equivalent: "equivalence",
  at_least: "at least a threshold", not_below: "not below a threshold" };

export function gateCards(answer, names) {
  const several = answer.metrics.length > 1;
  const title = TITLES[answer.verdict];
  const inconclusive = `This gate counts an inconclusive result as a ${answer.passed ? "pass" : "failure"}.`;
  const details = [several ? "" : prose(answer.metrics[0].reason, names), answer.verdict === "inconclusive" ? inconclusive : "", answer.verdict === "continue" ? AGAIN : ""].filter(Boolean);
  const top = verdictCard(
    {
      tone: TONES[answer.verdict], badge: several ? `${title} (${answer.metrics.length} metrics)` : title,
      headline: several ? prose(answer.reason, null, answer.metrics.map(({ name }) => name)) : headline(answer, names), details,
    },
    several ? null : key(answer.metrics[0], names),
  );
  const rest = answer.metrics.flatMap((metric) => [decisionCard(metric, several), warnings(metric.test.warnings, names), slicesCard(metric.slices, metric.alpha),
    numbersCard(metric.test, names, titleOf(metric)), movedCard(metric.test.moved, names), notesCard(metric.test, names)]);
  return [top, ...rest].filter(Boolean);
}

const ROLES = ["candidate", "baseline"];
const capital = (sentence) => (sentence.startsWith("the ") ? `T${sentence.slice(1)}` : sentence);

/** The verdict on one metric in a sentence; the reason with the numbers is below. */
function headline({ verdict, policy, margin, threshold, higher_is_better: up, metrics }, names) {
  const label = measured(metrics[0].test.statistic, names.statistic);
  const of = threshold === null ? names.v : `the threshold ${number(threshold)}`;
  const [u, v] = [names.u, of].map((name, role) => (name === ROLES[role] ? `the ${name}` : name));
  const by = margin > 0 ? ` by more than ${number(margin)}` : "";
  const worse = `worse than ${v}${by}`;
  const better = ` (${label}, ${up ? "higher" : "lower"} is better)`;
  const end = policy === "improve" ? `better than ${v}${by}` : worse;
  if (verdict === "continue") return `It is not decided yet whether ${u} is ${end}${better}.`;
  const headlines = {
    no_regression: { pass: `${u} is not shown to be ${worse}`, fail: `${u} is shown to be ${worse}` },
    non_inferior: { pass: `${u} is shown not to be ${worse}`, fail: `It is not shown that ${u} is not ${worse}` },
    improve: { pass: `${u} is shown to be better than ${v}${by}`, fail: `${u} is not shown to be better than ${v}${by}` },
    at_least: { pass: `${u} is shown to be better than ${v}`, fail: `${u} is not shown to be better than ${v}` },
    not_below: { pass: `${u} is not shown to be ${worse}`, fail: `${u} is shown to be ${worse}` },
    equivalent: {
      pass: `${u} is shown to differ from ${v} by less than ${number(margin)}`,
      fail: `${u} is shown to differ from ${v} by ${number(margin)} or more`,
      inconclusive: `It is undecided whether ${u} differs from ${v} by ${number(margin)} or more`,
    },
  }[policy]?.[verdict];
  return `${capital(headlines ?? "") || `It is undecided whether ${u} is ${worse}`}${better}.`;
}

/** Explain that, with a margin, the picture shows the test of no difference instead of the gate's test. */
export function pictureCaption({ metrics }) {
  const why = metrics.some((metric) => metric.margin > 0) ? "The gate tests against a margin, so its p-value differs."
    : metrics.some(isSequential) ? "The gate decides by an e-value, which allows repeated looks." : "";
  return why && `The differences that chance alone gives if the systems do not differ at all. ${why}`;
}

const titleOf = (metric) => (metric.margin > 0 ? "The test of no difference, without the margin" : isSequential(metric) ? "The test of these items alone" : "Numbers");

function key(metric, names) {
  const { decision, test, alpha } = metric;
  const shown = interval(test.confidence_interval, 4);
  const p = shortProbability(decision.p_value_adjusted, decision.log10_p_value_adjusted, alpha);
  const cells = [
    isSequential(metric) ? eCell(metric) : ["p-value of the gate", p, kind({ decision, test })],
    [`Difference, ${names.u} − ${names.v}`, signed(test.statistic.observed), measured(test.statistic, names.statistic)],
  ];
  if (shown) cells.push([`${percent(test.confidence_interval.level)} interval`, shown.text, ""]);
  return keyList(cells);
}

const KINDS = { certified: "bounded", confidence: "sampled", asymptotic: "approximate" };

/** The certainty of the p-value behind a verdict; with a control variate the decision is that of the test. */
function kind({ decision, test }) {
  if (decision.exact) return "exact";
  const known = KINDS[decision.p_value_bounds_kind];
  return known === "sampled" && isControlled(test) ? "sampled, with a control variate" : known;
}

function decisionCard(metric, several) {
  const { decision } = metric;
  const how = `${kind(metric)}, ${methodTitle(decision.procedure)}, against α = ${number(metric.alpha)}`;
  const adjusted = decision.p_value_adjusted !== decision.p_value;
  return card(several ? `${metric.name}: ${TITLES[metric.verdict]}` : "The gate", "", table([
    ["Policy", POLICIES[metric.policy] ?? metric.policy, prose(metric.hypothesis, null, [metric.test.statistic.metric])],
    several && ["Why", prose(metric.reason)],
    [...(metric.threshold === null ? ["Margin", number(metric.margin)] : ["Threshold", number(metric.threshold)]), metric.higher_is_better ? "higher is better" : "lower is better"],
    ...lookRows(metric),
    ["p-value", probability(decision.p_value, decision.log10_p_value), how],
    adjusted && ["adjusted by Holm", probability(decision.p_value_adjusted, decision.log10_p_value_adjusted)],
  ]));
}
