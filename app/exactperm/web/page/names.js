// Use the names of the systems in the texts of the form.
import { byId } from "./dom.js";

const SHORT = 24; // characters of a name within a label
const ROLES = ["u", "v"];
const PLANNED = { u: "the candidate", v: "the baseline" };

const valueOf = (id) => byId(id)?.value.trim() ?? "";
const mode = () => document.querySelector('input[name="mode"]:checked').value;

/** The names that were typed or taken from files; else U and V. */
export function systemNames() {
  return Object.fromEntries(ROLES.map((role) => [role, valueOf(`f-name_${role}`) || role.toUpperCase()]));
}

function namesOfForm() {
  if (mode() === "plan") return PLANNED;
  return mode() === "board" ? { u: "a system", v: valueOf("f-baseline") || "the baseline" } : systemNames();
}

/** Write the names into every text of the form that has `data-named`, such as "Swap {u} and {v}". */
export function rename() {
  const names = namesOfForm();
  const short = (name) => (name.length > SHORT ? `${name.slice(0, SHORT - 1)}…` : name);
  for (const place of document.querySelectorAll("[data-named]")) {
    place.textContent = place.dataset.named.replace(/\{([uv])\}/g, (_, role) => short(names[role]));
  }
}

export function start() {
  byId("form").addEventListener("input", ({ target }) => {
    if (["name_u", "name_v", "baseline"].includes(target.name)) rename();
  });
}
