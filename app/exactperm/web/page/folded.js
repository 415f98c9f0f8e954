// "More options": folded away, all open, or open with those fields only that matter now.
import { byId, button } from "./dom.js";

const FEW = "few";
const offered = new Set(); // names of fields
const more = () => byId("more");

const isSet = (control) => control.value !== (control.dataset.default ?? "");

/** Mark the fields that matter: those with something wrong, those that would mend it, and those that are not at their defaults. */
export function refresh() {
  for (const field of more().querySelectorAll(".field")) {
    const control = field.querySelector("[name]");
    field.classList.toggle("matters", control !== null && (control.hasAttribute("aria-invalid") || offered.has(control.name) || isSet(control)));
  }
  const hidden = more().querySelectorAll(".field:not(.matters)").length;
  byId("all-options").hidden = !more().classList.contains(FEW) || hidden === 0;
}

/** Open the fields that would mend a refusal. */
export function offer(names) {
  names.forEach((name) => offered.add(name));
  for (const name of names) if (byId(`f-${name}`)) reveal(byId(`f-${name}`));
}

/** Nothing is wrong any more. */
export function forget() {
  offered.clear();
  refresh();
}

/** Open what is folded around a control, and no more than what matters. */
export function reveal(control) {
  if (!more().contains(control)) return;
  if (!more().open) more().classList.add(FEW);
  more().open = true;
  refresh();
}

export function start() {
  more().append(button("All options", () => {
    more().classList.remove(FEW);
    refresh();
    more().querySelector("summary").focus();
  }, { id: "all-options", hidden: true }));
  more().querySelector("summary").addEventListener("click", () => {
    if (more().open) return;
    more().classList.remove(FEW); // whoever opens it wants to see all
    refresh();
  });
}
