import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

import { AskOnce } from "askonce";

import { quiet, sleep } from "./requests.js";

const root = fileURLToPath(new URL("../../../../", import.meta.url));
const command = process.env["TEST_ASKONCE"] ?? `${root}.venv/bin/askonce`;

/** Why no sidecar can be started here; false when it can. */
export const noSidecar =
  !existsSync(command) && `no sidecar at ${command}: run \`make install\`, or set TEST_ASKONCE`;
/** The vectors, which only the whole repository has. */
export const vectorsFolder = `${root}tests/conformance/`;
export const noVectors = !existsSync(vectorsFolder) && "no vectors: this is not the whole repository";

/** A running `askonce serve`. */
export class Sidecar {
  readonly target: string;
  readonly #folder = mkdtempSync("/tmp/ao-"); // a socket's path may have 107 bytes
  #process: ChildProcess | undefined;
  #log = "";

  constructor(rules?: unknown) {
    this.target = `unix://${this.#folder}/s`;
    // A slow machine must not look like a slow disk.
    const store = { path: `${this.#folder}/store`, max_bytes: "256MiB", write_timeout: "60s" };
    const settings = { listen: [this.target], store, ...(rules === undefined ? {} : { rules }) };
    writeFileSync(`${this.#folder}/askonce.yaml`, JSON.stringify(settings));
  }

  /** Starts it, again after `kill`, and waits until it serves. */
  async run(): Promise<this> {
    const started = spawn(command, ["serve", "--config", `${this.#folder}/askonce.yaml`]);
    this.#process = started;
    started.stderr.on("data", (line: Buffer) => (this.#log += line.toString()));
    process.once("exit", () => started.kill("SIGKILL"));
    const probe = new AskOnce(this.target, { log: quiet });
    try {
      for (const deadline = Date.now() + 60_000; ; await sleep(20)) {
        const info = await probe.serverInfo().catch(() => undefined);
        if (info?.storeServing) return this;
        if (Date.now() > deadline || started.exitCode !== null) throw new Error(`no sidecar: ${this.#log}`);
      }
    } finally {
      probe.close();
    }
  }

  signal(name: NodeJS.Signals): void {
    this.#process?.kill(name);
  }

  /** Ends it as kill -9 does. */
  async kill(): Promise<void> {
    const ended = this.#process;
    if (ended === undefined || ended.exitCode !== null || ended.signalCode !== null) return;
    await new Promise((resolve) => {
      ended.once("exit", resolve);
      ended.kill("SIGKILL");
    });
  }

  async remove(): Promise<void> {
    await this.kill();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
