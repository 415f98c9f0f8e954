// Show the choices of a refusal as buttons: each sets its fields and sends the request again.
import { byId, button, element, field, labelOf } from "./dom.js";
import { offer, reveal } from "./folded.js";

/** Set a field of the form, even if hidden; add the value to a list that lacks it. */
function put(name, value) {
  const radio = [...document.getElementsByName(name)].find((one) => one.type === "radio" && one.value === value);
  if (radio) return radio.click();
  let control = byId(`f-${name}`);
  if (!control) {
    byId("reader-options").append(field(name, { label: name.replaceAll("_", " ") }));
    control = byId(`f-${name}`);
  }
  if (control.options && ![...control.options].some((option) => option.value === value)) {
    control.append(element("option", { value }, value));
  }
  control.value = value;
  control.dispatchEvent(new Event("input", { bubbles: true }));
  control.dispatchEvent(new Event("change", { bubbles: true }));
  const own = byId(`f-${name}`); // the change may have redrawn it
  if (own && own.value !== value) own.value = value;
  if (own) reveal(own);
}

const sameField = (choices) => {
  const names = new Set(choices.flatMap(({ fields }) => Object.keys(fields)));
  return names.size === 1 ? [...names][0] : null;
};

/** A sentence without the part on how to write the options, which the buttons below replace. */
export function shortened(detail) {
  return detail.replace(/ \(`\w+`\); there (?:is|are): (?:(?! more\.$).)*$/, ".")
    .replace(/ Give either `.*$/, "").replace(/: set `.*$/, ".");
}

/** A group of buttons, or null if there are no choices; `again` sends the request. */
export function choiceButtons(choices, again) {
  if (!Array.isArray(choices) || !choices.length) return null;
  offer(choices.flatMap(({ fields }) => Object.keys(fields)));
  const only = sameField(choices);
  const label = (only && labelOf(byId(`f-${only}`))) || "Choose";
  return element("div", { class: "choices", role: "group", "aria-label": label },
    only ? element("span", { class: "choices-of", "aria-hidden": "true" }, `${label}:`) : null,
    choices.map(({ title, fields }) => button(title, () => {
      for (const [name, value] of Object.entries(fields)) put(name, value);
      again();
    })));
}
