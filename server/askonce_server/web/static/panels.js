// Similarities, reasons, and the latest decisions.

import { Similarity } from "./charts.js";
import { byId, h, keep, key, say, widen, words } from "./dom.js";
import { count, percent, span, time } from "./format.js";

const SHOWN = 6;

export function showSimilarity({ rules }) {
  const place = byId("similarity");
  const semantic = rules.filter((rule) => rule.semantic);
  place.hidden = semantic.length === 0;
  place.classList.add("histograms");
  keep(place, semantic, (rule) => rule.id, makeSimilarity, (panel, rule) => {
    const sums = ["above", "gray", "below"].map((zone) => rule.semantic[zone].reduce((sum, one) => sum + one, 0));
    sums.forEach((sum, at) => say(panel.sums[at], count(sum)));
    const { threshold, low_threshold: low, verifier } = rule.semantic;
    const gray = low > 0 ? `between ${low} and ${threshold} ${verifier === "none" ? "nobody vouches, so it is a miss" : `${verifier} decides`}` : "there is no gray band";
    say(panel.said, `At ${threshold} and above a candidate is ${rule.mode === "shadow" ? "what would be served" : "served"}, unless a guard denies it; ${gray}.`);
    panel.chart.draw(rule.semantic);
  });
}

function makeSimilarity(rule) {
  const sums = [h("b"), h("b"), h("b")];
  const names = [["hit", "above"], ["miss", "gray"], ["bypass", "below"]];
  const legend = h("div", { class: "legend" }, names.map(([colour, name], at) => h("span", null, key(colour), `${name} `, sums[at])));
  const said = h("p", { class: "aside" });
  const chart = h("div", { class: "chart", role: "img", "aria-label": `How similar the candidates of rule ${rule.id} were` });
  const panel = h("section", { class: "panel" }, h("div", { class: "head" }, h("h2", null, `Similarity of candidates, rule ${rule.id}`), legend), chart, said);
  Object.assign(panel, { sums, said, chart: new Similarity(chart) });
  return panel;
}

const GROUPS = [
  { title: "Left alone (bypass)", of: "bypass", kind: "bypass", colour: "bypass", none: "No request was left alone." },
  { title: "Found, but not served", of: "miss", kind: "deny", colour: "miss", none: "No candidate was denied.", without: ["no_entry", "refresh"] },
  { title: "Matcher skipped", of: "skipped", kind: "bypass", colour: "semantic", none: "No matcher was skipped." },
  { title: "Answer not stored", of: "refusal", kind: "refusal", colour: "refresh", none: "No answer was refused." },
];

/** Shows why requests were left alone, denied and refused; `texts` has the sentences. */
export function showReasons({ stats }, texts) {
  keep(byId("reasons"), GROUPS, (group) => group.of, makeGroup, (panel, group) => {
    const found = Object.entries(stats.tallies)
      .filter(([name]) => name.startsWith(`${group.of}.`) && !group.without?.includes(name.slice(group.of.length + 1)))
      .sort(([name, one], [another, other]) => other - one || name.localeCompare(another));
    const all = found.reduce((sum, [, number]) => sum + number, 0);
    say(panel.all, count(all));
    panel.none.hidden = found.length > 0;
    keep(panel.list, found.slice(0, SHOWN), ([name]) => name, ([name]) => makeReason(name, group, texts), (row, [, number]) => {
      say(row.number, `${count(number)} · ${percent(number / all)} %`);
      widen(row.bar, number / all);
    });
    say(panel.rest, found.length > SHOWN ? `and ${found.length - SHOWN} more kinds` : "");
  });
}

function makeGroup(group) {
  const all = h("b", { class: "num" });
  const list = h("div");
  const none = h("p", { class: "muted" }, group.none);
  const rest = h("p", { class: "aside" });
  const panel = h("section", { class: "panel" }, h("div", { class: "head" }, h("h2", null, group.title), h("span", null, all)), none, list, rest);
  return Object.assign(panel, { all, list, none, rest });
}

function makeReason(name, group, texts) {
  const parts = name.split(".");
  const reason = parts.at(-1);
  const text = texts[group.kind]?.[reason] ?? { says: "This version of the page has no words for it.", do: "See the documentation of the reason." };
  const number = h("span", { class: "num" });
  const bar = h("i", { class: `c-${group.colour}` });
  const label = parts.length === 3 ? `${parts[1]}: ${reason}` : reason;
  const row = h("details", { class: "reason", "data-reason": name },
    h("summary", null, h("span", { class: "mono" }, label), number, h("span", { class: "bar", "aria-hidden": "true" }, bar), h("span", { class: "says" }, words(text.says))),
    h("p", null, words(text.do)));
  return Object.assign(row, { number, bar });
}

const HEADS = ["Time", "Outcome", "By", "Rule", "Reason", "Similarity", "Took", "Entry", "Scope", "Decision"];
const NUMBERS = new Set(["Similarity", "Took"]);

/** Shows the latest decisions; `pick` is asked for an entry that somebody wants to see. */
export function showRecent(decisions, rules, texts, pick) {
  const table = byId("recent");
  if (!table.tHead) table.append(h("thead", null, h("tr", null, HEADS.map((name) => h("th", { scope: "col", class: NUMBERS.has(name) ? "num" : null }, name)))), h("tbody"));
  const ofRule = byId("recent-rule");
  keep(ofRule, [{ id: "" }, ...rules], (rule) => rule.id, (rule) => (rule.id ? h("option", null, rule.id) : h("option", { value: "" }, "all")));
  const outcome = byId("recent-outcome").value;
  const shown = decisions.filter((one) => (!outcome || one.outcome === outcome) && (!ofRule.value || one.rule === ofRule.value));
  table.hidden = shown.length === 0;
  byId("recent-none").hidden = shown.length > 0;
  keep(table.tBodies[0], shown, (one) => `${one.decision_id} ${one.time} ${one.took_us}`, (one) => makeDecision(one, texts, pick));
}

function makeDecision(one, texts, pick) {
  const refresh = one.reason === "refresh";
  const notes = [one.shadow && (one.would_hit ? "shadow: would hit" : "shadow"), one.stale && "stale", one.collapsed && "waited"].filter(Boolean);
  const near = one.similarity == null ? "" : `${one.similarity.toFixed(3)}`;
  const entry = one.entry_id
    ? h("button", { type: "button", class: "link mono", "aria-label": `Look up entry ${one.entry_sha7}`, onclick: () => pick(one.entry_id) }, one.entry_sha7)
    : "";
  const reason = one.reason ? h("span", { class: "mono", title: texts[one.reason_kind]?.[one.reason]?.says }, one.reason) : "";
  const cells = [
    time(one.time),
    h("span", { class: `o-${refresh ? "refresh" : one.outcome}` }, one.outcome),
    [one.kind ?? one.zone ?? "", ...notes.map((note) => h("span", { class: "mark" }, note))].flatMap((part) => [part, " "]),
    one.rule || h("span", { class: "muted" }, "none"),
    reason,
    near && h("span", { title: `threshold ${one.threshold}` }, near),
    span(one.took_us / 1e6),
    entry,
    h("span", { class: "mono" }, one.scope_sha7),
    h("span", { class: "mono muted", title: one.decision_id }, one.decision_id.slice(0, 7)),
  ];
  return h("tr", null, cells.map((cell, at) => h("td", { class: NUMBERS.has(HEADS[at]) ? "num" : null }, cell)));
}
