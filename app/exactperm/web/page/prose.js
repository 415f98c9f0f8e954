// Sentences of the service in the page's words: its own fields, the systems' names, numbers as everywhere else.
import { byId, labelOf } from "./dom.js";
import { power } from "./numbers.js";
import { statisticTitle } from "./words.js";

const SHORT = 40; // characters of a name within a sentence
const QUOTED = String.raw`"(?:[^"\\]|\\.)*"`;
// What is in quotes is the caller's own, and only a value where it follows an option.
const PARTS = new RegExp([
  "`\"?(?<marked>[a-z]\\w*)\"?(?:(?:=|: )(?<sent>[^`]*))?`",
  String.raw`(?<option>\b[a-z]\w*)=(?<value>${QUOTED}|[\w-]+(?:\.\w+)*|)(?!=)`,
  QUOTED,
  String.raw`\b(?<mantissa>\d+(?:\.\d+)?)e(?<exponent>[-+]?\d+)\b`,
  String.raw`\bline/(?<line>\d+)(?:/(?<column>[\w-]+))?`,
  String.raw`(?<![\w-])(?<of>file|u|v|gold|ref|qrels) \((?<file>[^()"]+)\)(?=[:,.]| (?:has|have)\b)`,
  String.raw`(?<sign><=|>=)`,
  String.raw`(?<alpha>\balpha\b)`,
  String.raw`(?<known>\b[a-z]+\d*(?:_[a-z]+)+\b)`,
  String.raw`(?<role>(?<![\w,.=-])[uv](?=[\s:.;)'’]|$)(?!\.\w))`,
].join("|"), "g");
const PASTED = "pasted"; // how names of files begin that are none
const SIGNS = { "<=": "≤", ">=": "≥" };

const bare = (text) => text.replace(/^(["`])(.*)\1$/, "$2");
const short = (name) => (name.length > SHORT ? `${name.slice(0, SHORT - 1)}…` : name);

/** `“Metric”`: an option by the label of its field; null where the page has none. */
function labelled(option) {
  const label = labelOf(byId(`f-${option}`));
  return label ? `“${label}”` : null;
}

/** A value as its field's list has it; text in quotes stays in them. */
function titled(option, value) {
  const choice = [...(byId(`f-${option}`).options ?? [])].find((one) => one.value === bare(value));
  return choice && choice.textContent ? `“${choice.textContent}”` : value;
}

function optionText(option, value, whole) {
  const label = labelled(option);
  if (!label) return whole;
  return value === "" ? label : `${label}: ${titled(option, value)}`;
}

/** A file by its own name; what was pasted has none. */
function fileText({ of, file }, roles, first) {
  if (!file.startsWith(PASTED)) return file;
  return roles[of] ?? (first ? "What was pasted" : "what was pasted");
}

/** The parts to word anew; the `kept` names of the caller are parts that no other can begin within. */
function partsOf(kept) {
  const names = kept.filter(Boolean).map((name) => name.replace(/[.*+?^${}()|[\]\\/-]/g, "\\$&"));
  return names.length ? new RegExp(`(?<!\\w)(?:${names.join("|")})(?!\\w)|${PARTS.source}`, "g") : PARTS;
}

/** A sentence; `names` are those of the systems U and V, if they stand for them here; `kept` stay as they are. */
export function prose(text, names = null, kept = []) {
  const roles = names && !/^u is .* and v is /.test(text) ? { u: short(names.u), v: short(names.v) } : {};
  return text.replace(partsOf(kept), (whole, ...rest) => {
    const found = rest.at(-1);
    if (found.marked) return optionText(found.marked, found.sent ?? "", bare(whole));
    if (found.option) return optionText(found.option, found.value, whole);
    if (found.mantissa) return `${found.mantissa} × ${power(Number(found.exponent))}`;
    if (found.line) return `line ${found.line}${found.column ? `, ${found.column}` : ""}`;
    if (found.of) return fileText(found, roles, rest.at(-3) === 0);
    if (found.sign) return SIGNS[found.sign];
    if (found.alpha) return "α";
    if (found.known) return labelled(whole) ?? statisticTitle(whole);
    if (found.role) return roles[whole] ?? whole;
    return whole;
  });
}
