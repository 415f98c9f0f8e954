// Assign roles to files without a chosen role.
export const SYSTEM = "system"; // the role of several files of a leaderboard
const OF_TWO = ["u", "v"];

/** Whether several files can share a role: systems of a leaderboard, or in a test of more than two files a file for each task. */
export const isShared = (role, rows) => role === SYSTEM || (OF_TWO.includes(role) && rows.length > 2);
const HINTS = [
  [/qrels/i, "qrels"], [/gold|truth|annotated|^labels?\.|^[a-z]{2,3}-[a-z]{2,3}\..*\.seg\.score/i, "gold"], [/(^|[._-])refs?([._-]|$)|reference/i, "ref"],
  [/document/i, "documents"],
  [/(^|[ ._-])(candidate|new|treatment|pr)([ ._-]|$)/i, "u"], [/(^|[ ._-])(baseline|base|old|control|main)([ ._-]|$)/i, "v"],
];

/** Assign a role to each row {file, role, chosen}: by name, else U and V in order, or one system each. */
export function assign(rows, allowed) {
  for (const row of rows) {
    if (!allowed.includes(row.role)) row.chosen = false;
    if (!row.chosen) row.role = "";
  }
  const taken = () => rows.map((row) => row.role);
  const free = rows.filter((row) => !row.chosen);
  if (rows.length > 1) {
    for (const row of free) {
      const hint = HINTS.find(([pattern, role]) => pattern.test(row.file.name) && allowed.includes(role));
      if (hint && (isShared(hint[1], rows) || !taken().includes(hint[1]))) row.role = hint[1];
    }
  }
  if (rows.length === 1 && free.length === 1 && allowed.includes("file")) {
    rows[0].role = "file";
    return;
  }
  const left = free.filter((candidate) => !candidate.role);
  if (allowed.includes(SYSTEM)) {
    for (const row of left) row.role = SYSTEM;
    return;
  }
  const order = ["u", "v", ...allowed.filter((role) => !["u", "v", "file"].includes(role))];
  for (const row of left) row.role = order.find((role) => allowed.includes(role) && !taken().includes(role)) ?? "";
}

/** The file of a system that is named after its file: the one with the shortest suffix. */
export function fileOf(name, files) {
  return files.filter(({ file }) => file.name === name || file.name.startsWith(`${name}.`))
    .toSorted((a, b) => a.file.name.length - b.file.name.length)[0] ?? null;
}
