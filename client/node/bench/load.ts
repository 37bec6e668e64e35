/**
 * Asks a sidecar for exact hits through the client, with so many Lookups in flight, and prints how many it got, how
 * fast, and how many went wrong, as JSON. benchmarks/gateways/coalescing.py runs it.
 */

import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";

import { AskOnce, type Descriptor, fromOpenAIChat, openAIChat } from "askonce";

const DISTINCT = 1000;
const STORES_AT_ONCE = 100;

const { values } = parseArgs({
  options: {
    target: { type: "string", default: "" }, // the sidecar
    "in-flight": { type: "string", default: "1" }, // how many Lookups are in flight
    coalescing: { type: "string", default: "true" }, // whether they gather
    seconds: { type: "string", default: "3" }, // for how long
    pid: { type: "string", default: "0" }, // the process of the sidecar, whose CPU time is read
  },
});

/** Returns the CPU time, user and system, of a process so far: fields 14 and 15 of proc(5), in hundredths. */
function cpuSeconds(pid: string): number {
  const raw = readFileSync(`/proc/${pid}/stat`, "latin1");
  const fields = raw.slice(raw.lastIndexOf(")") + 2).split(" "); // the name before may hold spaces
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

/** Describes a chat of about 1.5 kB. */
function request(number: number): Descriptor {
  const text = `Question ${number}. ${"Lorem ipsum dolor sit amet. ".repeat(50)}`;
  const body = { model: "gpt-4o", temperature: 0, messages: [{ role: "user", content: text }] };
  return openAIChat(JSON.stringify(body), { provider: "openai", model: "gpt-4o" }, { tenant: "acme" });
}

const requests = Array.from({ length: DISTINCT }, (_, number) => request(number));

async function fill(client: AskOnce): Promise<void> {
  const answer = '{"choices":[{"finish_reason":"stop","message":{"role":"assistant","content":"Paris."}}]}';
  const stores = requests.map((source) => ({ source, response: fromOpenAIChat(200, answer) }));
  while (stores.length > 0) {
    for (const { stored, refusalReason } of await client.batchStore(stores.splice(0, STORES_AT_ONCE))) {
      if (!stored) throw new Error(`not stored: ${refusalReason}`);
    }
  }
}

async function measure(client: AskOnce, inFlight: number, seconds: number) {
  const began = performance.now();
  const deadline = began + seconds * 1000;
  const took: number[] = [];
  let others = 0;
  const caller = async (_: unknown, worker: number) => {
    for (let number = worker * 7919; performance.now() < deadline; number++) {
      const asked = performance.now();
      const { hit } = await client.lookup(requests[number % DISTINCT] as Descriptor);
      if (hit) took.push(performance.now() - asked);
      else others++;
    }
  };
  await Promise.all(Array.from({ length: inFlight }, caller));
  const wall = (performance.now() - began) / 1000;
  took.sort((a, b) => a - b);
  const micros = (share: number) => Math.round((took[Math.floor(took.length * share)] ?? 0) * 1000);
  return { hits: took.length, others, seconds: wall, p50_us: micros(0.5), p99_us: micros(0.99) };
}

const client = new AskOnce(values.target as string, {
  coalescing: values.coalescing === "true",
  budgetMs: 30_000,
  storeTimeoutMs: 30_000,
});
const inFlight = Number(values["in-flight"]);
await fill(client);
await measure(client, inFlight, 1); // connections, what rules there are, and the compiler of V8
const before = cpuSeconds(values.pid as string);
const result = await measure(client, inFlight, Number(values.seconds));
console.log(JSON.stringify({ ...result, cpu_seconds: cpuSeconds(values.pid as string) - before }));
client.close();
