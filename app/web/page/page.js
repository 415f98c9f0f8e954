// The page: what happens when.
import * as data from "./data.js";
import * as options from "./options.js";
import * as problem from "./problem.js";
import { curl } from "./curl.js";
import { button, byId, element } from "./dom.js";
import { EXAMPLES } from "./examples.js";
import { gateCards, pictureCaption } from "./gate.js";
import { bytes, count } from "./numbers.js";
import { pictureCard, save, testCards } from "./result.js";
import { ask, picture, represented } from "./sending.js";

const FORM_OVERHEAD = 4096; // bytes of boundaries and headers
const CAPTION = "What chance alone would do, and where this comparison came out.";
const UNREACHABLE = "Nothing came back. A file that changed after it was chosen has the same effect: choose it again.";
const dark = window.matchMedia("(prefers-color-scheme: dark)");
let running = null;
let shown = null; // the question whose answer is on the page, and where its picture is

/** What the form asks, as it stands now. */
function question() {
  const fields = options.fields();
  const said = Object.fromEntries(fields);
  const gate = options.mode() === "gate";
  return {
    gate, fields, files: data.files(), keyed: byId("f-key").value.trim() !== "", path: gate ? "v1/gate" : "v1/tests/files",
    statistic: said.statistic,
  };
}

/** What can be refused without asking; the rest the service says better. */
function flaw({ files }) {
  if (!files.length) return "There is no data yet: choose files, paste text, or try an example.";
  const size = files.reduce((sum, { file }) => sum + file.size, FORM_OVERHEAD);
  const most = options.limits().max_body_bytes;
  return most && size > most ? `The files have ${bytes(size)} together; this server takes ${bytes(most)}.` : "";
}

async function submit() {
  if (running) return;
  problem.clear();
  const asked = question();
  const wrong = flaw(asked);
  if (wrong) {
    problem.show("There is something missing", [{ detail: wrong, pointer: "/files" }]);
    return;
  }
  begin();
  try {
    running = ask(asked, progress);
    const answer = await running.answered;
    if (answer.status === 200) show(asked, JSON.parse(answer.text), answer.text);
    else refused(answer);
  } catch (error) {
    if (error.message === "aborted") cancelled();
    else if (error.message === "network") problem.show("The server cannot be reached", [{ detail: UNREACHABLE }]);
    else throw error;
  } finally {
    end();
  }
}

function begin() {
  byId("progress").hidden = false;
  byId("submit").disabled = true;
  byId("result").setAttribute("aria-busy", "true");
}

function end() {
  running = null;
  byId("progress").hidden = true;
  byId("submit").disabled = false;
  byId("result").removeAttribute("aria-busy");
}

/** An older answer beside the refusal would look like the answer to it. */
function refused(answer) {
  shown = null;
  byId("result").hidden = true;
  byId("empty").hidden = false;
  announce("");
  problem.refused(answer);
}

function cancelled() {
  announce("Cancelled.");
  byId("submit").disabled = false;
  byId("submit").focus();
}

function progress(phase, amount) {
  const bar = byId("bar");
  if (phase === "uploading") {
    bar.value = amount;
    byId("progress-text").textContent = `Uploading… ${Math.floor(100 * amount)} %`;
    if (amount === 0) announce("Uploading.");
    return;
  }
  bar.removeAttribute("value");
  byId("progress-text").textContent = `Computing… ${count(amount)} s`;
  if (amount === 0) announce("Computing.");
}

function announce(text) {
  byId("announce").textContent = text;
}

function show(asked, answer, text) {
  shown = { asked, place: element("div", { hidden: true }), description: "", caption: CAPTION };
  if (asked.gate) shown.caption = pictureCaption(answer) ?? CAPTION;
  const names = { ...(asked.gate ? answer.metrics[0].test : answer).names, statistic: asked.statistic };
  const cards = asked.gate ? gateCards(answer, names) : testCards(answer, names);
  cards.splice(1, 0, shown.place);
  cards.push(more(asked, answer, text));
  byId("empty").hidden = true;
  byId("result").replaceChildren(...cards);
  byId("result").hidden = false;
  const heading = byId("verdict");
  shown.description = `The null distribution with the observed difference. ${heading.textContent}`;
  announce("Done.");
  heading.focus({ preventScroll: true });
  byId("output").scrollIntoView({ block: "start", behavior: "auto" });
  draw();
}

/** The picture in the colours of the page. */
async function draw() {
  const mine = shown;
  if (!mine) return;
  const blob = await picture(mine.asked, dark.matches ? "dark" : "light");
  if (!blob || mine !== shown) return;
  const made = pictureCard(blob, mine.caption, mine.description);
  mine.place.replaceWith(made);
  mine.place = made;
}

function more(asked, answer, text) {
  const command = curl(asked, document.baseURI);
  const said = element("p", { class: "hint", role: "status" });
  const copy = button("Copy as curl", async () => {
    try {
      await navigator.clipboard.writeText(command);
      said.textContent = "Copied. Run it where the files are.";
    } catch {
      said.textContent = "The browser does not let pages copy; select the text above.";
    }
  });
  const downloads = options.representations(asked.gate).map(({ name, title, suffix }) => button(title, async (event) => {
    const pressed = event.currentTarget;
    pressed.disabled = true;
    const blob = name === "json" ? new Blob([text], { type: "application/json" }) : await represented(asked, name);
    pressed.disabled = false;
    if (blob) save(blob, `exactperm-${answer.id}${suffix}`);
    said.textContent = blob ? "" : `The server did not send ${title}.`;
  }, { "data-format": name, "aria-label": `Download ${title}` }));
  return element("section", { class: "card curl" },
    element("h3", {}, "Take it with you"),
    element("div", { class: "actions" }, copy, downloads), said,
    element("details", {}, element("summary", {}, "The same with curl"),
      element("pre", { tabindex: "0", "aria-label": "curl command" }, element("code", { id: "curl" }, command))));
}

async function start() {
  data.start(() => problem.clear());
  byId("form").addEventListener("submit", (event) => {
    event.preventDefault();
    submit();
  });
  byId("cancel").addEventListener("click", () => running?.abort());
  dark.addEventListener("change", draw);
  byId("submit").disabled = true;
  try {
    const response = await fetch("v1/meta");
    if (!response.ok) throw new Error(String(response.status));
    options.start(await response.json(), () => data.allow(options.roles()));
  } catch {
    problem.show("The server cannot be reached", [{ detail: "What it can do is not known; load the page again." }]);
    return;
  }
  data.allow(options.roles());
  byId("examples").append(...EXAMPLES.map((example) => button(example.title, () => {
    problem.clear();
    data.paste(example.text);
    options.fill(example.fields);
    submit();
  })));
  byId("submit").disabled = false;
  document.documentElement.dataset.ready = "";
}

start();
