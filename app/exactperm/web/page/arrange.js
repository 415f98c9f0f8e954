// On a narrow screen, place the result before the form.
import { byId } from "./dom.js";

const narrow = window.matchMedia("(max-width: 60rem)");

/** Order form and result in the document as well, so that screen readers and the Tab key follow the visible order. */
export function arrange() {
  const first = narrow.matches && !byId("result").hidden;
  const [form, output] = [byId("form"), byId("output")];
  if ((output.nextElementSibling === form) !== first) form[first ? "before" : "after"](output);
  byId("change").hidden = !first || byId("verdict") === null; // a link to a stored report has no request to change
}

export function start() {
  narrow.addEventListener("change", arrange);
}
