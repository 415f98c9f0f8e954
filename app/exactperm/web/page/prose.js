// Rewrite sentences of the service for the page: labels of fields, names of systems, formatted numbers.
import { byId, labelOf } from "./dom.js";
import { power } from "./numbers.js";
import { statisticTitle } from "./words.js";

const SHORT = 40; // characters of a name within a sentence
const QUOTED = String.raw`"(?:[^"\\]|\\.)*"`;
// Quoted text is the caller's, and is a value only after an option.
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
const PASTED = "pasted"; // prefix of the file names of pasted text
const SIGNS = { "<=": "≤", ">=": "≥" };

const bare = (text) => text.replace(/^(["`])(.*)\1$/, "$2");
const short = (name) => (name.length > SHORT ? `${name.slice(0, SHORT - 1)}…` : name);

/** `“Metric”`: an option by the label of its field; null if the page has no such field. */
function labelled(option) {
  const label = labelOf(byId(`f-${option}`));
  return label ? `“${label}”` : null;
}

/** A value by its title in the list of its field; quoted text keeps its quotes. */
function titled(option, value) {
  const choice = [...(byId(`f-${option}`).options ?? [])].find((one) => one.value === bare(value));
  return choice && choice.textContent ? `“${choice.textContent}”` : value;
}

function optionText(option, value, whole) {
  const label = labelled(option);
  if (!label) return whole;
  return value === "" ? label : `${label}: ${titled(option, value)}`;
}

/** A file by its name; pasted text has none. */
function fileText({ of, file }, roles, first) {
  if (!file.startsWith(PASTED)) return file;
  return roles[of] ?? (first ? "The pasted text" : "the pasted text");
}

/** The pattern of the parts to rewrite; no part may begin within one of the caller's `kept` names. */
function partsOf(kept) {
  const names = kept.filter(Boolean).map((name) => name.replace(/[.*+?^${}()|[\]\\/-]/g, "\\$&"));
  return names.length ? new RegExp(`(?<!\\w)(?:${names.join("|")})(?!\\w)|${PARTS.source}`, "g") : PARTS;
}

/** Rewrite a sentence; `names` replace U and V; `kept` names stay unchanged. */
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
