// The tiles, the table of latencies and the table of rules.

import { byId, h, keep, key, say, widen } from "./dom.js";
import { bytes, count, date, dollars, duration, percent, plural, rate, span } from "./format.js";

const NOW_SECONDS = 10;
const HIGH = 0.9;
const KINDS = ["exact", "normalized", "semantic"];

const tile = (title, name) => {
  const figure = h("div", { class: "figure", id: `tile-${name}` });
  const note = h("div", { class: "note", id: `note-${name}` });
  byId("tiles").append(h("div", { class: "tile" }, h("h2", null, title), figure, note));
  return (number, unit, said, extra) => {
    const text = number + (unit ? ` ${unit}` : "");
    if (figure.textContent !== text) figure.replaceChildren(number, unit ? h("span", { class: "unit" }, ` ${unit}`) : "");
    say(note, said);
    if (extra && !extra.isConnected) note.before(extra);
  };
};

const tiles = {};
const fill = h("i");
const meter = h("div", { class: "meter" }, fill);

export function showTiles({ stats, pace }) {
  if (!tiles.rate) {
    tiles.rate = tile("Hit rate", "rate");
    tiles.now = tile("Decisions", "now");
    tiles.money = tile("Money avoided", "money");
    tiles.latency = tile("Latency of a hit", "latency");
    tiles.store = tile("Store", "store");
  }
  const asked = stats.hits + stats.misses;
  tiles.rate(percent(stats.hit_rate), asked ? "%" : "", asked ? `${count(stats.hits)} of ${count(asked)} looked up` : "nothing looked up yet");
  const lately = [pace.hits, pace.misses, pace.bypasses, pace.refreshes].flatMap((row) => row.slice(-NOW_SECONDS)).reduce((sum, one) => sum + one, 0);
  tiles.now(rate(lately / NOW_SECONDS), "per second", `${count(stats.decisions)} in all, ${count(stats.bypasses)} left alone`);
  const money = stats.cost_avoided_usd;
  tiles.money(money == null ? "–" : dollars(money), "", stats.unpriced_hits ? `${plural(stats.unpriced_hits, "hit")} of unknown price` : stats.hits ? "every hit has a price" : "no hit yet");
  const took = stats.hit_latency;
  tiles.latency(...(took ? duration(took.p50) : ["–", ""]), took ? `median; 99 % within ${span(took.p99)}` : "no hit yet");
  const share = stats.store_limit_bytes ? stats.store_bytes / stats.store_limit_bytes : 0;
  widen(fill, share);
  meter.classList.toggle("high", share > HIGH);
  const used = bytes(stats.store_bytes);
  tiles.store(used[0], `${used[1]} of ${bytes(stats.store_limit_bytes).join(" ")}`, `${plural(stats.entries, "entry", "entries")}, ${count(stats.evictions)} evicted`, meter);
}

export function showLatency({ stats }) {
  const table = byId("latency");
  if (!table.tHead) {
    const heads = ["", "calls", "mean", "p50", "p95", "p99"].map((name, at) => h("th", { scope: "col", class: at ? "num" : null }, name || h("span", { class: "muted" }, "outcome")));
    table.append(h("thead", null, h("tr", null, heads)), h("tbody"));
  }
  const rows = [["hit", stats.hit_latency], ["miss", stats.miss_latency]];
  const fresh = rows.map(([name, took]) =>
    h("tr", null, h("th", { scope: "row" }, key(name), name),
      [took ? count(took.count) : "0", ...["mean", "p50", "p95", "p99"].map((of) => (took ? span(took[of]) : "–"))].map((text) => h("td", { class: "num" }, text))));
  table.tBodies[0].replaceChildren(...fresh);
}

const COLUMNS = ["Rule", "Mode", "Matchers", "Scope", "Decisions", "Hit rate", "By matcher", "Exact", "Normalized", "Semantic", "Misses", "Bypasses", "Stored", "Refused", "Entries", "Hit p99"];
const LEFT = new Set(["Rule", "Mode", "Matchers", "Scope", "By matcher"]);

export function showRules({ rules }) {
  const table = byId("rules");
  if (!table.tHead) {
    table.append(h("thead", null, h("tr", null, COLUMNS.map((name) => h("th", { scope: "col", class: LEFT.has(name) ? null : "num" }, name)))), h("tbody"));
    byId("rules-legend").append(...KINDS.map((kind) => h("span", null, key(kind), kind)));
  }
  keep(table.tBodies[0], rules, (rule) => rule.id, makeRule, updateRule);
}

function makeRule(rule) {
  const parts = KINDS.map((kind) => h("i", { class: `c-${kind}` }));
  const cells = COLUMNS.slice(1).map((name) => h("td", { class: LEFT.has(name) ? null : "num" }));
  cells[COLUMNS.indexOf("By matcher") - 1].append(h("div", { class: "split", "aria-hidden": "true" }, parts));
  const row = h("tr", { "data-rule": rule.id }, h("th", { scope: "row" }, rule.id), cells);
  row.parts = parts;
  row.cell = Object.fromEntries(COLUMNS.slice(1).map((name, at) => [name, cells[at]]));
  return row;
}

/** The share of hits; of a rule in shadow mode, which serves nothing, of what it would have served. */
function rateOf({ mode, stats }, asked) {
  if (!asked) return "–";
  if (mode !== "shadow") return `${percent(stats.hit_rate)} %`;
  return `would be ${percent((stats.tallies["shadow.would_hit"] ?? 0) / asked)} %`;
}

function updateRule(row, rule) {
  const { stats } = rule;
  const kinds = KINDS.map((kind) => stats.tallies[`hit.${kind}`] ?? 0);
  const asked = stats.hits + stats.misses;
  kinds.forEach((hits, at) => widen(row.parts[at], asked ? hits / asked : 0));
  const texts = {
    Mode: rule.mode,
    Matchers: rule.strategy.join(", "),
    Scope: rule.scope.join(", ") || "shared by all",
    Decisions: count(stats.decisions),
    "Hit rate": rateOf(rule, asked),
    Exact: count(kinds[0]), Normalized: count(kinds[1]), Semantic: count(kinds[2]),
    Misses: count(stats.misses), Bypasses: count(stats.bypasses),
    Stored: count(stats.stores), Refused: count(stats.refusals), Entries: count(stats.entries),
    "Hit p99": stats.hit_latency ? span(stats.hit_latency.p99) : "–",
  };
  for (const [name, text] of Object.entries(texts)) say(row.cell[name], text);
}

export function showServer({ server, stats }) {
  const workers = server.workers > 1 ? ` · ${server.workers} workers` : "";
  say(byId("server"), `${server.version}${workers} · up ${span(stats.uptime)} · counted since ${date(stats.counted_since)}`);
  showProblem(server.store_problem ? `Every Lookup is a bypass, since the store cannot be used: ${server.store_problem}` : "");
}

export function showProblem(text) {
  byId("problem").hidden = !text;
  say(byId("problem"), text);
}
