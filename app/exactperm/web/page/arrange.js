// On a narrow screen the result stands before the form, as soon as there is one.
import { byId } from "./dom.js";

const narrow = window.matchMedia("(max-width: 60rem)");

/** Put form and result into their order, in the document too: what is read aloud and where Tab goes follow what is seen. */
export function arrange() {
  const first = narrow.matches && !byId("result").hidden;
  const [form, output] = [byId("form"), byId("output")];
  if ((output.nextElementSibling === form) !== first) form[first ? "before" : "after"](output);
  byId("change").hidden = !first || byId("verdict") === null; // there is no request where a kept report is offered
}

export function start() {
  narrow.addEventListener("change", arrange);
}
