import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { createInterface } from "node:readline";
import type { Page } from "@playwright/test";
import { BASE_URL, CULPRIT_HOME, OUTPUT_DIR, PASSWORD, REPOSITORY_DIR } from "./platform";

export const PROVIDER_NAME = "The house";
const CLIENT = "culprit";
const SECRET = "s3cret:with colon+plus";

/** A certified OpenID provider on this machine, registered through the admin API; see tools/oidc. */
export class IdentityProvider {
  private constructor(
    private readonly child: ChildProcess,
    readonly issuer: string,
    private readonly file: string,
    private readonly rule: string,
  ) {}

  static async start(): Promise<IdentityProvider> {
    const port = await freePort();
    const file = `${OUTPUT_DIR}/groups-${port}.json`;
    writeFileSync(file, "{}");
    const child = spawn(
      process.execPath,
      ["provider.mjs", String(port), `${BASE_URL}/api/v1/session/oidc/callback`, file],
      { cwd: `${REPOSITORY_DIR}/tools/oidc`, stdio: ["ignore", "pipe", "inherit"] },
    );
    const issuer = `http://127.0.0.1:${port}`;
    const [line] = await Promise.race([
      once(createInterface({ input: child.stdout as NodeJS.ReadableStream }), "line"),
      once(child, "exit"),
    ]);
    if (line !== "ready") throw new Error("the OpenID provider did not start: npm --prefix tools/oidc ci");
    const rule = await sendAsAdmin("POST", "/network-rules", {
      cidr: "127.0.0.1/32",
      port_from: port,
      port_to: port,
    });
    const provider = new IdentityProvider(child, issuer, file, String(rule?.id));
    await sendInSession("PUT", "/oidc-provider", {
      name: PROVIDER_NAME,
      issuer,
      client_id: CLIENT,
      client_secret: SECRET,
      scopes: ["profile", "groups"],
      roles: [
        { group: "sre", role: "oncall" },
        { group: "dev", role: "viewer" },
      ],
    });
    return provider;
  }

  /** Set the groups of the provider's users, by login name. */
  groups(of: Record<string, string[]>): void {
    writeFileSync(this.file, JSON.stringify(of));
  }

  /** Sign in on the provider's pages with name and password, and consent. */
  async signIn(page: Page, who: string): Promise<void> {
    await page.waitForURL((url) => url.origin === this.issuer);
    await page.locator('input[name="login"]').fill(who);
    await page.locator('input[name="password"]').fill("x");
    await page.getByRole("button", { name: "Sign-in" }).click();
    await page.getByRole("button", { name: "Continue" }).click();
  }

  async end(): Promise<void> {
    await sendInSession("DELETE", "/oidc-provider");
    await sendAsAdmin("DELETE", `/network-rules/${this.rule}`);
    if (this.child.exitCode !== null) return;
    const gone = once(this.child, "exit");
    this.child.kill();
    await gone;
  }
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, "close");
  return port;
}

/** Send a request with the admin token of the command line; return the response, or null for status 204. */
async function sendAsAdmin(
  method: string,
  path: string,
  body?: unknown,
): Promise<Record<string, unknown> | null> {
  const { token } = JSON.parse(readFileSync(`${CULPRIT_HOME}/cli.json`, "utf8")) as { token: string };
  const answer = await fetch(`${BASE_URL}/api/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  if (!answer.ok) throw new Error(`${method} ${path}: ${await answer.text()}`);
  return answer.status === 204 ? null : ((await answer.json()) as Record<string, unknown>);
}

/** Send a request in a new session of the admin, because an API token cannot change the sign-in settings. */
async function sendInSession(method: string, path: string, body?: unknown): Promise<void> {
  const json = { "content-type": "application/json" };
  const entered = await fetch(`${BASE_URL}/api/v1/session`, {
    method: "POST",
    headers: json,
    body: JSON.stringify({ name: "admin", password: PASSWORD }),
  });
  if (!entered.ok) throw new Error(`session: ${await entered.text()}`);
  const { csrf } = (await entered.json()) as { csrf: string };
  const cookie = entered.headers
    .getSetCookie()
    .map((header) => header.split(";")[0])
    .join("; ");
  const send = (verb: string, to: string, data?: unknown) =>
    fetch(`${BASE_URL}/api/v1${to}`, {
      method: verb,
      headers: { ...json, cookie, "X-CSRF-Token": csrf },
      ...(data === undefined ? {} : { body: JSON.stringify(data) }),
    });
  const answer = await send(method, path, body);
  if (!answer.ok) throw new Error(`${method} ${path}: ${await answer.text()}`);
  await send("DELETE", "/session");
}
