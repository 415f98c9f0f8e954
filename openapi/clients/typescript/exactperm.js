// A client of exactperm over fetch: browsers, Node 18 and later, Deno, Bun. No dependencies.
// Requests and answers have the names of the API; their types are in schema.d.ts, generated from openapi.json.

import { bodyOf, formOf, json, once, problemOf, sleep, unreadable, unsendable, waitAfter, ExactpermError } from "./transport.js";

/** @import * as S from "./schema.js" */
/** @typedef {S.operations["files_v1_tests_files_post"]["requestBody"]["content"]["multipart/form-data"]} FilesForm */
/** @typedef {S.operations["gate_v1_gate_post"]["requestBody"]["content"]["multipart/form-data"]} GateForm */
/** @typedef {S.operations["compare_v1_compare_post"]["requestBody"]["content"]["multipart/form-data"]} CompareForm */
/** @typedef {S.operations["power_v1_power_post"]["requestBody"]["content"]["multipart/form-data"]} PowerForm */
/** timeoutMs limits one attempt (the timeout_s of a request extends it); no attempt begins after patienceMs.
 * @typedef {{apiKey?: string, timeoutMs?: number, retries?: number, patienceMs?: number, fetch?: typeof fetch}} Settings
 */
/** @typedef {{signal?: AbortSignal, timeoutMs?: number}} CallOptions */
/** @typedef {CallOptions & {query?: Record<string, string>, headers?: Record<string, string>}} SendOptions */
/** @typedef {"effects" | "scores" | "counts" | "predictions" | "systems" | "preferences" | "files" | "gate" | "compare" | "power"} Kind */
/** @typedef {"json" | "text" | "markdown" | "csv" | "svg" | "png" | "html" | "junit"} Format */

export { ExactpermError };

const GRACE_MS = 15_000; // added to the deadline of a request
const FIRST_LOOK_MS = 100;
const LONGEST_LOOK_MS = 2_000;
const STORED = /\/v1\/results\/(r_[0-9a-f]{32})$/;
const FAIL_STATUS = { fail_status: "200" }; // a failed gate is an answer, not an error

export class Client {
  #base;
  #headers;
  #settings;

  /** @param {string} [url] of the server @param {Settings} [settings] */
  constructor(url = "http://localhost:8000", { apiKey, fetch = globalThis.fetch, ...settings } = {}) {
    this.#base = new URL(url.includes("://") ? url : `http://${url}`).href.replace(/\/+$/, "");
    this.#headers = new Headers(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` });
    const called = fetch.bind(globalThis); // in browsers, fetch is a method of window
    this.#settings = { timeoutMs: 75_000, retries: 4, patienceMs: 60_000, ...settings, fetch: called };
    this.jobs = new Jobs(this);
  }

  /** @param {S.EffectsRequest} request @param {CallOptions} [options] @returns {Promise<S.TestAnswer>} */
  effects(request, options) {
    return this.post("/v1/tests/effects", request, options);
  }

  /** @param {S.ScoresRequest} request @param {CallOptions} [options] @returns {Promise<S.TestAnswer>} */
  scores(request, options) {
    return this.post("/v1/tests/scores", request, options);
  }

  /** @param {S.CountsRequest} request @param {CallOptions} [options] @returns {Promise<S.TestAnswer>} */
  counts(request, options) {
    return this.post("/v1/tests/counts", request, options);
  }

  /** @param {S.PredictionsRequest} request @param {CallOptions} [options] @returns {Promise<S.TestAnswer>} */
  predictions(request, options) {
    return this.post("/v1/tests/predictions", request, options);
  }

  /** Several systems at once. @param {S.SystemsRequest} request @param {CallOptions} [options] @returns {Promise<S.TestAnswer>} */
  systems(request, options) {
    return this.post("/v1/tests/systems", request, options);
  }

  /** Battles of two models. @param {S.PreferencesRequest} request @param {CallOptions} [options] @returns {Promise<S.TestAnswer>} */
  preferences(request, options) {
    return this.post("/v1/tests/preferences", request, options);
  }

  /** A test of files: a Blob or File for each role (u, v, gold, …); other members are options.
   * @param {FilesForm} form @param {CallOptions} [options] @returns {Promise<S.TestAnswer>} */
  files(form, options) {
    return this.post("/v1/tests/files", formOf(form), options);
  }

  /** A gate. Only the `verdict` "pass" is a pass; a failed gate is also an answer, and throws nothing.
   * @param {S.GateRequest | GateForm} request @param {CallOptions} [options] @returns {Promise<S.GateAnswer>} */
  async gate(request, options) {
    const answer = await this.post("/v1/gate", request, { ...options, query: FAIL_STATUS });
    if (typeof answer?.verdict !== "string") throw unreadable("The answer has no verdict.");
    return answer;
  }

  /** A board of many systems; if systems are named after their files, give Files, which have names.
   * @param {S.CompareRequest | CompareForm} request @param {CallOptions} [options] @returns {Promise<S.CompareAnswer>} */
  compare(request, options) {
    return this.post("/v1/compare", request, options);
  }

  /** Predict the cost of a test or a comparison. @param {S.PlanEnvelope} request @param {CallOptions} [options]
   * @returns {Promise<S.PlanAnswer | S.ComparePlanAnswer>} */
  plan(request, options) {
    return this.post("/v1/plan", request, options);
  }

  /** The number of items that a test needs, its power, or the difference it detects.
   * @param {S.PowerRequest | PowerForm} request @param {CallOptions} [options] @returns {Promise<S.PowerAnswer>} */
  power(request, options) {
    return this.post("/v1/power", request, options);
  }

  /** Send many small requests at once; answers are in order, and an invalid request has a `problem` in its place.
   * @param {S.ListedRequest[]} tests @param {CallOptions} [options] @returns {Promise<S.BatchedAnswer[]>} */
  async batch(tests, options) {
    return (await this.post("/v1/batch", { tests }, options)).results;
  }

  /** The capabilities of the server. @param {CallOptions} [options] @returns {Promise<Record<string, any>>} */
  async meta(options) {
    return json(await this.send("GET", "/v1/meta", undefined, options));
  }

  /** An answer as text, a page or a picture. @param {Kind} kind @param {object} request as in the method of that name
   * @param {Format} format @param {CallOptions} [options] @returns {Promise<Blob>} */
  async report(kind, request, format, options) {
    return (await this.#answer(kind, request, { format }, options)).blob();
  }

  /** @param {Kind} kind @param {object} request @param {Record<string, string>} query @param {CallOptions} [options] */
  #answer(kind, request, query, options) {
    const path = ["gate", "compare", "power"].includes(kind) ? `/v1/${kind}` : `/v1/tests/${kind}`;
    const body = kind === "files" ? formOf(request) : request;
    return this.send("POST", path, body, { ...options, query: { ...query, ...(kind === "gate" ? FAIL_STATUS : {}) } });
  }

  /** Store an answer on the server for a while; returns its URL. @param {Kind} kind @param {object} request as in the method of
   * that name @param {Format} [format] @param {CallOptions} [options] @returns {Promise<string>} */
  async keep(kind, request, format = "json", options) {
    const answer = await this.#answer(kind, request, { format, store: "1" }, options);
    // Use only the name: a proxy may have changed the path before it.
    const name = answer.headers.get("content-location")?.match(STORED)?.[1];
    if (!name) throw unreadable("The answer has no permalink.");
    return `${this.#base}/v1/results/${name}`;
  }

  /** The stored answer at a URL of this server, or its name r_…. @param {string} link @param {CallOptions} [options]
   * @returns {Promise<Blob>} */
  async stored(link, options) {
    const own = `${this.#base}/v1/results/`;
    const name = link.startsWith(own) ? link.slice(own.length) : link;
    // Send the key to this server only.
    if (`/v1/results/${name}`.match(STORED)?.[1] !== name) throw unsendable(`${link} is not a permalink of this server: give r_ and 32 digits, alone or after ${own}.`);
    return (await this.send("GET", `/v1/results/${name}`, undefined, options)).blob();
  }

  /** Post a request, and read the JSON of its answer. @param {string} path @param {object} request
   * @param {SendOptions} [options] @returns {Promise<any>} */
  async post(path, request, options) {
    return json(await this.send("POST", path, request, options));
  }

  /** Send any request; retry if the server is busy or the connection breaks. Retries are safe: an answer is a
   * function of its request, and jobs are submitted with keys. Throws ExactpermError, or the signal's reason.
   * @param {string} method @param {string} path @param {object} [request] an object, or a form
   * @param {SendOptions} [options] @returns {Promise<Response>} complete, and not a problem */
  async send(method, path, request, { signal, timeoutMs, query, headers } = {}) {
    const { fetch, retries, patienceMs, timeoutMs: usual } = this.#settings;
    const asked = Number(/** @type {any} */ (request)?.timeout_s) * 1000 || 0;
    const longest = timeoutMs ?? (asked ? Math.max(usual, asked + GRACE_MS) : usual);
    const url = `${this.#base}${path}${query ? `?${new URLSearchParams(query)}` : ""}`;
    const body = request === undefined ? undefined : bodyOf(request);
    const sent = new Headers({ ...headers, ...Object.fromEntries(this.#headers) });
    if (typeof body === "string") sent.set("content-type", "application/json");
    /** @type {RequestInit} */
    const init = { method, headers: sent, redirect: "error", ...(body === undefined ? {} : { body }) };
    const end = performance.now() + patienceMs;
    for (let attempt = 0; ; attempt += 1) {
      let problem;
      try {
        const response = await once(fetch, url, init, longest, signal);
        // A failed gate is an answer, with any status that was requested when it was stored.
        if (response.ok || response.status === 304 || response.headers.has("x-verdict")) return response;
        problem = await problemOf(response);
      } catch (error) {
        if (!(error instanceof ExactpermError)) throw error;
        problem = error;
      }
      const wait = waitAfter(problem, attempt);
      if (wait === undefined || attempt >= retries || performance.now() + wait > end) throw problem;
      await sleep(wait, signal);
    }
  }
}

/** Jobs, which outlive their connection: `client.jobs`. */
export class Jobs {
  #client;

  /** @param {Client} client */
  constructor(client) {
    this.#client = client;
  }

  /** Submit a job; a repeated `key` returns the same job. @param {S.JobRequest} request
   * @param {CallOptions & {key?: string}} [options] @returns {Promise<S.JobAnswer>} */
  submit(request, { key = unique(), ...options } = {}) {
    return this.#client.post("/v1/jobs", request, { ...options, headers: { "idempotency-key": key } });
  }

  /** @param {string} job @param {CallOptions} [options] @returns {Promise<S.JobAnswer>} */
  async status(job, options) {
    return json(await this.#client.send("GET", pathOf(job), undefined, options));
  }

  /** Wait until a job has ended, and check its `state` for success. @param {string} job
   * @param {CallOptions & {onProgress?: (job: S.JobAnswer) => void}} [options] @returns {Promise<S.JobAnswer>} */
  async wait(job, { onProgress, ...options } = {}) {
    for (let wait = FIRST_LOOK_MS; ; wait = Math.min(LONGEST_LOOK_MS, 1.5 * wait)) {
      const now = await this.status(job, options);
      onProgress?.(now);
      if (["succeeded", "failed", "cancelled"].includes(now.state)) return now;
      await sleep(wait, options.signal);
    }
  }

  /** The answer of the request's method; for a list of requests an array, where an invalid request has its problem.
   * @param {string} job @param {CallOptions} [options] @returns {Promise<any>} */
  async result(job, options) {
    const response = await this.#client.send("GET", `${pathOf(job)}/result`, undefined, options);
    if (!response.headers.get("content-type")?.startsWith("application/x-ndjson")) return json(response);
    return (await response.text()).trimEnd().split("\n").map((line) => JSON.parse(line));
  }

  /** Jobs of this API key, newest first; for the next page, set `after` to the last id.
   * @param {CallOptions & {state?: string, limit?: number, after?: string}} [options] @returns {Promise<S.JobAnswer[]>} */
  async list({ state, limit, after, ...options } = {}) {
    const given = Object.entries({ state, limit, after }).filter(([, value]) => value !== undefined);
    const query = Object.fromEntries(given.map(([name, value]) => [name, String(value)]));
    return (await json(await this.#client.send("GET", "/v1/jobs", undefined, { ...options, query }))).jobs;
  }

  /** Cancel and delete a job. @param {string} job @param {CallOptions} [options] @returns {Promise<void>} */
  async delete(job, options) {
    await this.#client.send("DELETE", pathOf(job), undefined, options);
  }

  /** Cancel a job; repeating this is safe. @param {string} job @param {CallOptions} [options] @returns {Promise<S.JobAnswer>} */
  cancel(job, options) {
    return this.#client.post(`${pathOf(job)}/cancel`, {}, options);
  }
}

/** @param {string} job */
const pathOf = (job) => `/v1/jobs/${encodeURIComponent(job)}`;

/** A random key; Node 18 and pages without TLS lack crypto.randomUUID. */
const unique = () => [Date.now(), Math.random(), Math.random()].map((n) => n.toString(36).replace("0.", "")).join("-");
