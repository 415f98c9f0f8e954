// Downloads of the answer, and the command that repeats the request.
import { curl } from "./curl.js";
import { button, element } from "./dom.js";
import { keeping } from "./keeping.js";
import { save } from "./result.js";
import { represented } from "./sending.js";

/**
 * The card of downloads; each is {name, title, suffix, query}; JSON is the received text.
 * `retention` is the number of seconds for which the server stores a report, null if it does not.
 */
export function handingCard(request, downloads, id, text, retention) {
  const command = curl(request, document.baseURI);
  const message = element("p", { class: "hint", role: "status" });
  const copy = button("Copy as curl", async () => {
    try {
      await navigator.clipboard.writeText(command);
      message.textContent = "Copied. Run it in the folder with the files.";
    } catch {
      message.textContent = "The browser does not allow copying; select the command below instead.";
    }
  });
  const buttons = downloads.map(({ name, title, suffix, query, part = "" }) => button(title, async (event) => {
    const pressed = event.currentTarget;
    pressed.disabled = true;
    const blob = name === "json" ? new Blob([text], { type: "application/json" }) : await represented(request, name, query?.());
    pressed.disabled = false;
    if (blob) save(blob, `exactperm-${id}${part}${suffix}`);
    message.textContent = blob ? "" : `The server did not send ${title}.`;
  }, { "data-format": name, "aria-label": `Download ${title}` }));
  const kept = retention === null ? null : keeping(request, retention);
  return element("section", { class: "card curl" },
    element("h3", {}, kept ? "Download, share or repeat" : "Download or repeat"),
    element("div", { class: "actions" }, kept?.press, copy, buttons), message, kept?.below,
    element("details", {}, element("summary", {}, "The same with curl"),
      element("pre", { tabindex: "0", "aria-label": "curl command" }, element("code", { id: "curl" }, command))));
}
