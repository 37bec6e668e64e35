import {
  type ChannelOptions,
  Client,
  credentials,
  type ChannelCredentials,
  Metadata,
  type ServiceError,
} from "@grpc/grpc-js";

import type { Along, Done, Transport } from "./transport.js";

const MAX_ANSWER_BYTES = 16 * 2 ** 20;
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Certificates for a sidecar on another machine: PEM, or credentials of @grpc/grpc-js. */
export type Tls =
  | ChannelCredentials
  | {
      rootCertificates?: Buffer | undefined;
      privateKey?: Buffer | undefined;
      certificateChain?: Buffer | undefined;
    };

/** Where and how a client connects. */
export interface Connecting {
  targets: readonly string[];
  channels: number;
  tls: Tls | undefined;
  channelOptions: ChannelOptions;
}

/** These are for a sidecar on the same machine, so what helps across the internet is off. */
function channelOptionsFor(target: string): ChannelOptions {
  return {
    // The sidecar names its own limits with a reason; the client only has to stay above them.
    "grpc.max_send_message_length": -1,
    "grpc.max_receive_message_length": MAX_ANSWER_BYTES,
    // A gateway's HTTP_PROXY is for its providers, and no DNS record has a say in how the sidecar is called.
    "grpc.enable_http_proxy": 0,
    "grpc.service_config_disable_resolution": 1,
    "grpc.enable_retries": 0,
    // A restarted sidecar is back within milliseconds; the default waits up to two minutes.
    "grpc.initial_reconnect_backoff_ms": 100,
    "grpc.min_reconnect_backoff_ms": 100,
    "grpc.max_reconnect_backoff_ms": 500,
    // Connecting anew after a quiet half hour would cost a Lookup part of its budget.
    "grpc.client_idle_timeout_ms": LONGEST_TIMER_MS,
    // Only while calls are in flight, and rarely enough for a server's default ping policy.
    "grpc.keepalive_time_ms": 60_000,
    "grpc.keepalive_timeout_ms": 5_000,
    // Channels to one target would share a connection.
    "grpc.use_local_subchannel_pool": 1,
    // Else some versions send the percent-encoded path as :authority, which strict peers refuse.
    ...(target.startsWith("unix") ? { "grpc.default_authority": "localhost" } : {}),
  };
}

function credentialsOf(tls: Tls | undefined): ChannelCredentials {
  if (tls === undefined) return credentials.createInsecure();
  if ("_isSecure" in tls) return tls;
  const { rootCertificates, privateKey, certificateChain } = tls;
  return credentials.createSsl(rootCertificates ?? null, privateKey ?? null, certificateChain ?? null);
}

/** Connections that calls take in turn. They are made at once, so that the first Lookup has its budget to itself. */
export class Channels implements Transport {
  readonly #clients: Client[];
  #turn = 0;

  constructor({ targets, channels, tls, channelOptions }: Connecting) {
    const each = targets.flatMap((target) => Array.from({ length: channels }, () => target));
    this.#clients = each.map(
      (target) => new Client(target, credentialsOf(tls), { ...channelOptionsFor(target), ...channelOptions }),
    );
    for (const client of this.#clients) client.getChannel().getConnectivityState(true);
  }

  unary(path: string, request: Uint8Array, { deadline, metadata }: Along, done: Done): () => void {
    const client = this.#clients[this.#turn++ % this.#clients.length] as Client;
    const carried = new Metadata();
    for (const [name, value] of Object.entries(metadata)) carried.set(name, value);
    const ended = (failed: ServiceError | null, answer?: Uint8Array) =>
      done(failed === null ? undefined : statusOf(failed), answer ?? new Uint8Array());
    const call = client.makeUnaryRequest(path, toBuffer, fromBuffer, request, carried, { deadline }, ended);
    return () => call.cancel();
  }

  close(): void {
    for (const client of this.#clients) client.close();
  }
}

function toBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function fromBuffer(buffer: Buffer): Uint8Array {
  return buffer;
}

function statusOf(failed: ServiceError) {
  const [details] = failed.metadata?.get("grpc-status-details-bin") ?? [];
  const raw = details instanceof Uint8Array ? details : undefined;
  return { code: failed.code, message: failed.details ?? failed.message, details: raw };
}
