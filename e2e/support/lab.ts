import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { HOME, ROOT, URL } from "./platform";

interface Clients {
  requests: number;
  ok: number;
  errors: number;
  timeouts: number;
  p99_ms: number | null;
}

interface Ready {
  name: string;
  address: string;
  port: number;
  username: string;
  private_key: string;
  fingerprint: string;
  access_log: string;
  service_port: number;
  causes: string[];
  healthy: Record<string, Clients>;
}

/** A host of the lab that is really sick, until it is cured; see e2e/lab/stand.py. */
export class SickHost {
  private readonly waiting: ((line: string) => void)[] = [];
  private readonly said: string[] = [];
  ready!: Ready;
  id = "";
  name = "";

  private constructor(private readonly child: ChildProcessWithoutNullStreams) {
    createInterface({ input: child.stdout }).on("line", (line) => {
      const next = this.waiting.shift();
      if (next) next(line);
      else this.said.push(line);
    });
    child.on("exit", () => {
      for (const next of this.waiting.splice(0)) next('{"error":"the host of the lab went away"}');
    });
  }

  static async start(ids: readonly string[], seed: number): Promise<SickHost> {
    const python = `${ROOT}/.venv/bin/python`;
    const child = spawn(python, ["-m", "e2e.lab", "stand", ...ids, "--seed", String(seed)], {
      cwd: ROOT,
      env: { ...process.env, PYTHONPATH: `${ROOT}:${ROOT}/backend` },
    });
    child.stderr.pipe(process.stderr);
    const host = new SickHost(child);
    host.ready = (await host.hear()).ready as Ready;
    await host.enrol();
    return host;
  }

  /** Takes one fault away while the load goes on, as somebody who applies the right fix does. */
  async cure(cause: string): Promise<void> {
    await this.ask(`cure ${cause}`);
  }

  async end(): Promise<void> {
    if (this.child.exitCode !== null) return;
    const gone = new Promise((done) => this.child.once("exit", done));
    this.child.stdin.end();
    await gone;
  }

  private async ask(command: string): Promise<Record<string, unknown>> {
    this.child.stdin.write(`${command}\n`);
    return await this.hear();
  }

  private async hear(): Promise<Record<string, unknown>> {
    const line = this.said.shift() ?? (await new Promise<string>((next) => this.waiting.push(next)));
    const told = JSON.parse(line) as Record<string, unknown>;
    if (told.error || told.skipped) throw new Error(line);
    return told;
  }

  /** Under its address and pinned key, with the log that tells its rate and latency: what an admin does once. */
  private async enrol(): Promise<void> {
    const { ready } = this;
    this.name = `sick-${ready.name}`;
    await send("/network-rules", { cidr: `${ready.address}/32`, port_from: ready.port, port_to: ready.port });
    const made = await send("/hosts", {
      name: this.name,
      address: ready.address,
      port: ready.port,
      username: ready.username,
      credential: { kind: "key", private_key: ready.private_key },
      host_key_fingerprint: ready.fingerprint,
      labels: { lab: this.name },
    });
    this.id = String(made.id);
    const source = ready.access_log
      ? { kind: "access_log", path: ready.access_log, format: "lab" }
      : { kind: "accepts", port: ready.service_port };
    await send("/services", { name: this.name, selector: { lab: this.name }, source });
  }
}

async function send(path: string, body: unknown): Promise<Record<string, unknown>> {
  const { token } = JSON.parse(readFileSync(`${HOME}/cli.json`, "utf8")) as { token: string };
  const answer = await fetch(`${URL}/api/v1${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(`${path}: ${await answer.text()}`);
  return (await answer.json()) as Record<string, unknown>;
}
