// Show problems: a summary that takes the focus, and a message at each field to fix.
import { choiceButtons, shortened } from "./choices.js";
import { controlOf } from "./data.js";
import { byId, element, labelOf } from "./dom.js";
import { forget, reveal } from "./folded.js";
import { fieldOf } from "./looks.js";
import { systemNames } from "./names.js";
import { mode, roleTitle } from "./options.js";
import { prose } from "./prose.js";

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
  forget();
}

/** Show problem details (RFC 9457), or a message about any other response; `again` repeats the request. */
export function refused({ status, text, retryAfter }, again) {
  let problem = null;
  try {
    problem = JSON.parse(text);
  } catch {
    // Possibly the page of a proxy.
  }
  if (problem === null || typeof problem !== "object" || typeof problem.title !== "string") {
    const detail = `The server answered with status ${status}, in a form that this page cannot read.`;
    show("The answer cannot be read", [{ detail }]);
    return;
  }
  const errors = problem.errors?.length ? problem.errors : [{ detail: problem.detail ?? problem.title, pointer: status === UNAUTHORIZED ? "/key" : "" }];
  if (status === UNAUTHORIZED) byId("key").hidden = false;
  const wait = retryAfter ? `Try again in ${retryAfter} s.` : "";
  const lead = problem.detail && errors.every(({ detail }) => !problem.detail.includes(detail)) ? problem.detail : "";
  const title = status < 500 && status !== UNAUTHORIZED ? "The request was refused" : problem.title;
  show(title, errors, { lead, again, more: [wait, problem.instance ? `Request ${problem.instance}` : ""] });
}

/** `errors` are {detail, pointer?, choices?}; pointers are those of a form: /files/<role>/…, /options/<name>. */
export function show(title, errors, { lead = "", again = () => {}, more = [] } = {}) {
  clear();
  const names = mode() === "board" ? null : systemNames();
  const entries = errors.map(({ detail: said, pointer = "", choices }) => {
    const offered = choiceButtons(choices, again);
    const detail = prose(offered ? shortened(said) : said, names);
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
    return element("li", {}, line, where ? element("span", { class: "place" }, where) : null, offered);
  });
  const rest = more.filter(Boolean).join(" ");
  shown.append(
    element("h2", {}, title), lead ? element("p", {}, prose(lead, names)) : "", element("ul", {}, entries),
    rest ? element("p", { class: "more" }, rest) : "",
  );
  shown.hidden = false;
  shown.focus();
}

function controlAt(pointer) {
  const [, root, name = "", member = ""] = pointer.split("/");
  if (root === "files") return controlOf(name);
  if (root === "options" && name === "sequential") return byId(fieldOf(member));
  const wanted = root === "options" ? name : { statistic: "statistic" }[root] ?? root?.replace(/^\?/, "");
  const parameter = root === "design" || (root === "statistic" && name !== "name") ? byId(`f-${name}`) : null;
  return parameter ?? (wanted ? byId(`f-${wanted}`) : null);
}

function mark(control, detail) {
  control.setAttribute("aria-invalid", "true");
  reveal(control);
  const text = control.id === "chooser" ? byId("e-files") : byId(`e-${control.id.replace(/^f-/, "")}`);
  if (!text) return;
  text.textContent = text.textContent && text.textContent !== detail ? `${text.textContent} ${detail}` : detail;
  text.hidden = false;
}

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
