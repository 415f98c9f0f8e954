// Formats, statistics and options of this server, from v1/meta.
import { byId, choose, element, field } from "./dom.js";
import { SYSTEM } from "./roles.js";
import * as board from "./board_options.js";
import { rename } from "./names.js";
import { ENGINE_OPTIONS, boardRoleTitle, learn, readerField, roleTitle as testRoleTitle, statisticTitle } from "./words.js";

const AUTO_HINT = "Guessed from the first bytes and the roles of the files; the result names the format.";
const USUAL_HINT = "The mean of scores, F1 of counts or entities, BLEU of translations …";
const SUBMITS = { test: "Compare", gate: "Decide", board: "Rank systems", plan: "Plan" };
const EMPTY = { plan: "No plan yet" };
const OF_TWO = /_[uv]$|^(slices|label_column|covariates|correction)$/; // options of the readers for two systems
const FLOORS = ["at_least", "not_below"]; // policies of one system against a threshold
let meta = null;

export const limits = () => meta?.limits ?? {};
export const mode = () => document.querySelector('input[name="mode"]:checked').value;
const isBoard = () => mode() === "board";
export const design = () => document.querySelector('input[name="design"]:checked').value;
/** The values of `data-mode` whose elements are shown. */
const shown = () => [mode(), { plan: design, gate: rule }[mode()]?.()];
const rule = () => (FLOORS.includes(document.querySelector('input[name="policy"]:checked').value) ? "floor" : "versus");
const format = () => meta.formats.known.find((known) => known.name === byId("f-format").value) ?? null;

/** The roles of the chosen format, or of all formats if it will be guessed. */
export function roles() {
  const all = format()?.files ?? meta.formats.files;
  return isBoard() ? ["file", SYSTEM, ...all.filter((role) => !["u", "v", "file"].includes(role))] : all;
}

export const roleTitle = (role) => (isBoard() ? boardRoleTitle(role) : testRoleTitle(role));

/** The representations of an answer. */
export const representations = (asked) => meta.representations.filter((one) => one[{ test: "of_test", gate: "of_gate", board: "of_compare", plan: "of_power" }[asked]]);

/** The number of seconds for which this server stores an answer; null if it does not. */
export const retention = () => (meta.jobs?.enabled ? meta.jobs.limits.retention_s : null);

/** The pictures and the tables of a leaderboard. */
export const comparison = () => meta.comparison;

export function start(described, changed) {
  meta = described;
  learn(described);
  byId("version").textContent = described.versions.service;
  if (retention() !== null) byId("promise").textContent = "Computed on this server; nothing is stored, unless you keep a report.";
  byId("f-format").append(...described.formats.known.map(({ name, summary }) =>
    element("option", { value: name }, `${name} – ${summary.split(/[;:]/)[0]}`)));
  const engine = { ...ENGINE_OPTIONS };
  engine.test = { ...engine.test, choices: described.tests.map((name) => [name, name]) };
  engine.method = { ...engine.method, choices: described.methods.map((name) => [name, name.replaceAll("_", " ")]) };
  byId("engine-options").append(...Object.entries(engine).map(([name, words]) => field(name, words)));
  // Leaderboards have neither other null models nor mid-p-values.
  for (const name of ["test", "significance"]) byId(`f-${name}`).parentElement.dataset.mode = "test gate";
  board.start(described.comparison);
  byId("f-format").addEventListener("change", () => {
    formatChosen();
    changed();
  });
  byId("f-statistic").addEventListener("change", statisticChosen);
  for (const id of ["f-solve", "f-looks"]) byId(id).addEventListener("change", modeChosen);
  for (const input of document.querySelectorAll('input[name="mode"], input[name="design"], input[name="policy"]')) input.addEventListener("change", () => {
    modeChosen();
    changed();
  });
  modeChosen();
}

function modeChosen() {
  const [tokens, solve, looks] = [shown(), byId("f-solve").value, byId("f-looks").value];
  for (const part of document.querySelectorAll("[data-mode], [data-solve]")) {
    const { mode: modes = "plan", solve: asked = solve, looks: looked = looks } = part.dataset;
    part.hidden = !modes.split(" ").some((one) => tokens.includes(one)) || !asked.split(" ").includes(solve) || looked !== looks;
  }
  byId("empty").querySelector("h2").textContent = EMPTY[mode()] ?? "No comparison yet";
  byId("submit").textContent = SUBMITS[mode()];
  board.changed(isBoard());
  rename();
  formatChosen();
}

function formatChosen() {
  const known = format();
  byId("h-format").textContent = known?.summary ?? AUTO_HINT;
  const kept = byId("f-statistic").value;
  choose(byId("f-statistic"), [element("option", { value: "" }, "Default for the data"), ...groups(known)], kept);
  const written = values(byId("reader-options"));
  const there = readerOptions(known);
  byId("reader-options").replaceChildren(...there.map(([name, words]) => field(name, words)));
  for (const [name, value] of written) if (there.some(([own]) => own === name)) keep(byId(`f-${name}`), value);
  statisticChosen();
}

/** The options of readers in this mode, with their texts. */
function readerOptions(known) {
  const usable = meta.formats.options.filter(({ name }) => !known || known.options.includes(name))
    .map((option) => [option.name, readerField(option)]);
  if (!isBoard()) return usable;
  const missing = ["on_missing", board.missingField(meta.comparison)];
  return [missing, ...usable.filter(([name]) => name !== missing[0] && !OF_TWO.test(name))];
}

function keep(control, value) {
  control.value = value;
  if (control.value !== value) control.value = control.dataset.default; // a choice of another mode
}

/** The statistics for a format, grouped by kind of data; one for several kinds is in each group. */
function groups(known) {
  const made = [];
  const own = known ? [known] : meta.formats.known.filter((candidate) => candidate.statistics.length);
  const { scores, counts, predictions } = meta.statistics;
  const all = [...scores, ...counts, ...predictions];
  for (const { name, statistics } of own) {
    const entries = statistics.map((statistic) => [...meta.metrics, ...all].find((entry) => entry.name === statistic));
    if (entries.length) made.push([`Of ${name} files`, entries.map((entry) => ({ ...entry, kind: "" }))]);
  }
  const read = all.filter(({ kind }) => !known || known.kinds.includes(kind));
  const general = meta.data.map(({ name, title }) => [title, read.filter(({ data }) => data.includes(name))])
    .filter(([, entries]) => entries.length);
  const asked = new Map(meta.questions.map(({ name, title }) => [name, title]));
  const option = ({ name, kind, hint, question }) => element("option", {
    value: name, "data-kind": kind, "data-hint": [asked.get(question), hint].filter(Boolean).join(" "),
  }, statisticTitle(name));
  return [...general, ...made].map(([label, entries]) => element("optgroup", { label }, entries.map(option)));
}

function statisticChosen() {
  const option = byId("f-statistic").selectedOptions[0];
  const { kind = "", hint = "" } = option.dataset;
  byId("h-statistic").textContent = option.value ? hint : USUAL_HINT;
  const entries = Object.values(meta.statistics).flat();
  const parameters = entries.find((entry) => entry.name === option.value && entry.kind === kind)?.parameters ?? [];
  const taken = new Set([...byId("reader-options").querySelectorAll("[name]")].map((control) => control.name));
  byId("parameters").replaceChildren(...parameters.filter(({ name }) => !taken.has(name)).map(parameter));
}

function parameter({ name, meaning, choices, default: fallback }) {
  const label = `${name[0].toUpperCase()}${name.slice(1).replaceAll("_", " ")}`;
  const listed = fallback === "false" ? ["false", "true"] : choices;
  return field(name, {
    label, hint: `${meaning[0].toUpperCase()}${meaning.slice(1)}.`, fallback: fallback ?? "",
    choices: listed.length ? listed.map((choice) => [choice, choice]) : null,
  });
}

function values(root) {
  return [...root.querySelectorAll("[name]")].filter((control) => control.value !== control.dataset.default)
    .map((control) => [control.name, control.value]);
}

/** Name and value of every field that is not at its default. */
export function fields() {
  const changed = [];
  for (const control of byId("form").elements) {
    const { name, type } = control;
    if (!name || ["mode", "source", "layout", "design"].includes(name) || control.closest("[hidden]")) continue;
    if (type === "radio") {
      if (control.checked && !("default" in control.dataset)) changed.push([name, control.value]);
    } else {
      const value = control.value.trim();
      if (value && value !== control.dataset.default) changed.push([name, value]);
    }
  }
  // A test that exchanges runs has no interval.
  const runs = changed.some(([name]) => name === "exchange");
  return runs ? changed.filter(([name]) => name !== "confidence_level") : changed;
}

/** Set the fields of an example, and all others to their defaults. */
export function fill(given) {
  for (const control of byId("form").elements) {
    if (!("default" in control.dataset) || control.type === "radio") continue;
    control.value = control.name === "confidence_level" ? "0.95" : control.dataset.default;
  }
  formatChosen();
  for (const [name, value] of Object.entries(given)) byId(`f-${name}`).value = value;
  modeChosen();
}
