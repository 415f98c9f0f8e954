// The test of two systems of a leaderboard, for the picture of its null distribution.
import { OF_BOARDS, namesOf } from "./board_options.js";
import { textOf } from "./dataset.js";
import { SYSTEM, fileOf } from "./roles.js";

const LATER = new Set([...OF_BOARDS, "confidence_level"]);

/** The options that a test of two also has; missing items can only be dropped. */
function fieldsOf(question, { u, v }) {
  const kept = question.fields.filter(([name]) => !LATER.has(name))
    .map(([name, value]) => [name, name === "on_missing" ? "drop" : value]);
  return [...kept, ["name_u", u], ["name_v", v]];
}

async function ofOneFile(question, pair, dataset) {
  const [one] = question.files;
  const fields = [...fieldsOf(question, pair), ["system_u", pair.u], ["system_v", pair.v]];
  if (dataset === "") return { files: [one], fields };
  const text = textOf(one.text ?? await one.file.text(), dataset);
  return text === null ? null : { files: [{ role: "file", text, file: new File([text], one.file.name) }], fields };
}

function ofSeveral(question, pair) {
  const systems = question.files.filter(({ role }) => role === SYSTEM);
  const given = Object.fromEntries(question.fields).names;
  const names = given ? namesOf(given) : null;
  const find = (name) => (names ? systems[names.indexOf(name)] : fileOf(name, systems));
  const [u, v] = [find(pair.u), find(pair.v)];
  if (!u || !v || u === v) return null;
  const others = question.files.filter(({ role }) => role !== SYSTEM);
  return { files: [{ ...u, role: "u" }, { ...v, role: "v" }, ...others], fields: fieldsOf(question, pair) };
}

/** The request of the test of a pair in a data set ("" if there is only one), or null if the page lacks its data. */
export async function requestOfPair(question, pair, dataset) {
  const several = question.files.some(({ role }) => role === SYSTEM);
  const own = several ? ofSeveral(question, pair) : await ofOneFile(question, pair, dataset);
  return own && { ...question, ...own, mode: "test", path: "v1/tests/files" };
}
