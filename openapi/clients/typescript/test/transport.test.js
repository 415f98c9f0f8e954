// Test against a local server that refuses, breaks off, waits and sends invalid answers.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { Client, ExactpermError } from "../exactperm.js";

/** @typedef {(request: import("node:http").IncomingMessage, response: import("node:http").ServerResponse, body: string) => void} Answer */
/** @type {Answer[]} one for each request, in order; the last answers all that follow */
let answers = [];
/** @type {{body: string, headers: import("node:http").IncomingHttpHeaders, url: string | undefined, at: number}[]} */
let seen = [];
const server = createServer((request, response) => {
  let body = "";
  request.on("data", (chunk) => (body += chunk));
  request.on("end", () => {
    seen.push({ body, headers: request.headers, url: request.url, at: performance.now() });
    (answers.length > 1 ? answers.shift() : answers[0])?.(request, response, body);
  });
});
let url = "";
before(() => new Promise((resolve) => server.listen(0, "127.0.0.1", () => {
  url = `http://127.0.0.1:${/** @type {import("node:net").AddressInfo} */ (server.address()).port}`;
  resolve(undefined);
})));
after(() => {
  server.closeAllConnections();
  server.close();
});

const DATA = { u: [1, 0], v: [0, 0] };
/** @param {number} status @param {object} value @param {Record<string, string>} [headers] @returns {Answer} */
const says = (status, value, headers = {}) => (_, response) => {
  const type = status < 400 ? "application/json" : "application/problem+json";
  response.writeHead(status, { "content-type": type, ...headers }).end(JSON.stringify(value));
};
/** @param {string} kind @param {number} status */
const problem = (kind, status) => ({ type: `/docs/problems#${kind}`, title: kind, status, detail: "…", instance: "r" });
const FULL = problem("queue-full", 503);
const OK = says(200, { p_value: 0.5 });

/** @param {Answer[]} script @param {import("../exactperm.js").Settings} [settings] */
function client(script, settings) {
  [answers, seen] = [script, []];
  return new Client(url, settings);
}
/** @param {Promise<unknown>} call @returns {Promise<any>} */
const error = (call) => call.then(() => assert.fail("nothing was thrown"), (thrown) => thrown);

test("waits for the seconds of Retry-After", async () => {
  const answer = await client([says(503, FULL, { "retry-after": "1" }), OK]).scores(DATA);
  assert.equal(answer.p_value, 0.5);
  const [first, second] = seen;
  assert.ok(first && second && second.at - first.at >= 990, `waited ${second?.at} - ${first?.at}`);
  assert.equal(first.body, second.body);
});

test("a permalink is on the client's server, even if a proxy changes the header", async () => {
  const name = `r_${"0a".repeat(16)}`;
  for (const before of ["", "/exact", "http://inside:8000"]) {
    const kept = says(200, { p_value: 0.5 }, { "content-location": `${before}/v1/results/${name}` });
    assert.equal(await client([kept]).keep("scores", DATA), `${url}/v1/results/${name}`);
    assert.equal(seen[0]?.url, "/v1/tests/scores?format=json&store=1");
  }
  assert.equal((await error(client([OK]).keep("scores", DATA))).kind, "unreadable");
});

test("waits for a date of Retry-After, and reports it if longer than the patience", async () => {
  const date = new Date(Date.now() + 3600e3).toUTCString();
  const thrown = await error(client([says(429, problem("quota", 429), { "retry-after": date })]).scores(DATA));
  assert.equal(seen.length, 1);
  assert.ok(Math.abs(thrown.retryAfterMs - 3600e3) < 10e3, thrown.retryAfterMs);
});

test("limits attempts, and does not repeat other refusals or an exceeded deadline", async () => {
  assert.equal((await error(client([says(503, FULL)], { retries: 2 }).scores(DATA))).kind, "queue-full");
  assert.equal(seen.length, 3);
  for (const [kind, status] of /** @type {[string, number][]} */ ([["invalid-test", 422], ["deadline-exceeded", 503]])) {
    const thrown = await error(client([says(status, problem(kind, status))]).scores(DATA));
    assert.deepEqual([thrown.kind, thrown.status, seen.length], [kind, status, 1]);
  }
});

test("retries a broken connection, and raises an error with advice if there was none", async () => {
  /** @type {Answer} */
  const breaks = (_, response) => void response.destroy();
  assert.equal((await client([breaks, OK]).scores(DATA)).p_value, 0.5);
  assert.equal(seen.length, 2);
  const thrown = await error(new Client("127.0.0.1:1", { retries: 1 }).scores(DATA));
  assert.ok(thrown instanceof ExactpermError);
  assert.deepEqual([thrown.kind, thrown.status], ["no-answer", 0]);
  assert.match(thrown.message, /http:\/\/127.0.0.1:1.*running/s);
});

test("a missing or incomplete answer is a timeout, and is not repeated", async () => {
  /** @type {Answer} */
  const half = (_, response) => void response.writeHead(200, { "content-type": "application/json" }).write('{"p_');
  for (const answer of [() => {}, half]) {
    const thrown = await error(client([answer], { timeoutMs: 100 }).scores(DATA));
    assert.deepEqual([thrown.kind, seen.length], ["timeout", 1]);
  }
  /** @type {Answer} */
  const slow = (request, response, body) => void setTimeout(() => OK(request, response, body), 300);
  assert.equal((await client([slow], { timeoutMs: 100 }).scores({ ...DATA, timeout_s: 5 })).p_value, 0.5);
});

test("a signal ends a call that waits for an answer or a retry, or has not begun", async () => {
  for (const answer of [() => {}, says(503, FULL, { "retry-after": "30" })]) {
    const controller = new AbortController();
    const call = client([answer]).scores(DATA, { signal: controller.signal });
    setTimeout(() => controller.abort(new Error("enough")), 100);
    assert.equal((await error(call)).message, "enough");
  }
  const thrown = await error(client([OK]).scores(DATA, { signal: AbortSignal.abort() }));
  assert.deepEqual([thrown.name, seen.length], ["AbortError", 0]);
});

test("sends the key, also to a server with a path, but never to the target of a redirect", async () => {
  answers = [OK];
  seen = [];
  await new Client(`${url}/stats/`, { apiKey: "ep_secret" }).scores(DATA);
  assert.deepEqual([seen[0]?.url, seen[0]?.headers.authorization], ["/stats/v1/tests/scores", "Bearer ep_secret"]);
  const away = says(307, {}, { location: "/elsewhere" });
  const thrown = await error(client([away], { retries: 0, apiKey: "ep_secret" }).scores(DATA));
  assert.deepEqual([thrown.kind, seen.length], ["no-answer", 1]);
});

test("reports answers that are not from exactperm", async () => {
  /** @type {Answer} */
  const page = (_, response) => void response.writeHead(200, { "content-type": "text/html" }).end("<p>Log in");
  assert.equal((await error(client([page]).scores(DATA))).kind, "unreadable");
  assert.equal((await error(client([says(200, {})]).gate({ u: new Blob(["1"]), v: new Blob(["1"]) }))).kind, "unreadable");
  /** @type {Answer} */
  const proxy = (_, response) => void response.writeHead(502, { "content-type": "text/html" }).end("<p>Bad gateway");
  const thrown = await error(client([proxy]).scores(DATA));
  assert.deepEqual([thrown.status, thrown.type], [502, "about:blank"]);
  assert.match(thrown.message, /proxy/);
});

test("refuses values that JSON would silently change, and sends nothing", async () => {
  const bad = [[1, NaN], [1, Infinity], [1, undefined], new Float64Array([1, 2]), new Map([["a", 1]])];
  for (const u of bad) {
    const thrown = await error(client([OK]).scores(/** @type {any} */ ({ u, v: [0, 0] })));
    assert.deepEqual([thrown.kind, seen.length], ["invalid-data", 0]);
  }
});

test("a form names its files, repeats roles and omits missing members", async () => {
  const named = new Blob(["a"]);
  Object.defineProperty(named, "name", { value: "mine.csv" });
  await client([OK]).compare({ system: [new Blob(["a"]), named], alpha: 0.01, baseline: undefined, names: "A,B" });
  const names = [...(seen[0]?.body.matchAll(/name="(\w+)"(?:; filename="([^"]+)")?/g) ?? [])].map((m) => m.slice(1, 3));
  assert.deepEqual(names, [["system", "system1"], ["system", "mine.csv"], ["alpha", undefined], ["names", undefined]]);
});
