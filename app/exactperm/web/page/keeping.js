// Store a report on the server for a while, and show its link.
import { button, element } from "./dom.js";
import { duration } from "./numbers.js";
import { prose } from "./prose.js";
import { keep } from "./sending.js";

const NAME = /\br_[0-9a-f]{32}$/; // the end of a path

/** The links of a stored answer: `own` is the answer, `page` asks for the key first. */
function linksOf(location) {
  const [name] = NAME.exec(location) ?? [];
  // Do not use the path of the header: a proxy may serve the page under a prefix that the service does not know.
  return name && { own: new URL(`v1/results/${name}`, document.baseURI).href, page: new URL(`?result=${name}`, document.baseURI).href };
}

async function copied(link) {
  try {
    await navigator.clipboard.writeText(link);
    return "The link is copied.";
  } catch {
    return "The browser does not allow copying; select the link below instead.";
  }
}

/** {press, below}: a button that stores the HTML report once and copies its link at every press, and its messages. */
export function keeping(request, retention) {
  const time = duration(retention);
  const hint = element("p", { class: "hint", id: "h-keep" }, request.keyed
    ? `A kept report stays on this server for ${time}. Only holders of the same API key can open it.`
    : `A kept report stays on this server for ${time}. Everybody who has its link and can reach this server can open it.`);
  const message = element("p", { class: "hint", role: "status" });
  const place = element("div", { class: "kept" });
  let [waiting, link] = [false, null];

  function say(text, refused = false) {
    message.textContent = text;
    message.classList.toggle("refused", refused);
  }

  async function pressed() {
    if (waiting) return;
    if (link) {
      say(await copied(link));
      return;
    }
    waiting = true;
    say("Keeping the report…");
    const { location = "", reason } = await keep(request);
    waiting = false;
    const links = linksOf(location);
    if (!press.isConnected) return; // another result is on the page now
    if (!links) {
      say(`The report was not kept. ${prose(reason ?? "The server did not say where it is.")}`, true);
      return;
    }
    link = request.keyed ? links.page : links.own;
    place.replaceChildren(...(request.keyed ? forHolders(links) : [linked("Opens in a new tab: ", link)]));
    press.textContent = "Copy the link";
    say(`Kept for ${time}. ${await copied(link)}`);
  }

  const press = button("Keep and copy link", pressed, { "aria-describedby": hint.id });
  return { press, below: [hint, message, place] };
}

const linked = (text, link) => element("p", {}, text, element("a", { href: link, target: "_blank", rel: "noopener" }, link));

/** Links for holders of a key, since a browser that follows a link does not send one. */
function forHolders({ own, page }) {
  return [
    linked("Opens this page in a new tab, which asks for the key and then saves the report: ", page),
    element("p", { class: "hint" }, "Programs get the report here with the key; a browser does not send one and is refused: ", element("code", {}, own)),
  ];
}
