// Words for people, which the service has for its own names (v1/meta); a name without words is shown as it is.
const roles = new Map();
const words = new Map(); // statistics, and what files call their metrics
export const ENGINE_OPTIONS = {
  test: { label: "Null model", fallback: "permutation", hint: "Exchanging the systems keeps its level for few items; the bootstrap draws items." },
  method: { label: "Method", fallback: "auto", hint: "auto takes the cheapest exact one, and says which and why." },
  samples: { label: "Samples", hint: "Of the method monte_carlo.", fallback: "20000", numeric: true },
  seed: { label: "Seed", fallback: "0", numeric: true },
  precision: { label: "Relative width of bounds", hint: "Of the method bounds.", fallback: "0.001", numeric: true },
  significance: { label: "What decides", fallback: "p", hint: "mid_p counts half of the ties with the observed value; it is less careful.", choices: [["p", "p-value"], ["mid_p", "mid-p-value"]] },
  timeout_s: { label: "Deadline in seconds", numeric: true },
};

export function learn({ statistics, metrics, formats }) {
  for (const { name, title } of formats.roles) roles.set(name, title);
  for (const { name, title } of [...metrics, ...Object.values(statistics).flat()]) words.set(name, title);
}

export const roleTitle = (role) => roles.get(role) ?? role;
// What files are of a leaderboard, where it is not what they are of a test of two.
const OF_A_BOARD = { file: "All systems in one file", system: "One system" };
export const boardRoleTitle = (role) => OF_A_BOARD[role] ?? roleTitle(role);
// Methods and procedures whose names do not say it.
const METHODS = { tango_score: "Tango’s score", e_value: "e-value", fft: "FFT" };
export const methodTitle = (name) => METHODS[name] ?? name.replaceAll("_", " ");
export const statisticTitle = (name) => words.get(name) ?? name;

/** What a test is of: the metric by its name in the files, else the statistic as it was chosen, else by its name. */
export const measured = ({ metric, name }, chosen) => statisticTitle(metric ?? chosen ?? name);

/** The control of an option of the readers. */
export function readerField({ name, title, help, choices, default: fallback, type }) {
  const open = choices.length && !fallback ? [["", "Automatic"]] : [];
  const listed = choices.length ? [...open, ...choices.map((choice) => [choice.value, choice.title])] : null;
  const hint = choices.length || help === `${title}.` ? "" : help;
  return { name, label: title, hint, choices: listed, fallback, numeric: type === "integer" };
}
