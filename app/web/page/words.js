// Plain language for names of the service. What is not here is shown as the service says it (v1/meta).
const STATISTICS = {
  mean_difference: ["Mean score", "Compares the averages. For right or wrong as 1 and 0 this is accuracy, and McNemar’s exact test."],
  sum_difference: ["Total", "Compares the totals; the same p-value as the mean."],
  sign: ["Wins and losses", "Counts only on how many items each system is ahead: the sign test."],
  signed_rank: ["Signed ranks", "Wilcoxon’s test: trusts the order of the differences, not their size."],
  f1: ["F1", "Harmonic mean of precision and recall, from the sums over all items."],
  fbeta: ["F-beta", "F1 with recall weighing beta times as much as precision."],
  precision: ["Precision", "How much of what was said is right."],
  recall: ["Recall", "How much of what is right was said."],
  accuracy: ["Accuracy", "How much is right, over all units."],
  jaccard: ["Jaccard index", "Overlap over union, from the sums over all items."],
  ratio: ["Ratio of sums", "One count over another, summed first: word error rate, for example. Name the two columns."],
  expression: ["Formula", "Your own formula of the sums of the counts."],
  exact_match: ["Exact match", "Items that are right as a whole."],
  token_accuracy: ["Token accuracy", "How many tokens are right; the items swap as a whole."],
  mcc: ["Matthews’ correlation", "A score of classes that is fair to rare ones."],
  span_f1: ["Entity F1", "Entities that are wholly right: F1."],
  span_precision: ["Entity precision", "Of the entities that were said, how many are wholly right."],
  span_recall: ["Entity recall", "Of the entities there are, how many were wholly found."],
  bleu: ["BLEU", "Corpus BLEU, not the average of sentences."],
  chrf: ["chrF", "Corpus chrF: character n-grams."],
  ter: ["TER", "Translation edit rate; less is better."],
  wer: ["Word error rate", "Errors over reference words, summed first; less is better."],
  utterance_accuracy: ["Utterances without error", "How many utterances are wholly right."],
  upos: ["UPOS accuracy", "Universal part-of-speech tags that are right."],
  xpos: ["XPOS accuracy", "Language-specific tags that are right."],
  lemma: ["Lemma accuracy", "Lemmas that are right."],
  uas: ["UAS", "Heads that are right."],
  las: ["LAS", "Heads and relations that are right, without subtypes."],
  las_full: ["LAS with subtypes", "Heads and whole relations that are right."],
};
// What files call their metrics; what is not here is shown under its own name.
const METRICS = { acc: "Accuracy", correct: "Accuracy", is_correct: "Accuracy" };
const KINDS = {
  csv: ["scores", "counts"], tsv: ["scores", "counts"], mqm: ["scores"], jsonl: ["scores"], "lm-eval": ["scores"],
  inspect: ["scores"], "every-eval-ever": ["scores"], promptfoo: ["scores"], evalsig: ["scores"], trec: ["scores"],
  conll: ["predictions"], conllu: [], asr: [], mt: ["segments"], "mt-stats": [],
};
export const KIND_TITLES = {
  scores: "Scores, one number per item", counts: "Counts per item", predictions: "Labels and tags, with gold",
  segments: "Translations, with references",
};
const YES_NO = [["false", "no"], ["true", "yes"]];
export const READER_OPTIONS = {
  clusters: { label: "Clusters", hint: "The column, field or metadata key (document, call) whose items belong together; they swap together." },
  on_missing: { label: "Items only one system has", choices: [["error", "Refuse, and name them"], ["drop", "Leave them out, and count them"]], fallback: "error" },
  metric: { label: "Metric", hint: "Which of an item’s numbers to compare." },
  measure: { label: "Measure", hint: "Of trec_eval: map, P_10, ndcg …" },
  filter: { label: "Filter", hint: "Of lm-evaluation-harness: strict-match, flexible-extract …" },
  filter_u: { label: "Filter of U" },
  filter_v: { label: "Filter of V" },
  task: { label: "Task" },
  scorer: { label: "Scorer" },
  system_u: { label: "Which system is U, the candidate", hint: "Its name or column, when a file has several." },
  system_v: { label: "Which system is V, the baseline" },
  id_column: { label: "Column of ids" },
  score_column: { label: "Column of scores" },
  system_column: { label: "Column of systems" },
  delimiter: { label: "Delimiter", choices: [["", "Found out"], ["comma", "Comma"], ["tab", "Tab"], ["pipe", "Pipe"], ["semicolon", "Semicolon"], ["blank", "Blank"]] },
  decimals: { label: "Round scores to decimals", hint: "0 to 12; empty leaves them as written.", numeric: true },
  items: { label: "What swaps", choices: [["sentence", "Sentences"], ["word", "Words"]], fallback: "sentence" },
  ner_mode: { label: "Reading of BIO tags", choices: [["lenient", "Lenient, as conlleval"], ["strict", "Strict, as IOB2"]], fallback: "lenient" },
  scheme: { label: "Scheme", choices: [["BIO", "BIO"], ["IOB2", "IOB2"]], fallback: "BIO" },
  token_column: { label: "Column of tokens", hint: "Counted from one.", numeric: true },
  tag_column: { label: "Column of tags", hint: "Counted from one.", numeric: true },
  reduce_epochs: { label: "Several epochs", choices: [["mean", "Their mean"], ["max", "Their best"], ["none", "Items of their own, clustered by sample"]], fallback: "mean" },
  tag_column_gold: { label: "Column of gold’s tags", hint: "Where it is another.", numeric: true },
  tag_column_u: { label: "Column of U’s tags", numeric: true },
  tag_column_v: { label: "Column of V’s tags", numeric: true },
  allow_incomplete: { label: "Take logs of runs that did not finish", choices: YES_NO, fallback: "false" },
};
export const ENGINE_OPTIONS = {
  test: { label: "Null model", fallback: "permutation", hint: "Exchanging the systems keeps its level for few items; the bootstrap draws items." },
  method: { label: "Method", fallback: "auto", hint: "auto takes the cheapest exact one, and says which and why." },
  samples: { label: "Samples", hint: "Of the method monte_carlo.", fallback: "20000", numeric: true },
  seed: { label: "Seed", fallback: "0", numeric: true },
  precision: { label: "Relative width of bounds", hint: "Of the method bounds.", fallback: "0.001", numeric: true },
  timeout_s: { label: "Deadline in seconds", numeric: true },
};
export const ROLES = {
  u: "U, the candidate", v: "V, the baseline", file: "Both systems in one file", gold: "Gold standard",
  ref: "References", ref2: "References 2", ref3: "References 3", ref4: "References 4", qrels: "Relevance judgements",
  documents: "Documents of the items",
};

/** A statistic's name for people; CoNLL-U's sentences share their column's. */
export function statisticLabel(name) {
  if (Object.hasOwn(STATISTICS, name)) return STATISTICS[name][0];
  const column = name.replace(/_sentence$/, "");
  return column !== name && Object.hasOwn(STATISTICS, column) ? `${STATISTICS[column][0]}, whole sentences` : name;
}

/** What a test is of: the metric by its name in the files, else the statistic as it was asked for, else by its name. */
export function measured({ metric, name }, asked) {
  if (!metric) return statisticLabel(asked ?? name);
  return Object.hasOwn(METRICS, metric) ? METRICS[metric] : statisticLabel(metric);
}

export function statisticHint(name, meaning = "") {
  if (Object.hasOwn(STATISTICS, name)) return STATISTICS[name][1];
  return name.endsWith("_sentence") ? "Counts sentences that are wholly right." : meaning;
}

/** Which kinds of data a format can hold; all of them for one that is not known here. */
export const kindsOf = (format) => (Object.hasOwn(KINDS, format) ? KINDS[format] : Object.keys(KIND_TITLES));
