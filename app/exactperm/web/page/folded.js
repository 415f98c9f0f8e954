// "More options": closed, open with all fields, or open with the relevant ones only.
import { byId, button } from "./dom.js";

const FEW = "few";
const offered = new Set(); // names of fields
const more = () => byId("more");

const isSet = (control) => control.value !== (control.dataset.default ?? "");

/** Mark the relevant fields: those with errors, those that would fix them, and those that are not at their defaults. */
export function refresh() {
  for (const field of more().querySelectorAll(".field")) {
    const control = field.querySelector("[name]");
    field.classList.toggle("matters", control !== null && (control.hasAttribute("aria-invalid") || offered.has(control.name) || isSet(control)));
  }
  const hidden = more().querySelectorAll(".field:not(.matters)").length;
  byId("all-options").hidden = !more().classList.contains(FEW) || hidden === 0;
}

/** Open the fields that would fix a refusal. */
export function offer(names) {
  names.forEach((name) => offered.add(name));
  for (const name of names) if (byId(`f-${name}`)) reveal(byId(`f-${name}`));
}

/** Forget the fields that would fix a refusal. */
export function forget() {
  offered.clear();
  refresh();
}

/** Open the options around a control, showing only relevant fields. */
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
    more().classList.remove(FEW); // opened by the user: show all fields
    refresh();
  });
}
