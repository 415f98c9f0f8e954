// The page: submit the form, show progress, and show the result.
import * as arranging from "./arrange.js";
import * as data from "./data.js";
import * as folded from "./folded.js";
import * as names from "./names.js";
import * as options from "./options.js";
import * as problem from "./problem.js";
import { boardResult } from "./board.js";
import { button, byId, element } from "./dom.js";
import { EXAMPLES } from "./examples.js";
import { gateCards, pictureCaption } from "./gate.js";
import { handingCard } from "./handing.js";
import { withLooks } from "./looks.js";
import { offerKept } from "./opening.js";
import { bytes, count } from "./numbers.js";
import { planCards, planRequest } from "./plan.js";
import { pictureCard, testCards } from "./result.js";
import { ask, picture } from "./sending.js";

const FORM_OVERHEAD = 4096; // bytes of boundaries and headers
const CAPTION = "The differences that chance alone gives, and the observed one.";
const UNREACHABLE = "There was no response. This also happens when a file has changed since it was chosen: choose it again.";
const dark = window.matchMedia("(prefers-color-scheme: dark)");
const theme = () => (dark.matches ? "dark" : "light");
const PATHS = { test: "v1/tests/files", gate: "v1/gate", board: "v1/compare", plan: "v1/power" };
let running = null;
let shown = null; // the result on the page: its cards, and the function that draws its pictures

/** The request that the form describes now. */
function requestOfForm() {
  const fields = withLooks(options.fields());
  const mode = options.mode();
  return {
    mode, fields, files: data.files(), ...(mode === "plan" ? planRequest(fields, options.design()) : {}), keyed: byId("f-key").value.trim() !== "", path: PATHS[mode],
    statistic: Object.fromEntries(fields).statistic,
  };
}

/** The reason to refuse a request in the page, or ""; the service checks everything else. */
function flaw({ files, json }) {
  if (json) return "";
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
    else refused(answer, submit);
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

/** Show a refusal, and hide the older result, which would look like the answer to this request. */
function refused(answer, again) {
  shown = null;
  byId("result").hidden = true;
  byId("empty").hidden = false;
  arranging.arrange();
  announce("");
  problem.refused(answer, again);
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
  const made = request.mode === "board"
    ? boardResult(request, answer, { comparison: options.comparison(), theme })
    : pictured(request, ...(request.mode === "plan" ? planned(answer) : tested(request, answer)));
  shown = made;
  const downloads = made.downloads?.(options.representations(request.mode)) ?? options.representations(request.mode);
  byId("empty").hidden = true;
  byId("result").replaceChildren(...made.cards, handingCard(request, downloads, answer.id, text, options.retention()));
  byId("result").hidden = false;
  arranging.arrange();
  announce("Done.");
  byId("verdict").focus({ preventScroll: true });
  byId("output").scrollIntoView({ block: "start", behavior: "auto" });
  made.draw();
}

/** The cards of a test or a gate, with the caption and description of its picture. */
function tested(request, answer) {
  const gate = request.mode === "gate";
  const names = { ...(gate ? answer.metrics[0].test : answer).names, statistic: request.statistic };
  const cards = gate ? gateCards(answer, names) : testCards(answer, names);
  return [cards, (gate && pictureCaption(answer)) || CAPTION, "The null distribution with the observed difference."];
}

const planned = (answer) => [planCards(answer), "How likely a difference is found.", "The power of the test."];

/** The cards, and `draw`, which adds the picture in the colours of the page. */
function pictured(request, cards, caption, what) {
  let place = element("div", { hidden: true });
  cards.splice(1, 0, place);
  const described = `${what} ${cards[0].querySelector("h2").textContent}`;
  const made = { cards, draw };
  async function draw() {
    const blob = await picture(request, theme());
    if (!blob || made !== shown) return;
    const drawn = pictureCard(blob, caption, described);
    place.replaceWith(drawn);
    place = drawn;
  }
  return made;
}

function examples() {
  byId("examples").replaceChildren(...EXAMPLES.filter(({ board = false }) => board === (options.mode() === "board"))
    .map((example) => button(example.title, () => {
      problem.clear();
      data.paste(example.text);
      options.fill(example.fields);
      submit();
    })));
}

async function start() {
  data.start(() => problem.clear());
  arranging.start();
  folded.start();
  names.start();
  byId("form").addEventListener("submit", (event) => {
    event.preventDefault();
    submit();
  });
  byId("cancel").addEventListener("click", () => running?.abort());
  dark.addEventListener("change", () => shown?.draw());
  byId("submit").disabled = true;
  try {
    const response = await fetch("v1/meta");
    if (!response.ok) throw new Error(String(response.status));
    options.start(await response.json(), () => {
      data.allow(options.roles());
      examples();
      folded.refresh();
    });
  } catch {
    problem.show("The server cannot be reached", [{ detail: "The page could not load its options; reload it." }]);
    return;
  }
  data.allow(options.roles());
  examples();
  byId("submit").disabled = false;
  offerKept();
  document.documentElement.dataset.ready = "";
}

start();
