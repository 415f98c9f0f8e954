// The data to compare: chosen files with their roles, or pasted text.
import { byId, button, element, icon } from "./dom.js";
import { rename } from "./names.js";
import { bytes } from "./numbers.js";
import { roleTitle } from "./options.js";
import { SYSTEM, assign, fileOf, isShared } from "./roles.js";

const MAX_NAME = 80;
let rows = []; // {file, role, chosen: whether a person chose the role, id}
let allowed = []; // empty until v1/meta lists the roles
let next = 0;

const radio = (name) => document.querySelector(`input[name="${name}"]:checked`).value;
const ENDINGS = /(\.(gz|zst|jsonl?|csv|tsv|txt|conllu?|eval|trn|ndjson))+$/i;
const stem = (name) => name.replace(ENDINGS, "").slice(0, MAX_NAME);

/** The files to send: role, File, and the text if it was pasted. */
export function files() {
  if (radio("source") === "files") {
    return rows.filter((row) => row.role).map(({ role, file }) => ({ role, file, text: null }));
  }
  const boxes = inOneBox() ? ["file"] : ["u", "v", "gold"];
  return boxes.map((role) => [role === "gold" ? goldRole() : role, byId(`paste-${role}`).value])
    .filter(([, text]) => text.trim())
    .map(([role, text]) => ({ role, text, file: new File([text], pastedName(role, text)) }));
}

const pastedName = (role, text) => `pasted${role === "file" ? "" : `-${role}`}.${ending(text)}`;

/** A leaderboard has one box for all systems. */
const inOneBox = () => radio("layout") === "one" || allowed.includes(SYSTEM);
const ending = (text) => (/^\s*[[{]/.test(text) ? "jsonl" : "txt");
const goldRole = () => ["gold", "ref", "qrels"].find((role) => allowed.includes(role)) ?? "gold";

/** The control of a role, or of a system that is named after its file, for errors to point at. */
export function controlOf(role) {
  if (radio("source") === "files") {
    const row = rows.find((candidate) => candidate.role === role) ?? fileOf(role, rows.filter((each) => each.role === SYSTEM));
    return row ? byId(`role-${row.id}`) : byId("chooser");
  }
  const box = inOneBox() ? "file" : ["u", "v"].includes(role) ? role : "gold";
  return byId(`paste-${role === "" && box === "gold" ? "u" : box}`);
}

/** Set the roles that the chosen format has. */
export function allow(roles) {
  allowed = roles;
  assign(rows, allowed);
  panels();
  draw();
}

export function paste(text) {
  check("source", "paste");
  check("layout", "one");
  byId("paste-file").value = text;
  panels();
}

function check(name, value) {
  document.querySelector(`input[name="${name}"][value="${value}"]`).checked = true;
}

function panels() {
  const pasted = radio("source") === "paste";
  byId("files-panel").hidden = pasted;
  byId("paste-panel").hidden = !pasted;
  for (const box of document.querySelectorAll("#paste-panel .field")) {
    box.hidden = (box.dataset.role === "file") !== inOneBox();
  }
}

function add(list) {
  for (const file of list) rows.push({ file, role: "", chosen: false, id: (next += 1) });
  check("source", "files");
  panels();
  assign(rows, allowed);
  draw();
}

function draw() {
  byId("rows").replaceChildren(...rows.map(drawn));
  const own = ["u", "v"].map((role) => rows.filter((row) => row.role === role));
  byId("swap").hidden = !own.every((list) => list.length);
  const both = own.map((list) => list[0]?.file.name);
  // With a file for each task, names of files are not names of systems.
  const different = own.every((list) => list.length === 1) && stem(both[0]) !== stem(both[1]);
  ["u", "v"].forEach((role, index) => suggest(byId(`f-name_${role}`), different ? stem(both[index]) : ""));
  rename();
}

/** Suggest a name from the file, unless one was typed. */
function suggest(input, name) {
  if (input.value && input.dataset.suggested !== input.value) return;
  input.value = name;
  input.dataset.suggested = name;
}

function drawn(row) {
  const id = `role-${row.id}`;
  const roles = [...(row.role ? [] : [""]), ...allowed];
  const select = element("select",
    { id, "aria-label": `Role of ${row.file.name}`, "aria-describedby": `e-${id}` },
    roles.map((role) => element("option", { value: role, selected: role === row.role }, role ? roleTitle(role) : "Not used")));
  select.addEventListener("change", () => {
    const only = !isShared(select.value, rows);
    const other = only && rows.find((candidate) => candidate !== row && candidate.role === select.value);
    if (other) Object.assign(other, { role: row.role === "file" ? "" : row.role, chosen: true });
    Object.assign(row, { role: select.value, chosen: true });
    draw();
    byId(id).focus();
  });
  const gone = button(icon("remove"), () => {
    rows = rows.filter((candidate) => candidate !== row);
    assign(rows, allowed);
    draw();
    byId("chooser").focus();
  }, { "aria-label": `Remove ${row.file.name}` });
  return element("li", {},
    element("span", { class: "file" }, row.file.name, element("span", { class: "size" }, bytes(row.file.size))), gone,
    element("div", { class: "role" }, select),
    element("p", { class: "field-error", id: `e-${id}`, hidden: true }));
}

export function start(changed) {
  byId("chooser").addEventListener("change", (event) => {
    add(event.target.files);
    event.target.value = ""; // allow choosing the same file again
    changed();
  });
  byId("swap").addEventListener("click", () => {
    for (const row of rows) {
      const other = { u: "v", v: "u" }[row.role];
      if (other) Object.assign(row, { role: other, chosen: true });
    }
    draw();
  });
  for (const input of document.querySelectorAll('input[name="source"], input[name="layout"]')) {
    input.addEventListener("change", panels);
  }
  const drop = byId("drop");
  const carries = (event) => event.dataTransfer?.types.includes("Files");
  window.addEventListener("dragover", (event) => {
    if (!carries(event)) return;
    event.preventDefault();
    drop.classList.add("over");
  });
  window.addEventListener("dragleave", (event) => event.relatedTarget || drop.classList.remove("over"));
  window.addEventListener("drop", (event) => {
    if (!carries(event)) return;
    event.preventDefault(); // accept drops outside the box, which the browser would open
    drop.classList.remove("over");
    add(event.dataTransfer.files);
    changed();
  });
  panels();
}
