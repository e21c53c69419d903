"use strict";

const KEY = "sift.key";
const PAGE_CHARS = 40000;
const at = (id) => document.getElementById(id);
const fields = [...document.querySelectorAll("#search [data-flag]")];
let searching = null; // what ends the search under way
let reading = null; // the page that is open, and where its next piece begins

/* Whatever a vendor or a site has written comes here, and becomes text: never markup. */
function make(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children.filter((child) => child !== null && child !== ""));
  return made;
}

function button(text, action) {
  const made = make("button", { type: "button", class: "quiet" }, text);
  made.addEventListener("click", action);
  return made;
}

/* A link to the web, or null: no other scheme is followed from here. */
function web(url) {
  try {
    const found = new URL(url);
    return ["http:", "https:"].includes(found.protocol) ? found : null;
  } catch {
    return null;
  }
}

const count = (number, one, many = `${one}s`) => `${number} ${number === 1 ? one : many}`;

/* ---- the service ---- */

async function ask(path, body, signal) {
  const headers = { Accept: "application/json" };
  const key = sessionStorage.getItem(KEY);
  if (key) headers.Authorization = `Bearer ${key}`;
  if (body) headers["Content-Type"] = "application/json";
  const begun = performance.now();
  try {
    const response = await fetch(path, {
      method: body ? "POST" : "GET", headers, body: body && JSON.stringify(body), signal,
      credentials: "omit", cache: "no-store", redirect: "error", referrerPolicy: "no-referrer",
    });
    const data = await response.json();
    return { status: response.status, data, wait: response.headers.get("Retry-After"), ms: performance.now() - begun };
  } catch (error) {
    if (signal && signal.aborted) throw error;
    return { status: 0, data: {}, wait: null, ms: 0 };
  }
}

const WHY_NOT = {
  0: "The service does not answer, or not as Sift does. Is it running?",
  401: "The service does not know this key; it may have expired, or been revoked.",
  413: "The request is too large.",
  429: "Too many requests at a time.",
  500: "A fault in the service; its log says where.",
};

/* Say in words why there is no answer. */
function refusal({ status, data, wait }) {
  const { error = "", hint = "" } = data;
  const later = wait ? ` Try again in ${count(Number(wait), "second")}.` : "";
  if (status === 401 && !sessionStorage.getItem(KEY)) return "The service wants a key.";
  if (error === "invalid query") return "A query is wanted: 1 to 4 lines of at most 1,500 characters each.";
  if (error === "forbidden" && hint === "origin") {
    return "The service answers no page under this name. Without keys it does so under an address such as 127.0.0.1.";
  }
  if (error === "search unavailable") return `No source answered.${later}`;
  if (error === "url not allowed") return `This page may not be opened: ${hint}.`;
  if (error === "robots disallow") return "The site's robots.txt does not allow programs to open this page.";
  if (error === "unsupported content type") return "The page is no text.";
  if (error === "fetch failed") return `The page could not be had${hint ? `: ${hint}` : ""}.`;
  if (error === "fetch timeout") return "The page did not come in time.";
  if (error === "busy") return `Too many pages are being opened.${later}`;
  if (error === "not found") return "This service opens no pages (SIFT_FETCH is off).";
  return WHY_NOT[status] || `The service refused: ${error}${hint ? `, ${hint}` : ""}.${later}`;
}

/* What a warning means, and what can be done; the first that fits. */
const ADVICE = [
  [/: timeout$/, "It did not answer in time, so its pages are missing. Search again in a moment."],
  [/: unreachable$/, "It could not be reached, so its pages are missing. Its operator's tool is sift doctor."],
  [/: http (401|403)$/, "It refused the key or the address. sift doctor tells which."],
  [/: http 429$/, "It wants fewer calls. Wait a little."],
  [/: http 5\d\d$/, "It has trouble of its own. Try again later."],
  [/: (http \d+|redirect refused|bad response|response too large|internal error)$/, "It gave no usable answer. sift doctor looks at its address."],
  [/no engine answered$/, "None of its engines answered. Try again, or other words."],
  [/engines? unresponsive$/, "Some of its engines did not answer: it may have found less."],
  [/ searched \d+ of \d+ engines$/, "Only these engines know that filter: it may find less."],
  [/ dated outside /, "Some of its pages are not of the time asked for."],
  [/ dropped$/, "It takes three hosts, so it may find less; what it found is on your hosts all the same."],
  [/holds search syntax$/, "A word of the query is a command to it. Quote it, or write it otherwise."],
  [/query cut /, "It takes shorter queries, and was sent the beginning."],
  [/too long, not asked$/, "It takes shorter queries, and a demanded phrase is not cut."],
  [/(not applied|ignored \(.*\)|not sent)$/, "It has no such filter: its hits may not match."],
  [/daily cap unavailable$/, "Its credits cannot be counted, so it was not asked. Can the state directory be written?"],
  [/daily cap$/, "Its credits of today are used. It is asked again after midnight, UTC."],
  [/monthly quota$/, "Its calls of this month are used."],
  [/after repeated failures$/, "It failed several times, and rests for a moment."],
  [/no thread left$/, "The service is at its limit. Search again in a moment."],
];

function notes(warnings) {
  if (!warnings || !warnings.length) return null;
  const items = warnings.map((warning) => {
    const advice = ADVICE.find(([form]) => form.test(warning));
    return make("li", {}, make("code", {}, warning), advice ? ` ${advice[1]}` : "");
  });
  return make("ul", { class: "notes", "aria-label": "Warnings" }, ...items);
}

/* ---- the request ---- */

function value(field) {
  const text = field.value.trim();
  if (field.dataset.type === "flag") return field.checked === field.defaultChecked && field.id !== "explain" ? null : field.checked;
  if (field.dataset.type === "list") return text ? text.split(/[\s,]+/).filter(Boolean) : null;
  if (field.dataset.type === "number") return text === "" ? null : Number.isFinite(Number(text)) ? Number(text) : text;
  return field.validity.badInput ? "?" : text || null; // a day that is none: the service names the field
}

function request() {
  const queries = at("query").value.split("\n").map((line) => line.trim()).filter(Boolean);
  const body = queries.length > 1 ? { queries } : { query: queries[0] || "" };
  for (const field of fields) {
    const found = value(field);
    if (found !== null && !(field.id === "explain" && !found)) body[field.id] = found;
  }
  return body;
}

const quoted = (text) => (/^[\w./:@%+=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

function asCurl(body) {
  const key = sessionStorage.getItem(KEY) ? ' -H "Authorization: Bearer $SIFT_TOKEN"' : "";
  return `curl -s ${location.origin}/v1/search${key} -H 'Content-Type: application/json' -d ${quoted(JSON.stringify(body))}`;
}

function asCommand(body) {
  const flags = fields.filter((field) => field.id in body).flatMap((field) => {
    if (field.dataset.type === "flag") return [field.dataset.flag];
    return [body[field.id]].flat().map((each) => `${field.dataset.flag} ${quoted(String(each))}`);
  });
  const start = [`SIFT_URL=${location.origin} sift search`];
  if (body.queries) return `printf %s ${quoted(JSON.stringify(body.queries))} | ${[...start, "--queries-file -", ...flags].join(" ")}`;
  return [...start, ...flags, "--", quoted(body.query)].join(" ");
}

function asTool({ rerank, ...rest }) {
  return JSON.stringify({ name: "sift_search", arguments: rest }, null, 1);
}

function same(body) {
  const ways = [["curl", asCurl(body)], ["sift", asCommand(body)], ["MCP, as tools/call", asTool(body)]];
  return make("details", {}, make("summary", {}, "The same request elsewhere"), ...ways.map(([title, text]) => {
    const copy = button("Copy", async () => {
      try {
        await navigator.clipboard.writeText(text);
        copy.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(shown);
        copy.textContent = "Selected";
      }
    });
    copy.setAttribute("aria-label", `Copy for ${title}`);
    const shown = make("pre", {}, text);
    return make("div", { class: "same" }, make("h3", {}, title), make("div", { class: "same" }, shown, copy));
  }));
}

/* ---- the answer ---- */

function why(hit, several) {
  if (!hit.why) return `${hit.source} · score ${hit.score.toFixed(4)}`;
  const lists = hit.why.map(({ query, source, rank }) => `${several ? `query ${query}: ` : ""}${source} #${rank}`);
  return `${lists.join(" · ")} → ${hit.score.toFixed(4)}`;
}

function hitItem(hit, several) {
  const link = web(hit.url);
  const title = link ? make("a", { href: link.href, rel: "noopener noreferrer", target: "_blank" }, hit.title) : hit.title;
  const place = link ? link.host + decoded(link.pathname + link.search) : hit.url;
  const facts = make("p", { class: "facts" }, why(hit, several));
  if (hit.published_date) facts.prepend(make("span", {}, hit.published_date));
  if (link) {
    const read = button("Read", () => open(hit.url, hit.title));
    read.setAttribute("aria-label", `Read ${hit.title}`);
    facts.append(read);
  }
  return make("li", {}, make("h2", {}, title), make("p", { class: "place" }, place), hit.snippet ? make("p", { class: "snippet" }, hit.snippet) : null, facts, copies(hit));
}

function copies({ copies: found = [] }) {
  if (!found.length) return null;
  const list = make("ul", {}, ...found.map((url) => make("li", {}, url)));
  return make("details", { class: "facts" }, make("summary", {}, `${count(found.length, "other spelling")} of its address`), list);
}

function decoded(path) {
  try {
    return path === "/" ? "" : decodeURI(path);
  } catch {
    return path;
  }
}

const DROPPED = { unusable: "without a usable address", repeats: "repeats", min_score: "under the score", domains: "on other hosts", beyond_k: "beyond the number of hits" };

function explained({ sources, dropped, credits, ms }) {
  const head = ["source", "query", "outcome", "ms", "hits", "credits"];
  const cell = (tag, name, text) => make(tag, ["source", "outcome"].includes(name) ? {} : { class: "number" }, String(text));
  const table = make("table", {}, make("thead", {}, make("tr", {}, ...head.map((name) => cell("th", name, name)))),
    make("tbody", {}, ...sources.map((row) => make("tr", {}, ...head.map((name) => cell("td", name, row[name]))))));
  const gone = Object.entries(DROPPED).filter(([name]) => dropped[name]).map(([name, words]) => `${dropped[name]} ${words}`);
  return make("details", {}, make("summary", {}, "What each source did"), make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Sources of this answer" }, table),
    make("p", { class: "takes" }, `Not shown: ${gone.join(", ") || "nothing"}. ${ms.total} ms in all, ${ms.sources} for the sources, ${ms.merge} for merging. ${count(credits.spent, "credit")} spent, ${credits.saved} saved.`));
}

function summary(data, ms) {
  const parts = [`${data.sizes.results} of ${count(data.sizes.unique, "page")}`, data.cached ? "from the cache" : "asked anew", `${Math.round(ms)} ms`];
  if (data.explain) {
    parts.push(`${count(data.explain.credits.spent, "credit")} spent`);
    for (const [name, left] of Object.entries(data.explain.credits.left)) parts.push(`${name}: ${left === null ? "credits unknown" : `${left} left today`}`);
  }
  return parts.join(" · ");
}

/* Replace the answer at once, so that nothing of it is seen half done. */
function show(told, ...parts) {
  requestAnimationFrame(() => {
    at("told").textContent = told;
    at("answer").replaceChildren(...parts.filter(Boolean));
    at("answer").setAttribute("aria-busy", "false");
  });
}

async function search() {
  if (searching) searching.abort();
  const mine = (searching = new AbortController());
  const body = request();
  for (const field of [at("query"), ...fields]) field.removeAttribute("aria-invalid");
  at("told").textContent = "Searching…";
  at("answer").setAttribute("aria-busy", "true");
  let found;
  try {
    found = await ask("/v1/search", body, mine.signal);
  } catch {
    return; // another search took its place
  }
  if (mine !== searching) return;
  searching = null;
  if (found.status !== 200) {
    refused(found);
  } else {
    const { results, warnings, explain } = found.data;
    const several = found.data.queries.length > 1;
    const none = results.length ? null : make("p", {}, "Nothing was found. Fewer filters or other words may find more.");
    show(summary(found.data, found.ms), notes(warnings), none, make("ol", { class: "hits", role: "list" }, ...results.map((hit) => hitItem(hit, several))),
      explain ? explained(explain) : null, same(body));
  }
  status();
}

function refused(found) {
  const wrong = { "invalid query": "query", "invalid search": found.data.hint }[found.data.error];
  const field = wrong && at(wrong === "queries" ? "query" : wrong);
  let words = refusal(found);
  if (field && wrong !== "query") {
    const takes = field.getAttribute("aria-describedby");
    words = `“${field.labels[0].textContent}” is not right${takes ? `: ${at(takes).textContent}` : ""}.`;
  }
  const wantsKey = found.status === 401 ? button("Enter a key", () => keys(words)) : null;
  show("", make("div", { class: "error", role: "alert" }, words, wantsKey ? make("p", { class: "row" }, wantsKey) : null), notes(found.data.warnings));
  if (field) {
    if (field !== at("query")) at("filters").open = true;
    field.setAttribute("aria-invalid", "true");
    field.focus();
  }
}

/* ---- a page ---- */

async function open(url, title) {
  reading = { url, start: 0 };
  at("page-title").textContent = title;
  at("page-text").replaceChildren();
  at("page").showModal();
  await readOn();
}

async function readOn() {
  const mine = reading;
  at("page-more").hidden = true;
  at("page-about").textContent = "Opening…";
  const found = await ask("/v1/fetch", { url: mine.url, start: mine.start, max_chars: PAGE_CHARS, format: "text" });
  if (mine !== reading) return;
  if (found.status !== 200) {
    at("page-about").textContent = refusal(found);
    return;
  }
  const { content, chars, next_start: next, extractor, cached, final_url: last, warnings } = found.data;
  at("page-text").append(...content.split("\n").filter((line) => line.trim()).map((line) => make("p", {}, line)));
  const facts = [last, count(chars, "character"), extractor, cached ? "from the cache" : `${Math.round(found.ms)} ms`].filter(Boolean).join(" · ");
  at("page-about").textContent = [facts, ...warnings].join("\n");
  mine.start = next;
  at("page-more").hidden = !next;
}

/* ---- keys and sources ---- */

function keys(words = "It stays in this tab, and goes to this service alone.") {
  at("key-told").textContent = words;
  at("token").value = "";
  if (!at("key").open) at("key").showModal();
}

function use(key) {
  // No header can hold it: the browser would refuse, and it would look as if the service did not answer.
  if (/[^\x21-\x7e]/.test(key)) return keys("A key has no blanks, and only letters, digits, - and _.");
  if (key) sessionStorage.setItem(KEY, key);
  else sessionStorage.removeItem(KEY);
  at("key").close();
  status(true);
}

/* Show how the sources are, where the key may see that. */
async function status(isFirst = false) {
  const found = await ask("/v1/status");
  if (found.status === 401 && isFirst) refused(found);
  if (found.status !== 200) return at("sources").replaceChildren();
  at("sources").replaceChildren(...found.data.sources.map(({ name, state, credits }) => {
    const left = credits ? ` ${credits.used === null ? "?" : Math.max(0, credits.limit - credits.used)}/${credits.limit}` : "";
    const words = { ok: "answers", failing: "fails", resting: "rests after failures", capped: "has no credits left today", idle: "was not asked yet" }[state] || state;
    const title = `${name} ${words}${credits ? `; credits left of the day's ${credits.limit}` : ""}`;
    return make("li", { class: state, title }, `${name}${left}`, make("span", { class: "unseen" }, ` ${words}`));
  }));
}

function grow() {
  const query = at("query");
  query.rows = Math.min(4, Math.max(1, query.value.split("\n").length));
}

at("search").addEventListener("submit", (event) => {
  event.preventDefault();
  search();
});
at("query").addEventListener("input", grow);
at("query").addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  search();
});
at("key-open").addEventListener("click", () => keys());
at("key-forget").addEventListener("click", () => use(""));
at("key-form").addEventListener("submit", (event) => {
  event.preventDefault();
  use(at("token").value.trim());
});
at("page-more").addEventListener("click", readOn);
at("page").addEventListener("close", () => (reading = null));
for (const close of document.querySelectorAll("dialog .close")) close.addEventListener("click", () => close.closest("dialog").close());
grow();
status(true);
