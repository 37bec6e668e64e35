// Asks the server once a second, and shows what it says.

import { Pace, Spread, recolour } from "./charts.js";
import { byId, say } from "./dom.js";
import { span } from "./format.js";
import { showLatency, showProblem, showRules, showServer, showTiles } from "./numbers.js";
import { showReasons, showRecent, showSimilarity } from "./panels.js";
import { Failed, ask, listenToForms, lookUp } from "./tools.js";

const EVERY_MS = 1000;
const DECISIONS = 100;
const pace = new Pace(byId("pace"), byId("pace-legend"), byId("pace-said"));
const spread = new Spread(byId("spread"));
let texts = {};
let told = null;
let recent = [];
let lastMs = null;

function chosen() {
  const since = byId("since").value;
  return since ? `/api/stats?since_seconds=${since}` : "/api/stats";
}

function connected(live) {
  const element = byId("connection");
  element.classList.toggle("live", live);
  element.classList.toggle("lost", !live);
  byId("content").classList.toggle("stale", !live && told !== null);
  if (live) lastMs = performance.now();
  say(byId("connection-text"), live ? "Live" : "Connection lost, trying again");
  say(byId("connection-for"), live || lastMs === null ? "" : `for ${span(Math.round((performance.now() - lastMs) / 1000))}`);
}

function firstCommand({ listen }, rules) {
  const body = `{"model": "gpt-5-mini", "temperature": 0, "messages": [{"role": "user", "content": "Say hello."}]}`;
  const target = listen.find((one) => one.startsWith("unix:")) ?? listen[0];
  const scope = rules.at(-1)?.scope.map((dim) => ` --scope ${dim}=demo`).join("") ?? "";
  return `echo '${body}' |\n  askonce lookup --dialect openai --endpoint chat${scope} --target ${target}`;
}

function show() {
  byId("empty").hidden = told.stats.decisions > 0 || byId("since").value !== "";
  if (!byId("empty").hidden) say(byId("command"), firstCommand(told.server, told.rules));
  showServer(told);
  showTiles(told);
  pace.draw(told.pace, told.stats.uptime);
  showLatency(told);
  spread.draw(told.durations);
  showRules(told);
  showSimilarity(told);
  showReasons(told, texts);
}

function showLatest() {
  showRecent(recent, told?.rules ?? [], texts, (id) => {
    lookUp(id);
    byId("entries").scrollIntoView({ block: "center" });
    byId("entry-id").focus({ preventScroll: true });
  });
}

const paused = () => byId("pause").getAttribute("aria-pressed") === "true";

async function once() {
  try {
    const [stats, latest] = await Promise.all([ask(chosen()), ask(`/api/decisions?limit=${DECISIONS}`)]);
    told = stats;
    if (!paused()) recent = latest.decisions;
    connected(true);
  } catch (error) {
    connected(error instanceof Failed);
    if (error instanceof Failed) showProblem(`These numbers cannot be had: ${error.message}`);
    return;
  }
  show();
  showLatest();
}

async function forever() {
  for (;;) {
    if (!document.hidden) await once();
    await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
  }
}

function themed() {
  const wanted = byId("theme").value;
  const light = wanted === "light" || (wanted === "auto" && matchMedia("(prefers-color-scheme: light)").matches);
  document.documentElement.dataset.theme = light ? "light" : "dark";
  recolour();
}

function remembered(name, value) {
  try {
    if (value === undefined) return localStorage.getItem(name);
    localStorage.setItem(name, value);
  } catch { /* a browser that keeps nothing */ }
  return null;
}

function listen() {
  byId("theme").value = remembered("askonce-theme") ?? "auto";
  byId("theme").addEventListener("change", () => {
    remembered("askonce-theme", byId("theme").value);
    themed();
  });
  matchMedia("(prefers-color-scheme: light)").addEventListener("change", themed);
  byId("since").addEventListener("change", once);
  for (const id of ["recent-outcome", "recent-rule"]) byId(id).addEventListener("change", showLatest);
  byId("pause").addEventListener("click", () => {
    const now = !paused();
    byId("pause").setAttribute("aria-pressed", String(now));
    say(byId("pause"), now ? "Resume" : "Pause");
  });
  byId("copy").addEventListener("click", async () => {
    await navigator.clipboard?.writeText(byId("command").textContent);
    say(byId("copy"), "Copied");
    setTimeout(() => say(byId("copy"), "Copy"), 2000);
  });
  document.addEventListener("visibilitychange", () => document.hidden || once());
  listenToForms();
}

themed();
listen();
texts = await ask("/static/reasons.json").catch(() => ({}));
forever();
