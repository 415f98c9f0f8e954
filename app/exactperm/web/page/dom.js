// Create elements. Data is inserted as text only, never as HTML.
const SVG = "http://www.w3.org/2000/svg";
const ICONS = {
  yes: "M5 12.5l4.5 4.5L19 7.5",
  no: "M7 7l10 10M17 7L7 17",
  unsure: "M8.5 9a3.5 3.5 0 1 1 5 3.2c-1 .5-1.5 1.1-1.5 2.3M12 18.2v.1",
  remove: "M6 6l12 12M18 6L6 18",
};

export const byId = (id) => document.getElementById(id);

/** An element with attributes (true means present, null and false absent) and children; strings become text. */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === true) made.setAttribute(key, "");
    else if (value !== null && value !== false && value !== undefined) made.setAttribute(key, String(value));
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

export function icon(name) {
  const drawn = document.createElementNS(SVG, "svg");
  drawn.setAttribute("viewBox", "0 0 24 24");
  drawn.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", ICONS[name]);
  drawn.append(path);
  return drawn;
}

export function button(text, pressed, attributes = {}) {
  const made = element("button", { type: "button", class: "quiet", ...attributes }, text);
  made.addEventListener("click", pressed);
  return made;
}

/** The first visible part of a control's label. */
export const labelOf = (control) => [...(control?.labels?.[0]?.childNodes ?? [])].find((part) => !part.hidden)?.textContent.trim() ?? "";

/** A labelled control with a hint and a place for an error below. */
export function field(name, { label, hint = "", choices = null, fallback = "", numeric = false, optional = "" }) {
  const id = `f-${name}`;
  const shared = { id, name, "data-default": fallback, "aria-describedby": `h-${name} e-${name}` };
  const control = choices
    ? element("select", shared, choices.map(([value, text]) => element("option", { value }, text)))
    : element("input", { ...shared, inputmode: numeric ? "decimal" : null, autocomplete: "off", value: fallback });
  if (choices) control.value = fallback;
  const remark = optional ? element("span", { class: "optional" }, optional) : null;
  return element(
    "div", { class: "field" },
    element("label", { for: id }, label, remark ? " " : "", remark),
    control,
    element("p", { class: "hint", id: `h-${name}` }, hint),
    element("p", { class: "field-error", id: `e-${name}`, hidden: true }),
  );
}

export function choose(select, options, kept) {
  select.replaceChildren(...options);
  const there = [...select.options].some((option) => option.value === kept);
  select.value = there ? kept : select.options[0].value;
}
