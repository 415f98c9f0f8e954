// A gate with repeated looks: its fields become the option `sequential`, and it reports an e-value.
import { number, probability, valueOf } from "./numbers.js";

const OWN = ["looks", "planned_n", "look_scale"];
const MEMBERS = { looks: "mode", planned_n: "planned_n", look_scale: "scale" };

/** The fields of the request: `sequential` replaces the page's fields. */
export function withLooks(fields) {
  const given = fields.filter(([name]) => OWN.includes(name));
  if (!given.length) return fields;
  const sequential = Object.fromEntries(given.map(([name, text]) => [MEMBERS[name], valueOf(text)]));
  return [...fields.filter(([name]) => !OWN.includes(name)), ["sequential", JSON.stringify(sequential)]];
}

/** The field of a pointer below /options/sequential. */
export const fieldOf = (member) => `f-${OWN.find((name) => MEMBERS[name] === member) ?? "looks"}`;

export const isSequential = ({ e_value: e, decision }) => e !== null || decision?.procedure === "e_value";

/** The e-value, by its logarithm beyond the range of doubles. */
const eText = ({ e_value: e, log10_e_value: log10 }, digits) => (
  e !== null && e > 0 && e < 1e300 ? number(e, digits) : probability(0, log10));

/** The cell of the e-value among the most important numbers. */
export const eCell = (metric) => ["e-value", eText(metric, 4), `${number(1 / metric.alpha, 4)} decides`];

/** Rows of the table of the gate. */
export function lookRows(metric) {
  if (!isSequential(metric)) return [];
  const settled = { true: "settled: the remaining items cannot change it", false: "open: the remaining items can change it" };
  return [
    ["e-value", eText(metric, 6), `evidence that is valid at every look; ${number(1 / metric.alpha, 4)} or more decides`],
    metric.curtailed !== null && ["The planned size", settled[metric.curtailed]],
  ].filter(Boolean);
}

export const AGAIN = "Not decided yet: send all items again, with new ones, at any time.";
