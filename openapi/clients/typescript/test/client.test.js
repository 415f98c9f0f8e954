// Test against a real server with jobs and keys: EXACTPERM_URL and EXACTPERM_KEY; tests/process starts one.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Client, ExactpermError } from "../exactperm.js";

const { EXACTPERM_URL: url, EXACTPERM_KEY: apiKey } = process.env;
const client = new Client(url, { apiKey, retries: 1 });
const on = url ? test : test.skip;
const U = [0.85, 0.9, 0.78, 0.92, 0.88];
const V = [0.8, 0.85, 0.75, 0.88, 0.82];
const csv = (/** @type {number[]} */ scores) => new Blob([`id,score\n${scores.map((s, n) => `q${n},${s}\n`).join("")}`]);

/** The two-sided p-value of a sum of effects, by every assignment of signs. @param {number[]} effects */
function everySign(effects) {
  const observed = Math.abs(effects.reduce((sum, effect) => sum + effect, 0));
  let extreme = 0;
  for (let signs = 0; signs < 2 ** effects.length; signs += 1) {
    const sum = effects.reduce((total, effect, n) => total + ((signs >> n) & 1 ? effect : -effect), 0);
    if (Math.abs(sum) >= observed) extreme += 1;
  }
  return extreme / 2 ** effects.length;
}

on("tests of all kinds have the p-values of every assignment", async () => {
  assert.equal((await client.scores({ u: U, v: V })).p_value, 0.0625);
  const stay = [3, -1, 0, 2, 5, -4, 2];
  assert.equal((await client.effects({ stay })).p_value, everySign(stay));
  const right = { u: [1, 1, 1, 1, 1, 0, 1, 1], v: [0, 0, 1, 0, 0, 1, 0, 0] };
  const label = (/** @type {number[]} */ column) => column.map((one) => (one ? "yes" : "no"));
  const expected = everySign(right.u.map((one, n) => one - (right.v[n] ?? 0)));
  const gold = right.u.map(() => "yes");
  const labels = { gold, u: label(right.u), v: label(right.v) };
  assert.equal((await client.predictions({ statistic: { name: "accuracy" }, ...labels })).p_value, expected);
  const counts = (/** @type {number[]} */ column) => ({ correct: column, total: column.map(() => 1) });
  const counted = { u: counts(right.u), v: counts(right.v) };
  assert.equal((await client.counts({ statistic: { name: "accuracy" }, ...counted })).p_value, expected);
});

on("files are sent as a form, with options", async () => {
  const answer = await client.files({ u: csv([1, 1, 0, 1, 1, 1]), v: csv([0, 0, 0, 0, 0, 0]), alternative: "greater" });
  assert.equal(answer.p_value, 1 / 32);
  assert.equal(answer.items.n, 6);
  assert.equal(answer.reading?.format, "csv");
});

on("a gate that failed is an answer, of data and of files", async () => {
  const [better, worse] = [Array(40).fill(1), Array(40).fill(0)];
  const of = (/** @type {number[]} */ u, /** @type {number[]} */ v) =>
    client.gate({ policy: "no_regression", kind: "scores", request: { u, v } });
  assert.equal((await of(better, worse)).verdict, "pass");
  assert.equal((await of(worse, better)).verdict, "fail");
  assert.equal((await client.gate({ u: csv(worse), v: csv(better), policy: "no_regression" })).verdict, "fail");
  const asked = { policy: "no_regression", kind: "scores", request: { u: worse, v: better } };
  assert.equal((await client.gate(/** @type {any} */ (asked))).verdict, "fail");
  const markdown = await client.report("gate", { u: csv(worse), v: csv(better), policy: "no_regression" }, "markdown");
  assert.match(await markdown.text(), /fail/i);
});

on("boards, of columns and of files with names", async () => {
  const columns = { A: [1, 1, 1, 1, 1, 1, 1, 0], B: [0, 0, 0, 0, 0, 0, 0, 1], C: [0, 1, 0, 0, 0, 0, 0, 0] };
  const board = await client.compare({ kind: "scores", systems: columns });
  assert.deepEqual(board.systems?.map((one) => one.name), ["A", "B", "C"]);
  assert.equal(board.pairs?.length, 3);
  const files = await client.compare({ system: Object.values(columns).map(csv), names: '["A","B","C"]' });
  assert.deepEqual(files.pairs?.map((pair) => pair.p_value), board.pairs?.map((pair) => pair.p_value));
});

on("plans, power, reports and what the server can do", async () => {
  const plan = await client.plan({ kind: "scores", request: { u: U, v: V } });
  assert.ok("method" in plan);
  const power = await client.power({ solve: "n", design: { kind: "binary", u: 0.83, v: 0.8, discordance: 0.13 } });
  assert.match(power.id, /^w_/);
  const svg = await client.report("scores", { u: U, v: V }, "svg");
  assert.equal(svg.type.split(";")[0], "image/svg+xml");
  assert.match(await svg.text(), /<svg .*p = 0.0625/s);
  assert.match(await (await client.report("files", { u: csv(U), v: csv(V) }, "text")).text(), /^p=0.0625 /);
  assert.ok((await client.meta()).versions);
});

on("what is kept is there at its permalink, for the key that asked", async () => {
  const link = await client.keep("scores", { u: U, v: V }, "html");
  assert.ok(link.startsWith(`${url}/v1/results/r_`), link);
  const page = await client.stored(link);
  assert.equal(page.type.split(";")[0], "text/html");
  assert.match(await page.text(), /0\.0625/);
  assert.deepEqual(await (await client.stored(link.slice(-34))).text(), await page.text());
  const request = { policy: "no_regression", kind: "scores", request: { u: Array(40).fill(0), v: Array(40).fill(1) } };
  const gate = JSON.parse(await (await client.stored(await client.keep("gate", request))).text());
  assert.equal(gate.verdict, "fail");
  const curl = await fetch(`${url}/v1/gate?store=1`, {
    method: "POST",
    headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
    body: JSON.stringify(request),
  });
  assert.equal(curl.status, 409);
  const kept = await client.stored(curl.headers.get("content-location")?.slice(-34) ?? "");
  assert.equal(JSON.parse(await kept.text()).verdict, "fail");
  await assert.rejects(client.stored(`r_${"0".repeat(32)}`), (error) => error instanceof ExactpermError && error.status === 404);
  for (const wrong of [`https://elsewhere${new URL(link).pathname}`, `${link}0`, "j_0", ""])
    await assert.rejects(client.stored(wrong), (error) => error instanceof ExactpermError && error.kind === "invalid-data");
});

on("a list has its answers in its order, and a problem in its place", async () => {
  const tests = /** @type {any} */ ([{ kind: "scores", request: { u: U, v: V } }, { kind: "scores", request: { u: [1] } }]);
  const results = await client.batch(tests);
  assert.deepEqual(results.map((one) => one.status), [200, 422]);
  assert.equal(/** @type {any} */ (results[0]?.answer).p_value, 0.0625);
  assert.equal(/** @type {any} */ (results[1]?.problem).errors[0].pointer, "/v");
});

on("a problem is thrown, with its type, its status and its errors", async () => {
  const error = await client.scores({ u: [1, 2], v: [1] }).catch((thrown) => thrown);
  assert.ok(error instanceof ExactpermError);
  assert.deepEqual([error.status, error.type.startsWith("/docs/problems#")], [422, true]);
  assert.ok(error.errors[0]?.pointer && error.errors[0].code && error.errors[0].detail);
  assert.ok(error.instance && error.message.includes(error.detail));
});

on("a call without the key, or with another, is refused", async () => {
  for (const wrong of [undefined, "ep_wrong"]) {
    const error = await new Client(url, { apiKey: wrong }).scores({ u: U, v: V }).catch((thrown) => thrown);
    assert.equal(error.status, 401);
  }
});

on("a job is submitted, waited for, and has the answer of its endpoint", async () => {
  const request = { kind: "scores", systems: { A: [1, 1, 1, 0], B: [1, 0, 1, 0], C: [0, 0, 1, 0] } };
  const submitted = await client.jobs.submit(/** @type {any} */ ({ kind: "compare", request }), { key: "a board" });
  const again = await client.jobs.submit(/** @type {any} */ ({ kind: "compare", request }), { key: "a board" });
  assert.equal(again.id, submitted.id);
  /** @type {number[]} */
  const seen = [];
  const ended = await client.jobs.wait(submitted.id, { onProgress: (job) => seen.push(job.progress) });
  assert.deepEqual([ended.state, seen.at(-1)], ["succeeded", 1]);
  const [result, direct] = [await client.jobs.result(submitted.id), await client.compare(/** @type {any} */ (request))];
  assert.deepEqual({ ...result, runtime: null }, { ...direct, runtime: null });
});

on("a job of a list has a list of results", async () => {
  const tests = [{ kind: "effects", request: { stay: [3, -1, 0, 2] } }, { kind: "scores", request: { u: [1] } }];
  const job = await client.jobs.submit(/** @type {any} */ ({ kind: "batch", request: { tests } }));
  await client.jobs.wait(job.id);
  const [first, second] = await client.jobs.result(job.id);
  assert.deepEqual([first.p_value, second.status], [everySign([3, -1, 0, 2]), 422]);
});

on("a job is cancelled, and then has no result", async () => {
  const stay = Array.from({ length: 9000 }, (_, n) => 2 ** (n % 30));
  const request = { stay, method: "monte_carlo", samples: 500_000_000 };
  const job = await client.jobs.submit(/** @type {any} */ ({ kind: "effects", request }));
  assert.equal((await client.jobs.cancel(job.id)).state, "cancelled");
  assert.equal((await client.jobs.wait(job.id)).state, "cancelled");
  assert.ok((await client.jobs.list({ state: "cancelled" })).some((one) => one.id === job.id));
  assert.deepEqual(await client.jobs.list({ state: "failed", limit: 3 }), []);
  const error = await client.jobs.result(job.id).catch((thrown) => thrown);
  assert.equal(error.status, 409);
});
