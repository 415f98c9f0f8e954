// Problems: a summary that takes the focus, and a message at each field to fix.
import { byId, element } from "./dom.js";
import { controlOf } from "./data.js";
import { roleTitle } from "./options.js";

const UNAUTHORIZED = 401;
const shown = byId("problem");

export function clear() {
  shown.hidden = true;
  shown.replaceChildren();
  for (const control of document.querySelectorAll("[aria-invalid]")) control.removeAttribute("aria-invalid");
  for (const text of document.querySelectorAll(".field-error")) {
    text.hidden = true;
    text.textContent = "";
  }
}

/** Show problem details (RFC 9457), or whatever was sent instead. */
export function refused({ status, text, retryAfter }) {
  let problem = null;
  try {
    problem = JSON.parse(text);
  } catch {
    // Perhaps the page of a proxy.
  }
  if (problem === null || typeof problem !== "object" || typeof problem.title !== "string") {
    const detail = `The server answered with status ${status}, in a form that this page cannot read.`;
    return show("The answer cannot be read", [{ detail }]);
  }
  const errors = problem.errors?.length ? problem.errors : [{ detail: problem.detail ?? problem.title, pointer: status === UNAUTHORIZED ? "/key" : "" }];
  if (status === UNAUTHORIZED) byId("key").hidden = false;
  const wait = retryAfter ? `Try again in ${retryAfter} s.` : "";
  const lead = problem.detail && errors.every(({ detail }) => !problem.detail.includes(detail)) ? problem.detail : "";
  const title = status < 500 && status !== UNAUTHORIZED ? "The request was refused" : problem.title;
  return show(title, errors, lead, wait, problem.instance ? `Request ${problem.instance}` : "");
}

/** `errors` are {detail, pointer?}; pointers are those of a form: /files/<role>/…, /options/<name>. */
export function show(title, errors, lead = "", ...more) {
  clear();
  const entries = errors.map(({ detail, pointer = "" }) => {
    const control = controlAt(pointer);
    if (control) mark(control, detail);
    const where = location(pointer) || labelOf(control);
    const line = control ? element("a", { href: `#${control.id}` }, detail) : element("span", {}, detail);
    line.addEventListener("click", (event) => {
      if (!control) return;
      event.preventDefault();
      reveal(control);
      control.focus();
    });
    return element("li", {}, line, where ? element("span", { class: "place" }, where) : null);
  });
  const rest = more.filter(Boolean).join(" ");
  shown.append(
    element("h2", {}, title), lead ? element("p", {}, lead) : "", element("ul", {}, entries),
    rest ? element("p", { class: "more" }, rest) : "",
  );
  shown.hidden = false;
  shown.focus();
}

function controlAt(pointer) {
  const [, root, name = ""] = pointer.split("/");
  if (root === "files") return controlOf(name);
  const wanted = root === "options" ? name : { statistic: "statistic" }[root] ?? root?.replace(/^\?/, "");
  const parameter = root === "design" || (root === "statistic" && name !== "name") ? byId(`f-${name}`) : null;
  return parameter ?? (wanted ? byId(`f-${wanted}`) : null);
}

function mark(control, detail) {
  reveal(control);
  control.setAttribute("aria-invalid", "true");
  const text = control.id === "chooser" ? byId("e-files") : byId(`e-${control.id.replace(/^f-/, "")}`);
  if (!text) return;
  text.textContent = text.textContent && text.textContent !== detail ? `${text.textContent} ${detail}` : detail;
  text.hidden = false;
}

function reveal(control) {
  const closed = control.closest("details");
  if (closed) closed.open = true;
}

/** The first words of a label that are shown in this mode. */
const labelOf = (control) => [...(control?.labels?.[0]?.childNodes ?? [])].find((part) => !part.hidden)?.textContent.trim() ?? "";

/** A pointer in words: file, line, field. */
function location(pointer) {
  const [, root, role, unit, line, column] = pointer.split("/");
  if (root !== "files" || !role) return "";
  const words = [roleTitle(role)];
  if (unit === "line" && line) words.push(`line ${line}`);
  if (unit === "line" && column) words.push(/^\d+$/.test(column) ? `field ${column}` : column);
  if (/^\d+$/.test(unit ?? "")) words.push(`element ${unit}`);
  return words.join(", ");
}
