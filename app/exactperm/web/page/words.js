// Titles of the service's names, from v1/meta; a name without a title is shown unchanged.
const roles = new Map();
const words = new Map(); // statistics and metrics of files
export const ENGINE_OPTIONS = {
  test: { label: "Null model", fallback: "permutation", hint: "The permutation test keeps its level with few items; the bootstrap resamples items." },
  exchange: { label: "What is exchanged", hint: "Where items were run several times: items speak of new items, their runs of new runs of these items.", choices: [["", "Items"], ["runs", "Runs of each item"], ["both", "Both: the larger p-value"]] },
  method: { label: "Method", fallback: "auto", hint: "auto takes the cheapest exact method; the answer names it with the reason." },
  samples: { label: "Samples", hint: "For the method monte_carlo.", fallback: "20000", numeric: true },
  seed: { label: "Seed", fallback: "0", numeric: true },
  precision: { label: "Relative width of bounds", hint: "For the method bounds.", fallback: "0.001", numeric: true },
  significance: { label: "What decides", fallback: "p", hint: "mid_p counts half the probability of the observed value; it is less conservative.", choices: [["p", "p-value"], ["mid_p", "mid-p-value"]] },
  timeout_s: { label: "Deadline in seconds", numeric: true },
};

export function learn({ statistics, metrics, formats }) {
  for (const { name, title } of formats.roles) roles.set(name, title);
  for (const { name, title } of [...metrics, ...Object.values(statistics).flat()]) words.set(name, title);
}

export const roleTitle = (role) => roles.get(role) ?? role;
// Titles of the roles of a leaderboard that differ from those of a test.
const OF_A_BOARD = { file: "All systems in one file", system: "One system" };
export const boardRoleTitle = (role) => OF_A_BOARD[role] ?? roleTitle(role);
// Methods and procedures with special titles.
const METHODS = { tango_score: "Tango’s score", e_value: "e-value", fft: "FFT" };
export const methodTitle = (name) => METHODS[name] ?? name.replaceAll("_", " ");
export const statisticTitle = (name) => words.get(name) ?? name;

/** The title of what a test compares: the metric in the files, else the chosen statistic, else its name. */
export const measured = ({ metric, name }, chosen) => statisticTitle(metric ?? chosen ?? name);

/** The control of an option of the readers. */
export function readerField({ name, title, help, choices, default: fallback, type }) {
  const open = choices.length && !fallback ? [["", "Automatic"]] : [];
  const listed = choices.length ? [...open, ...choices.map((choice) => [choice.value, choice.title])] : null;
  const hint = choices.length || help === `${title}.` ? "" : help;
  return { name, label: title, hint, choices: listed, fallback, numeric: type === "integer" };
}
