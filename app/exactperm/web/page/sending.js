// Send requests to the service, and fetch answers in other representations.
import { byId } from "./dom.js";

const LATER = 500; // milliseconds between updates of the clock

/** The header for a server with API keys; the key is only in the form. */
const authorization = () => {
  const key = byId("f-key").value.trim();
  return key ? { authorization: `Bearer ${key}` } : {};
};

/** The body of a request, independent of later changes in the form. */
export function body(question) {
  if (question.json) return JSON.stringify(question.json);
  const form = new FormData();
  for (const [name, value] of question.fields) form.append(name, value);
  for (const { role, file } of question.files) form.append(role, file, file.name);
  return form;
}

const headersOf = (question) => ({ ...(question.json ? { "content-type": "application/json" } : {}), ...authorization() });

// With fail_status 200 a failed gate is an ordinary answer, whose verdict the page shows.
const addressed = (question, query) => {
  const parameters = new URLSearchParams(question.mode === "gate" ? { fail_status: "200", ...query } : query).toString();
  return parameters ? `${question.path}?${parameters}` : question.path;
};

/**
 * Ask for JSON. `tell(phase, part)` is called with "uploading" and the share that was sent, then with "computing" and seconds.
 * Resolves to {status, text, retryAfter, requestId}; rejects with "aborted" or "network".
 */
export function ask(question, tell) {
  const request = new XMLHttpRequest();
  let timer = null;
  const answered = new Promise((resolve, reject) => {
    const computing = () => {
      if (timer !== null) return;
      const since = performance.now();
      tell("computing", 0);
      timer = setInterval(() => tell("computing", Math.floor((performance.now() - since) / 1000)), LATER);
    };
    request.open("POST", addressed(question, {}));
    const headers = { accept: "application/json", ...headersOf(question) };
    for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
    request.upload.addEventListener("progress", ({ loaded, total }) => {
      if (loaded < total) tell("uploading", loaded / total);
    });
    request.upload.addEventListener("load", computing);
    request.addEventListener("load", () => resolve({
      status: request.status, text: request.responseText, retryAfter: request.getResponseHeader("retry-after"),
    }));
    request.addEventListener("error", () => reject(new Error("network")));
    request.addEventListener("abort", () => reject(new Error("aborted")));
    request.addEventListener("loadend", () => clearInterval(timer));
    tell("uploading", 0);
    request.send(body(question));
  });
  return { answered, abort: () => request.abort() };
}

/** Fetch the answer to a request as `format`: {blob}, or {reason} if this fails. */
export async function answered(question, format, query = {}) {
  try {
    const response = await fetch(addressed(question, { format, ...query }), {
      method: "POST", body: body(question), headers: headersOf(question),
    });
    if (response.ok) return { blob: await response.blob() };
    const { detail, title } = await response.json();
    return { reason: detail ?? title ?? "" };
  } catch {
    return { reason: "The server did not send it." };
  }
}

/** The reason for a missing answer: the service's sentence, or the status. */
async function reasonOf(response) {
  const wait = response.headers.get("retry-after") ?? "";
  const later = /^\d+$/.test(wait) ? ` Try again in ${wait} s.` : "";
  try {
    const { detail, title } = await response.json();
    return `${detail ?? title}${later}`;
  } catch {
    return `The server answered with status ${response.status}.${later}`; // perhaps the page of a proxy
  }
}

const UNREACHED = "There was no response. This also happens when a file has changed since it was chosen.";

/** Store the HTML report of a request: {location} on the server, or {reason}. */
export async function keep(question) {
  try {
    const response = await fetch(addressed(question, { format: "html", store: "1" }), {
      method: "POST", body: body(question), headers: headersOf(question),
    });
    if (!response.ok) return { reason: await reasonOf(response) };
    await response.blob();
    return { location: response.headers.get("content-location") ?? "" };
  } catch {
    return { reason: UNREACHED };
  }
}

/** Fetch a stored answer by its name: {blob}, or {reason}. */
export async function stored(name) {
  try {
    const response = await fetch(`v1/results/${name}`, { headers: authorization() });
    return response.ok ? { blob: await response.blob() } : { reason: await reasonOf(response) };
  } catch {
    return { reason: "There was no response." };
  }
}

/** Fetch the answer to a request as `format`: a Blob, or null if this fails. */
export async function represented(question, format, query = {}) {
  try {
    const response = await fetch(addressed(question, { format, ...query }), {
      method: "POST", body: body(question), headers: headersOf(question),
    });
    const problem = (response.headers.get("content-type") ?? "").startsWith("application/problem");
    return response.ok && !problem ? await response.blob() : null;
  } catch {
    return null;
  }
}

export async function picture(question, theme) {
  try {
    const response = await fetch(addressed(question, { theme }), {
      method: "POST", body: body(question), headers: { accept: "image/svg+xml", ...headersOf(question) },
    });
    return response.ok && response.headers.get("content-type")?.startsWith("image/svg") ? await response.blob() : null;
  } catch {
    return null;
  }
}
