// Open a link to a stored report that needs an API key: `?result=r_…` asks for the key, and saves the report.
import { arrange } from "./arrange.js";
import { button, byId, element } from "./dom.js";
import { prose } from "./prose.js";
import { save } from "./result.js";
import { stored } from "./sending.js";

const NAME = /^r_[0-9a-f]{32}$/;
const SUFFIXES = { "text/html": ".html", "application/json": ".json", "image/svg+xml": ".svg" };

/** The name of the stored answer in an address, or "". */
const askedFor = (search) => (new URLSearchParams(search).get("result") ?? "").match(NAME)?.[0] ?? "";

/** Show the card of the stored answer in the address, if there is one. */
export function offerKept() {
  const name = askedFor(window.location.search);
  if (!name) return;
  byId("result").replaceChildren(card(name));
  byId("result").hidden = false;
  byId("empty").hidden = true;
  arrange();
  byId("kept-title").focus({ preventScroll: true });
}

function card(name) {
  const message = element("p", { class: "hint", role: "status" });
  const key = element("input", { type: "password", id: "kept-key", autocomplete: "off", spellcheck: "false", "aria-describedby": "h-kept-key" });
  let waiting = false;

  function say(text, refused = false) {
    message.textContent = text;
    message.classList.toggle("refused", refused);
  }

  async function pressed() {
    if (waiting) return;
    waiting = true;
    say("Asking the server for it…");
    byId("f-key").value = key.value; // for later requests as well
    byId("key").hidden = key.value.trim() === "";
    const { blob, reason } = await stored(name);
    waiting = false;
    const file = blob && `exactperm-${name}${SUFFIXES[blob.type.split(";")[0]] ?? ""}`;
    if (blob) save(blob, file);
    say(blob ? `Saved as ${file}. Open it from the downloads of your browser.` : prose(reason), !blob);
  }

  key.addEventListener("keydown", (event) => {
    if (event.key === "Enter") pressed();
  });
  return element("section", { class: "card opening" },
    element("h2", { id: "kept-title", tabindex: "-1" }, "A report that was kept for you"),
    element("p", {}, "The sender of this link kept a report on the server. With the same API key you can save it as a file."),
    element("div", { class: "field" }, element("label", { for: "kept-key" }, "API key of the report"), key,
      element("p", { class: "hint", id: "h-kept-key" }, "The page sends it to this server only, and forgets it when closed.")),
    element("div", { class: "actions" }, button("Save the report", pressed)), message);
}
