import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import type { Page } from "@playwright/test";

const requireVariable = (name: string): string => {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set: run the tests with ./culprit test --only e2e`);
  return value;
};

export const BASE_URL = requireVariable("CULPRIT_URL");
export const LOGIN_URL = process.env.CULPRIT_LOGIN_URL ?? "";
export const REPOSITORY_DIR = requireVariable("CULPRIT_ROOT");
export const CULPRIT_HOME = requireVariable("CULPRIT_HOME");
export const OUTPUT_DIR = requireVariable("CULPRIT_E2E_OUT");
export const CHROMIUM = requireVariable("CULPRIT_CHROMIUM");
export const SESSION_FILE = `${OUTPUT_DIR}/session.json`;
export const PASSWORD = "a long enough pass phrase";
mkdirSync(OUTPUT_DIR, { recursive: true });

/** Run the `culprit` command of the platform under test and return its standard output. */
export function runCulprit(...args: string[]): string {
  return execFileSync(`${REPOSITORY_DIR}/culprit`, args, {
    encoding: "utf8",
    env: { ...process.env, CULPRIT_HOME, CULPRIT_URL: BASE_URL },
    timeout: 240_000,
  });
}

/** Return the standard error of a command that the platform must reject; fail unless its exit status is 5. */
export function runRejectedCommand(...args: string[]): string {
  let result = { status: 0, stderr: "" };
  try {
    runCulprit(...args);
  } catch (error) {
    result = error as typeof result;
  }
  if (result.status !== 5) throw new Error(`not rejected, but ended with ${result.status}: ${result.stderr}`);
  return result.stderr;
}

/** Send a POST request as the user of the page, for changes whose screens another test covers; return the response. */
export async function postAsUser(page: Page, path: string, body: unknown): Promise<Record<string, unknown>> {
  const me = (await (await page.request.get("/api/v1/me")).json()) as { csrf: string };
  const headers = { "X-CSRF-Token": me.csrf, Origin: BASE_URL };
  const answer = await page.request.post(`/api/v1${path}`, { data: body, headers });
  if (!answer.ok()) throw new Error(`${path}: ${await answer.text()}`);
  return (await answer.json()) as Record<string, unknown>;
}

/** Reauthenticate the session of the page, so that no reauthentication dialog opens during a test. */
export async function reauthenticate(page: Page): Promise<void> {
  const me = (await (await page.request.get("/api/v1/me")).json()) as { csrf: string };
  const headers = { "X-CSRF-Token": me.csrf, Origin: BASE_URL };
  const answer = await page.request.post("/api/v1/session/proof", { data: { password: PASSWORD }, headers });
  if (!answer.ok()) throw new Error(`proof: ${await answer.text()}`);
}

export interface HostRow {
  id: string;
  name: string;
}

/** Return the host that `up` added: this machine. The environment passes it from the main process to its workers. */
export const getLocalHost = (): HostRow => {
  process.env.CULPRIT_E2E_HOST ??= JSON.stringify(findLocalHost());
  return JSON.parse(process.env.CULPRIT_E2E_HOST) as HostRow;
};

/** Return the oldest host, which is last in the list; tests add newer hosts. */
function findLocalHost(): HostRow {
  const hosts = JSON.parse(runCulprit("host", "list", "--json")) as HostRow[];
  const host = hosts.at(-1);
  if (!host) throw new Error("up added no host");
  return host;
}

/** Return the content of `running.json`, in which `up` lists its processes. */
export const readProcessList = (): Record<string, unknown> =>
  JSON.parse(readFileSync(`${CULPRIT_HOME}/running.json`, "utf8")) as Record<string, unknown>;
