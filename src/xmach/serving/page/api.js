// The server: requests, their errors, one more try where it is busy, and the token.

const TOKEN = "xmach-token";
const LONGEST_WAIT = 60; // s; who is told to wait longer is told so
let token = stored();

class ApiError extends Error {
  constructor(status, message, requestId = null) {
    super(message);
    this.status = status; // 0: no answer at all
    this.requestId = requestId;
  }
}

function stored() {
  try {
    return sessionStorage.getItem(TOKEN);
  } catch {
    return null; // storage is switched off: the token lives as long as the page
  }
}

const hasToken = () => Boolean(token);

/** Keep a token for this tab. */
function useToken(value) {
  token = value;
  try {
    sessionStorage.setItem(TOKEN, value);
  } catch {
    // kept in memory only
  }
}

/** Wait, or throw when the signal says that nobody waits any more. */
function pause(seconds, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, seconds * 1000);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });
}

async function send(path, body, signal) {
  const headers = { Accept: "application/json" };
  if (token) headers.Authorization = `Bearer ${token}`;
  if (body) headers["Content-Type"] = "application/json";
  const begun = performance.now();
  let response, text;
  try {
    response = await fetch(path, { method: body ? "POST" : "GET", headers, body: body && JSON.stringify(body), signal, cache: "no-store" });
    text = await response.text();
  } catch {
    signal?.throwIfAborted();
    throw new ApiError(0, "The server cannot be reached. Is it running?");
  }
  return { response, text, took: performance.now() - begun };
}

function failure(response, text) {
  let told = {};
  try {
    told = JSON.parse(text).error ?? {};
  } catch {
    // not our server's words: a proxy's page, perhaps
  }
  const message = told.message || `The server answered with status ${response.status}.`;
  return new ApiError(response.status, message, told.request_id ?? response.headers.get("X-Request-ID"));
}

/** {answer, took}; `onBusy(seconds)` is told before the one more try that 429 and 503 ask for. */
async function request(path, body, { signal, onBusy = () => {} } = {}) {
  let { response, text, took } = await send(path, body, signal);
  if (response.status === 429 || response.status === 503) {
    const asked = Number(response.headers.get("Retry-After") ?? 1);
    const seconds = Number.isFinite(asked) && asked >= 0 ? asked : 1;
    if (seconds <= LONGEST_WAIT) {
      onBusy(seconds);
      await pause(seconds, signal);
      ({ response, text, took } = await send(path, body, signal));
    }
  }
  if (!response.ok) throw failure(response, text);
  try {
    return { answer: JSON.parse(text), took };
  } catch {
    throw new ApiError(response.status, "The server's answer is not JSON. Is this xmach's server?");
  }
}

// relative addresses: the page also works behind a proxy that serves it under a path
const predict = (body, options) => request("v1/predict", body, options);
const explain = (body, options) => request("v1/explain", body, options);
const models = (options) => request("v1/models", null, options);

export { ApiError, explain, hasToken, models, predict, useToken };
