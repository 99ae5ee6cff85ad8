// The search as the address: ?q=…&k=…&estimator=…, so that it can be shared and the back button works.

const DEFAULT_K = 10;
const MOST = 100;
const ESTIMATORS = ["mean", "min", "median", "log"];
const PAUSE = 1500; // ms without typing after which the next key begins a new entry of the history

const validK = (value) => (/^\d{1,3}$/.test(value) && Number(value) >= 1 && Number(value) <= MOST ? Number(value) : null);

/** The search that the address asks for; what is not legal there counts as not given. */
function read() {
  const given = new URLSearchParams(location.search);
  const estimator = given.get("estimator");
  return {
    q: (given.get("q") ?? "").trim(),
    k: validK(given.get("k") ?? "") ?? DEFAULT_K,
    estimator: ESTIMATORS.includes(estimator) ? estimator : "",
  };
}

function address({ q, k, estimator }) {
  const asked = new URLSearchParams();
  if (q) asked.set("q", q);
  if (k !== DEFAULT_K) asked.set("k", k);
  if (estimator) asked.set("estimator", estimator);
  const query = asked.toString();
  return location.pathname + (query ? `?${query}` : "");
}

let typing = false; // whether the current entry is one that is being typed
let timer;

/** The current entry is finished: what follows is a new one. */
function settle() {
  clearTimeout(timer);
  typing = false;
}

/** Write a search into the address. Keys typed in one go share one entry of the history. */
function write(search, { typed = false } = {}) {
  const next = address(search);
  if (next !== location.pathname + location.search) {
    try {
      if (typed && typing) history.replaceState(null, "", next);
      else history.pushState(null, "", next);
    } catch {
      // browsers refuse more than some hundred changes in a short time: the address lags behind, the search does not
    }
  }
  settle();
  if (!typed) return;
  typing = true;
  timer = setTimeout(settle, PAUSE);
}

export { read, settle, validK, write };
