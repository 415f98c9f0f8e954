// Two systems of a leaderboard: their numbers, and the picture of their test.
import { element } from "./dom.js";
import { requestOfPair } from "./pair_request.js";
import { pairRows, relationText } from "./relation.js";
import { card, pictureCard, table } from "./result.js";
import { answered } from "./sending.js";

const CAPTION = "The differences between these two that chance alone gives, and the observed one; not adjusted for other pairs.";
const CLOSE = 1e-6; // tolerance of log10 p between two computations of the same test

/** The place of the pair; `show(pair)` fills it, `clear()` empties it, `draw()` redraws the picture. */
export function pairPlace(request, theme) {
  const place = element("div", { id: "pair", hidden: true });
  let now = null; // {pair, dataset, scope, picture}

  function show(pair, board) {
    now = { pair, ...board, picture: element("div", {}, element("p", { class: "hint", role: "status" }, "Drawing its null distribution…")) };
    const title = `${pair.u} and ${pair.v}`;
    place.replaceChildren(
      card("", "pair-card", element("h3", { tabindex: "-1" }, title), element("p", { class: "said" }, relationText(pair, board.family.alpha)),
        table(pairRows(pair, board.family)), now.picture));
    place.hidden = false;
    draw();
  }

  function say(text) {
    place.replaceChildren(card("", "pair-card", element("p", {}, text)));
    place.hidden = false;
    now = null;
  }

  function clear() {
    now = null;
    place.hidden = true;
    place.replaceChildren();
  }

  async function draw() {
    const mine = now;
    if (!mine) return;
    const found = await nullPicture(request, mine, theme());
    if (mine !== now) return;
    mine.picture.replaceChildren(found.blob
      ? pictureCard(found.blob, CAPTION, `The null distribution of ${mine.pair.u} and ${mine.pair.v}. ${relationText(mine.pair, mine.family.alpha)}`)
      : element("p", { class: "hint" }, found.reason));
  }

  return { place, show, say, clear, draw };
}

/** {blob}, or {reason}: the picture is shown only if its test has the p-value of the leaderboard. */
async function nullPicture(request, { pair, dataset, scope }, theme) {
  if (scope === "overall") return { reason: "The overall test combines several data sets; there is a picture for the test of each data set." };
  const question = await requestOfPair(request, pair, dataset);
  if (!question) return { reason: "There is no picture: the page cannot extract the data of these two systems." };
  const test = await answered(question, "json");
  if (!test.blob) return { reason: `There is no picture. ${test.reason}` };
  const { log10_p_value: log10 } = JSON.parse(await test.blob.text());
  if (Math.abs(log10 - pair.log10_p_value) > CLOSE) {
    return { reason: "There is no picture: a test of only these two reads the data differently." };
  }
  return answered(question, "svg", { theme });
}
