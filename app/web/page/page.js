// The page: submitting the form, showing progress, and showing the result.
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
const CAPTION = "The differences that chance alone gives, and the observed one.";
const UNREACHABLE = "There was no response. This also happens when a file has changed since it was chosen: choose it again.";
const dark = window.matchMedia("(prefers-color-scheme: dark)");
let running = null;
let shown = null; // the request whose result is on the page, and the element of its picture

/** The request that the form describes now. */
function requestOfForm() {
  const fields = options.fields();
  const gate = options.mode() === "gate";
  return {
    gate, fields, files: data.files(), keyed: byId("f-key").value.trim() !== "", path: gate ? "v1/gate" : "v1/tests/files",
    statistic: Object.fromEntries(fields).statistic,
  };
}

/** What is refused here; everything else is left to the service. */
function flaw({ files }) {
  if (!files.length) return "There are no data yet: choose files, paste text, or try an example.";
  const size = files.reduce((sum, { file }) => sum + file.size, FORM_OVERHEAD);
  const most = options.limits().max_body_bytes;
  return most && size > most ? `The files have ${bytes(size)} in total; this server allows ${bytes(most)}.` : "";
}

async function submit() {
  if (running) return;
  problem.clear();
  const request = requestOfForm();
  const wrong = flaw(request);
  if (wrong) {
    problem.show("Something is missing", [{ detail: wrong, pointer: "/files" }]);
    return;
  }
  begin();
  try {
    running = ask(request, progress);
    const answer = await running.answered;
    if (answer.status === 200) show(request, JSON.parse(answer.text), answer.text);
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

/** Hide the older result: beside the refusal it would look like the answer to this request. */
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

function show(request, answer, text) {
  shown = { request, picture: element("div", { hidden: true }), description: "", caption: CAPTION };
  if (request.gate) shown.caption = pictureCaption(answer) ?? CAPTION;
  const names = { ...(request.gate ? answer.metrics[0].test : answer).names, statistic: request.statistic };
  const cards = request.gate ? gateCards(answer, names) : testCards(answer, names);
  cards.splice(1, 0, shown.picture);
  cards.push(more(request, answer, text));
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
  const blob = await picture(mine.request, dark.matches ? "dark" : "light");
  if (!blob || mine !== shown) return;
  const made = pictureCard(blob, mine.caption, mine.description);
  mine.picture.replaceWith(made);
  mine.picture = made;
}

function more(request, answer, text) {
  const command = curl(request, document.baseURI);
  const message = element("p", { class: "hint", role: "status" });
  const copy = button("Copy as curl", async () => {
    try {
      await navigator.clipboard.writeText(command);
      message.textContent = "Copied. Run it where the files are.";
    } catch {
      message.textContent = "The browser does not allow copying; select the command below instead.";
    }
  });
  const downloads = options.representations(request.gate).map(({ name, title, suffix }) => button(title, async (event) => {
    const pressed = event.currentTarget;
    pressed.disabled = true;
    const blob = name === "json" ? new Blob([text], { type: "application/json" }) : await represented(request, name);
    pressed.disabled = false;
    if (blob) save(blob, `exactperm-${answer.id}${suffix}`);
    message.textContent = blob ? "" : `The server did not send ${title}.`;
  }, { "data-format": name, "aria-label": `Download ${title}` }));
  return element("section", { class: "card curl" },
    element("h3", {}, "Download or repeat"),
    element("div", { class: "actions" }, copy, downloads), message,
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
    problem.show("The server cannot be reached", [{ detail: "The page could not load its options; reload it." }]);
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
