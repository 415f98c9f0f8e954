// What was refused, said where it can be mended: a summary that takes the focus, and a mark on each field.
import { byId, element } from "./dom.js";
import { controlOf } from "./data.js";
import { roleTitle } from "./words.js";

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

/** Problem details (RFC 9457), or what came instead of them. */
export function refused({ status, text, retryAfter }) {
  let said = null;
  try {
    said = JSON.parse(text);
  } catch {
    // A proxy's page, perhaps.
  }
  if (said === null || typeof said !== "object" || typeof said.title !== "string") {
    const detail = `The server answered with status ${status}, and not in a form this page understands.`;
    return show("The answer cannot be read", [{ detail }]);
  }
  const errors = said.errors?.length ? said.errors : [{ detail: said.detail ?? said.title, pointer: status === UNAUTHORIZED ? "/key" : "" }];
  if (status === UNAUTHORIZED) byId("key").hidden = false;
  const wait = retryAfter ? `Try again in ${retryAfter} s.` : "";
  const lead = said.detail && errors.every(({ detail }) => !said.detail.includes(detail)) ? said.detail : "";
  const title = status < 500 && status !== UNAUTHORIZED ? "This cannot be compared as it is" : said.title;
  return show(title, errors, lead, wait, said.instance ? `Request ${said.instance}` : "");
}

/** `errors` are {detail, pointer?}; pointers are those of a form: /files/<role>/…, /options/<name>. */
export function show(title, errors, lead = "", ...more) {
  clear();
  const entries = errors.map(({ detail, pointer = "" }) => {
    const control = controlAt(pointer);
    if (control) mark(control, detail);
    const where = place(pointer) || labelOf(control);
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
  const parameter = root === "statistic" && name !== "name" ? byId(`f-${name}`) : null;
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

const labelOf = (control) => control?.labels?.[0]?.firstChild?.textContent?.trim() ?? "";

/** A pointer in words: file, line, field. */
function place(pointer) {
  const [, root, role, unit, line, column] = pointer.split("/");
  if (root !== "files" || !role) return "";
  const words = [roleTitle(role)];
  if (unit === "line" && line) words.push(`line ${line}`);
  if (unit === "line" && column) words.push(/^\d+$/.test(column) ? `field ${column}` : column);
  if (/^\d+$/.test(unit ?? "")) words.push(`element ${unit}`);
  return words.join(", ");
}
