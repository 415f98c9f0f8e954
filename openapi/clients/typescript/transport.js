// Send requests for exactperm.js: errors, attempts, waiting times, bodies and forms.

/** @import * as S from "./schema.js" */

const LATER = [429, 503];
const PROBLEM = "application/problem+json";

/** A refusal of the server (status 400 and above), or a call without an answer (status 0). */
export class ExactpermError extends Error {
  /** @param {Partial<S.Problem> & {retryAfterMs?: number, cause?: unknown}} problem */
  constructor(problem) {
    const { type = "about:blank", title = "", status = 0, detail = "", instance = "", errors = [] } = problem;
    super(`${title} (${status}): ${detail}`, { cause: problem.cause });
    this.name = "ExactpermError";
    /** The server's type, /docs/problems#invalid-test; without an answer #no-answer, #timeout, #unreadable or #invalid-data. */
    this.type = type;
    /** The type after its #, such as "invalid-test". */
    this.kind = type.slice(type.indexOf("#") + 1);
    this.title = title;
    this.status = status;
    this.detail = detail;
    /** The id of the request; quote it to the operator. */
    this.instance = instance;
    /** Errors, each with a pointer (RFC 6901), a code and a sentence. */
    this.errors = errors;
    /** Milliseconds after which to try again, if the server sent Retry-After. @type {number | undefined} */
    this.retryAfterMs = problem.retryAfterMs;
  }
}

/** Make one attempt and read the whole body. Throws ExactpermError (#timeout, #no-answer), or the signal's reason.
 * @param {typeof fetch} fetch @param {string} url @param {RequestInit} init @param {number} timeoutMs
 * @param {AbortSignal | undefined} signal */
export async function once(fetch, url, init, timeoutMs, signal) {
  signal?.throwIfAborted();
  const controller = new AbortController(); // AbortSignal.any is not in Node 18
  const stop = () => controller.abort();
  const timer = setTimeout(stop, timeoutMs);
  signal?.addEventListener("abort", stop);
  try {
    const response = await fetch(url, { ...init, signal: controller.signal });
    const body = await response.arrayBuffer();
    return new Response(body.byteLength ? body : null, response);
  } catch (error) {
    signal?.throwIfAborted();
    const { origin } = new URL(url), cause = /** @type {any} */ (error);
    const [type, title, detail] = controller.signal.aborted
      ? ["#timeout", "No answer in time", `${origin} took more than ${timeoutMs} ms.`]
      : ["#no-answer", "No answer", `${origin}: ${cause?.cause?.message || cause}. Is it running, and the URL right?`];
    throw new ExactpermError({ type, title, detail, cause });
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", stop);
  }
}

/** Milliseconds to wait before another attempt; undefined if there is no use: an exceeded deadline would be exceeded again.
 * @param {ExactpermError} problem @param {number} attempt from 0 */
export function waitAfter(problem, attempt) {
  const { kind, status, retryAfterMs } = problem;
  if (kind !== "no-answer" && (!LATER.includes(status) || kind === "deadline-exceeded")) return undefined;
  const backoff = Math.min(8000, 250 * 2 ** attempt) / 2;
  return (retryAfterMs ?? backoff) + Math.random() * Math.min(250, backoff);
}

/** @param {Response} response @returns {Promise<any>} */
export async function json(response) {
  try {
    return await response.json();
  } catch (cause) {
    throw unreadable("The answer is not JSON.", cause);
  }
}

/** @param {string} detail @param {unknown} [cause] */
export function unreadable(detail, cause) {
  const whole = `${detail} Is the URL that of an exactperm server of version 1?`;
  return new ExactpermError({ type: "#unreadable", title: "Not an answer of exactperm", detail: whole, cause });
}

/** Convert a response to an error. @param {Response} response */
export async function problemOf(response) {
  const { status, statusText: title, headers } = response;
  const detail = "The answer is not problem details: it may come from a proxy before the server.";
  const told = headers.get("content-type")?.startsWith(PROBLEM) ? await json(response) : {};
  const after = headers.get("retry-after")?.trim() ?? "";
  const ms = /^\d+$/.test(after) ? Number(after) * 1000 : Math.max(0, Date.parse(after) - Date.now());
  return new ExactpermError({ title, detail, ...told, status, retryAfterMs: Number.isNaN(ms) ? undefined : ms });
}

/** Convert a request to a body: a form if there are files, else JSON. @param {object} request */
export function bodyOf(request) {
  const isForm = request instanceof FormData || Object.values(request).flat().some((value) => value instanceof Blob);
  return isForm ? formOf(request) : JSON.stringify(request, sendable);
}

/** Convert files and options to a form. @param {object} members */
export function formOf(members) {
  if (members instanceof FormData) return members;
  const form = new FormData();
  for (const [name, value] of Object.entries(members)) {
    const files = [value].flat().filter((one) => one instanceof Blob);
    files.forEach((file, n) => {
      // A File has a name; a Blob has none, and would be named "blob".
      form.append(name, file, "name" in file ? String(file.name) : files.length > 1 ? `${name}${n + 1}` : name);
    });
    if (files.length || value === undefined || value === null) continue;
    form.append(name, typeof value === "object" ? JSON.stringify(value, sendable) : String(value));
  }
  return form;
}

/** Refuse values that JSON.stringify silently changes: NaN becomes null, a Map {}, an array of bytes an object.
 * @this {any} @param {string} key @param {any} value */
function sendable(key, value) {
  let what = "";
  if (typeof value === "number" && !Number.isFinite(value)) what = `${value}, which JSON does not have`;
  else if (value === undefined && Array.isArray(this)) what = "undefined, which JSON does not have";
  else if (ArrayBuffer.isView(value) || value instanceof Map || value instanceof Set)
    what = `a ${value.constructor.name}: send an array (Array.from) or a plain object`;
  if (!what) return value;
  throw unsendable(`"${key}" is ${what}.`);
}

/** @param {string} detail */
export function unsendable(detail) {
  return new ExactpermError({ type: "#invalid-data", title: "This cannot be sent", detail });
}

/** @param {number} ms @param {AbortSignal} [signal] @returns {Promise<void>} */
export function sleep(ms, signal) {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const stop = () => (clearTimeout(timer), reject(signal?.reason));
    const timer = setTimeout(() => (signal?.removeEventListener("abort", stop), resolve()), ms);
    signal?.addEventListener("abort", stop);
  });
}
