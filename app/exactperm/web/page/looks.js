// A gate that is asked again as items come in: its fields become the option `sequential`, and its e-value has numbers of its own.
import { number, probability, valueOf } from "./numbers.js";

const OWN = ["looks", "planned_n", "look_scale"];
const MEMBERS = { looks: "mode", planned_n: "planned_n", look_scale: "scale" };

/** The fields as the service has them: one `sequential` in the place of the page's own. */
export function withLooks(fields) {
  const given = fields.filter(([name]) => OWN.includes(name));
  if (!given.length) return fields;
  const sequential = Object.fromEntries(given.map(([name, text]) => [MEMBERS[name], valueOf(text)]));
  return [...fields.filter(([name]) => !OWN.includes(name)), ["sequential", JSON.stringify(sequential)]];
}

/** The field that a pointer below /options/sequential means. */
export const fieldOf = (member) => `f-${OWN.find((name) => MEMBERS[name] === member) ?? "looks"}`;

export const isSequential = ({ e_value: e, decision }) => e !== null || decision?.procedure === "e_value";

/** The e-value by its logarithm where a double ends. */
const eText = ({ e_value: e, log10_e_value: log10 }, digits) => (
  e !== null && e > 0 && e < 1e300 ? number(e, digits) : probability(0, log10));

/** The cell of the few numbers that most people look for. */
export const eCell = (metric) => ["e-value", eText(metric, 4), `${number(1 / metric.alpha, 4)} decides`];

/** Rows of the table of the gate. */
export function lookRows(metric) {
  if (!isSequential(metric)) return [];
  const settled = { true: "settled: the items that are still to come cannot change it", false: "open: the items that are still to come can change it" };
  return [
    ["e-value", eText(metric, 6), `evidence that holds however often one looks; at ${number(1 / metric.alpha, 4)} or more it decides`],
    metric.curtailed !== null && ["The planned size", settled[metric.curtailed]],
  ].filter(Boolean);
}

export const AGAIN = "Nothing is decided yet: send all items again, with the new ones, whenever you like.";
