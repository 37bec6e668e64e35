import { fromOpenAIChat, openAIChat, type Descriptor, type Log, type UpstreamResponse } from "askonce";
import { FakeAskOnce } from "askonce/testing";
import type { Options } from "askonce";

export const gpt4o = { provider: "openai", model: "gpt-4o" };
export const acme = { tenant: "acme" };
export const quiet: Log = { info: () => undefined, warn: () => undefined };

export function hello(text: string): Descriptor {
  const body = { model: "gpt-4o", temperature: 0, messages: [{ role: "user", content: text }] };
  return openAIChat(body, gpt4o, acme);
}

export function paris(): UpstreamResponse {
  const choice = { finish_reason: "stop", message: { role: "assistant", content: "Paris." } };
  const usage = { prompt_tokens: 7, completion_tokens: 2 };
  return fromOpenAIChat(200, JSON.stringify({ choices: [choice], usage }));
}

/** A fake whose Lookups have time, so that a slow machine does not look like a slow sidecar. */
export function patient(options: Options = {}): FakeAskOnce {
  return new FakeAskOnce({ log: quiet, budgetMs: 30_000, ...options });
}

export function text(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString();
}

export function sleep(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

/** Waits until a condition holds. */
export async function until(condition: () => boolean, seconds = 30): Promise<void> {
  for (const deadline = Date.now() + seconds * 1000; !condition(); await sleep(2)) {
    if (Date.now() > deadline) throw new Error("it did not come to pass");
  }
}
