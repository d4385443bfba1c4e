import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { BASE_URL, CULPRIT_HOME, REPOSITORY_DIR } from "./platform";

interface LoadResult {
  requests: number;
  ok: number;
  errors: number;
  timeouts: number;
  p99_ms: number | null;
}

interface LabHostInfo {
  name: string;
  address: string;
  port: number;
  username: string;
  private_key: string;
  fingerprint: string;
  access_log: string;
  service_port: number;
  causes: string[];
  healthy: Record<string, LoadResult>;
}

/** A lab host with real faults, until they are repaired; see lab/serve_faults.py. */
export class FaultyHost {
  private readonly waiting: ((line: string) => void)[] = [];
  private readonly received: string[] = [];
  info!: LabHostInfo;
  id = "";
  name = "";

  private constructor(private readonly child: ChildProcessWithoutNullStreams) {
    createInterface({ input: child.stdout }).on("line", (line) => {
      const next = this.waiting.shift();
      if (next) next(line);
      else this.received.push(line);
    });
    child.on("exit", () => {
      for (const next of this.waiting.splice(0)) next('{"error":"the host of the lab went away"}');
    });
  }

  static async start(ids: readonly string[], seed: number): Promise<FaultyHost> {
    const python = `${REPOSITORY_DIR}/.venv/bin/python`;
    const child = spawn(python, ["-m", "lab", "serve", ...ids, "--seed", String(seed)], {
      cwd: REPOSITORY_DIR,
      env: { ...process.env, PYTHONPATH: `${REPOSITORY_DIR}:${REPOSITORY_DIR}/backend` },
    });
    child.stderr.pipe(process.stderr);
    const host = new FaultyHost(child);
    host.info = (await host.readMessage()).ready as LabHostInfo;
    await host.addHost();
    return host;
  }

  /** Remove a fault while the load continues, as the correct fix does. */
  async repair(cause: string): Promise<void> {
    await this.sendCommand(`repair ${cause}`);
  }

  async end(): Promise<void> {
    if (this.child.exitCode !== null) return;
    const gone = new Promise((done) => this.child.once("exit", done));
    this.child.stdin.end();
    await gone;
  }

  private async sendCommand(command: string): Promise<Record<string, unknown>> {
    this.child.stdin.write(`${command}\n`);
    return await this.readMessage();
  }

  private async readMessage(): Promise<Record<string, unknown>> {
    const line = this.received.shift() ?? (await new Promise<string>((next) => this.waiting.push(next)));
    const message = JSON.parse(line) as Record<string, unknown>;
    if (message.error || message.skipped) throw new Error(line);
    return message;
  }

  /** Add the host with its address and trusted key, and a service that measures its rate and latency. */
  private async addHost(): Promise<void> {
    const { info } = this;
    this.name = `faulty-${info.name}`;
    await postAsAdmin("/network-rules", {
      cidr: `${info.address}/32`,
      port_from: info.port,
      port_to: info.port,
    });
    const created = await postAsAdmin("/hosts", {
      name: this.name,
      address: info.address,
      port: info.port,
      username: info.username,
      credential: { kind: "key", private_key: info.private_key },
      host_key_fingerprint: info.fingerprint,
      labels: { lab: this.name },
    });
    this.id = String(created.id);
    const source = info.access_log
      ? { kind: "access_log", path: info.access_log, format: "lab" }
      : { kind: "accepts", port: info.service_port };
    await postAsAdmin("/services", { name: this.name, selector: { lab: this.name }, source });
  }
}

async function postAsAdmin(path: string, body: unknown): Promise<Record<string, unknown>> {
  const { token } = JSON.parse(readFileSync(`${CULPRIT_HOME}/cli.json`, "utf8")) as { token: string };
  const answer = await fetch(`${BASE_URL}/api/v1${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(`${path}: ${await answer.text()}`);
  return (await answer.json()) as Record<string, unknown>;
}
