// The two forms: one entry by its id, and two requests side by side.

import { byId, h } from "./dom.js";
import { bytes, count, date, dollars, span } from "./format.js";

/** The server answered, and said why not. */
export class Failed extends Error {}

export async function ask(path, body) {
  const options = body && { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
  const response = await fetch(path, { cache: "no-store", credentials: "omit", ...options });
  const answer = await response.json().catch(() => ({ error: `${response.status} ${response.statusText}` }));
  if (response.ok) return answer;
  const wrong = (answer.violations ?? []).map((one) => `${one.field} ${one.description}`);
  throw new Failed(wrong.join("; ") || answer.error);
}

async function show(place, make) {
  place.replaceChildren(h("p", { class: "muted" }, "Asking …"));
  try {
    place.replaceChildren(await make());
  } catch (error) {
    place.replaceChildren(h("p", { class: "wrong" }, error instanceof Failed ? error.message : "The server cannot be reached."));
  }
}

const facts = (pairs) => h("dl", { class: "facts" }, pairs.filter(([, value]) => value != null && value !== "").flatMap(([name, value]) => [h("dt", null, name), h("dd", null, value)]));
const enumName = (value) => value.split("_").slice(2).join("_").toLowerCase();

function entryFacts({ kind, entry, rule_id: rule, body_bytes: size }) {
  return facts([
    ["Entry", h("span", { class: "mono" }, entry.entry_id)],
    ["Matcher", kind.replace("MATCH_KIND_", "").toLowerCase()],
    ["Rule", rule],
    ["Scope", h("span", { class: "mono" }, entry.scope_sha7)],
    ["Stored", date(entry.store_time)],
    ["Age", span(entry.age)],
    ["Expires", `${date(entry.expire_time)}, ${entry.ttl_left > 0 ? `in ${span(entry.ttl_left)}` : `over since ${span(-entry.ttl_left)}`}`],
    ["Body", `${bytes(size).join(" ")}, ${entry.stream.replace("BODY_SHAPE_", "").toLowerCase()}`],
    ["Calls tools", entry.contains_tool_calls ? "yes" : "no"],
    ["Tokens", entry.usage && `${count(entry.usage.input_tokens)} in, ${count(entry.usage.output_tokens)} out`],
    ["Cost", entry.cost_avoided_usd == null ? "unknown" : dollars(entry.cost_avoided_usd)],
    ["Request", entry.source_request_id],
  ]);
}

export function lookUp(id) {
  byId("entry-id").value = id;
  return show(byId("entry-answer"), async () => entryFacts(await ask(`/api/entry/${encodeURIComponent(id)}`)));
}

function table(caption, heads, rows) {
  const head = h("thead", null, h("tr", null, heads.map((one) => h("th", { scope: "col" }, one))));
  const body = h("tbody", null, rows.map((row) => h("tr", null, row.map((cell) => h("td", null, cell)))));
  return h("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": caption }, h("table", null, h("caption", null, caption), head, body));
}

function explained(found) {
  const kinds = (matchers) => matchers.map((one) => one.replace("MATCH_KIND_", "").toLowerCase()).join(", ") || "none";
  const side = (one) => [one.rule_id || "no rule", one.bypass_reason !== "BYPASS_REASON_UNSPECIFIED" && `never looked up: ${enumName(one.bypass_reason)}`, ...one.causes.map((cause) => `${cause.path} ${cause.description}`)].filter(Boolean).join("; ");
  const parts = [
    h("p", null, h("strong", null, `${found.summary[0].toUpperCase()}${found.summary.slice(1)}.`)),
    facts([["First", side(found.lookup)], ["Second", side(found.other)]]),
  ];
  if (found.differences.length) {
    parts.push(table(found.differences_left_out ? "What differs: the first of it" : "What differs", ["Segment", "Where", "What", "Keys apart"],
      found.differences.map((one) => [one.segment, h("span", { class: "mono" }, one.path), one.description, kinds(one.matchers)])));
  }
  if (found.keys.length) {
    parts.push(table("Keys", ["Matcher", "Same", "Why"], found.keys.map((one) => [kinds([one.matcher]), one.same ? "yes" : "no", one.description])));
  }
  return h("div", { class: "answer" }, parts);
}

/** Reads `tenant=acme user=7`. */
function scopeOf(text) {
  const pairs = text.split(/[\s,]+/).filter(Boolean).map((pair) => {
    const at = pair.indexOf("=");
    if (at < 1) throw new Failed(`A scope is written as tenant=acme, not ${pair}.`);
    return [pair.slice(0, at), pair.slice(at + 1)];
  });
  return Object.fromEntries(pairs);
}

export function listenToForms() {
  byId("entry-form").addEventListener("submit", (event) => {
    event.preventDefault();
    lookUp(byId("entry-id").value.trim().toLowerCase());
  });
  byId("explain-form").addEventListener("submit", (event) => {
    event.preventDefault();
    const said = new FormData(event.target);
    const request = (name) => ({
      body: said.get(`${name}-body`), scope: scopeOf(said.get(`${name}-scope`)),
      dialect: said.get("dialect").trim(), endpoint: said.get("endpoint").trim(), provider: said.get("provider").trim(),
    });
    show(byId("explain-answer"), async () => explained(await ask("/api/explain", { lookup: request("first"), other: request("second") })));
  });
}
