// The options of a leaderboard: fields with the choices of v1/meta and titles for them.
import { byId, field } from "./dom.js";

const DESIGNS = { all_pairs: "Every pair of systems", baseline: "Each system with a baseline" };
const ADJUSTMENTS = {
  holm: ["Holm", "Keeps the probability of any false finding below α, under any dependence between the tests."],
  bonferroni: ["Bonferroni", "The same guarantee as Holm, with p-values that are never smaller."],
  hochberg: ["Hochberg", "Never larger than Holm’s, but needs positive dependence, which is not guaranteed for all pairs."],
  bh: ["Benjamini–Hochberg", "Keeps the share of false findings below α; needs positive dependence, which is not guaranteed for all pairs."],
  by: ["Benjamini–Yekutieli", "Keeps the share of false findings below α, under any dependence between the tests."],
  holm_discrete: ["Holm for discrete tests", "Holm with the attainable p-values of each test: the same guarantee, and p-values that are never larger."],
  max_t: ["Westfall–Young max T", "Uses the dependence between pairs; needs jointly symmetric differences."],
  none: ["None", "Unadjusted p-values: among many pairs, some look different by chance."],
};
const LISTED = { auto: "As many as fit", all: "All", significant: "Significant ones only", none: "None" };
const MISSING = {
  error: "Refuse", pairwise: "Compare each pair on the items that both have", complete: "Compare only the items that all systems have",
};
const FAMILIES = { dataset: "Each data set by itself", all: "All data sets together" };
const AGGREGATES = { macro: "Each data set weighs the same", micro: "Each item weighs the same", null: "No overall board" };
const COMBINES = { fisher: "Fisher’s, from one-sided p-values", stouffer: "Stouffer’s, from one-sided p-values" };

const NAMES = "names";
const SYSTEMS = "systems";
// Options that tests of two systems do not have.
export const OF_BOARDS = ["compare", "baseline", "adjust", "family", "aggregate", "combine", "pairs", "higher_is_better", "frontier", NAMES, SYSTEMS];

export const adjustmentTitle = (name) => ADJUSTMENTS[name]?.[0] ?? name;

/** The names of several files, in order. */
export const namesOf = (text) => (text.startsWith("[") ? JSON.parse(text) : text.split(",").map((name) => name.trim()));

const worded = (names, words) => names.map((name) => [name, words[name] ?? name]);

/** The reader's option `on_missing` has other choices for many systems. */
export const missingField = ({ on_missing: names }) => ({
  label: "Items that only some systems have", choices: worded(names, MISSING), fallback: "error",
});

export function start({ designs, adjustments, families, aggregates, combines, listed_pairs: listed }) {
  const shown = designs.filter((name) => name in DESIGNS);
  byId("board-options").append(
    field("compare", { label: "Compare", choices: worded(shown, DESIGNS), fallback: "all_pairs" }),
    field("baseline", { label: "Name of the baseline", hint: "The system that all others are compared to." }),
    field("adjust", {
      label: "Adjustment for many tests", choices: adjustments.map((name) => [name, adjustmentTitle(name)]), fallback: "holm",
    }),
  );
  byId("board-more").append(
    field("pairs", { label: "Pairs in the answer", choices: worded(listed, LISTED), fallback: "auto",
      hint: "With hundreds of systems, the answer is much shorter without the pairs that do not differ." }),
    field(SYSTEMS, { label: "Which systems", optional: "of one file", hint: "Names separated by commas; all by default." }),
    field(NAMES, { label: "Names of the systems", optional: "of several files", hint: "In the order of the files, separated by commas; by default the names of the files." }),
    field("frontier", { label: "Column of costs", hint: "Adds the frontier of cost and quality: which systems another one beats in both." }),
    field("family", { label: "Several data sets: adjusted", choices: worded(families, FAMILIES), fallback: "dataset" }),
    field("aggregate", { label: "Several data sets: overall board", choices: worded([...aggregates, "null"], AGGREGATES), fallback: "macro" }),
    field("combine", { label: "Several data sets: overall p-values", choices: [["", "From all items, with weights"], ...worded(combines, COMBINES)] }),
  );
  byId("f-compare").addEventListener("change", changed);
  byId("f-adjust").addEventListener("change", changed);
}

/** Show the baseline, the direction and intervals only for comparisons with a baseline. */
export function changed(board) {
  const pairs = board !== false && byId("f-compare").value !== "baseline";
  byId("f-baseline").parentElement.hidden = pairs;
  for (const id of ["alternative", "confidence"]) if (board !== false) byId(id).hidden = pairs;
  byId("h-adjust").textContent = ADJUSTMENTS[byId("f-adjust").value]?.[1] ?? "";
}
