import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import type { Page } from "@playwright/test";

const wanted = (name: string): string => {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set: run the journeys with ./culprit test --only e2e`);
  return value;
};

export const URL = wanted("CULPRIT_URL");
export const LOGIN_URL = process.env.CULPRIT_LOGIN_URL ?? "";
export const ROOT = wanted("CULPRIT_ROOT");
export const HOME = wanted("CULPRIT_HOME");
export const OUT = wanted("CULPRIT_E2E_OUT");
export const CHROMIUM = wanted("CULPRIT_CHROMIUM");
export const STATE = `${OUT}/session.json`;
export const PASSWORD = "a long enough pass phrase";
mkdirSync(OUT, { recursive: true });

/** The command line of the platform under test; its standard output. */
export function culprit(...args: string[]): string {
  return execFileSync(`${ROOT}/culprit`, args, {
    encoding: "utf8",
    env: { ...process.env, CULPRIT_HOME: HOME, CULPRIT_URL: URL },
    timeout: 120_000,
  });
}

/** What a command said that the platform must refuse; its exit status is 5 then. */
export function refused(...args: string[]): string {
  let said = { status: 0, stderr: "" };
  try {
    culprit(...args);
  } catch (error) {
    said = error as typeof said;
  }
  if (said.status !== 5) throw new Error(`not refused, but ended with ${said.status}: ${said.stderr}`);
  return said.stderr;
}

/** A change by the one whose session the page has, where the way through the screens is another journey. */
export async function change(page: Page, path: string, body: unknown): Promise<Record<string, unknown>> {
  const me = (await (await page.request.get("/api/v1/me")).json()) as { csrf: string };
  const headers = { "X-CSRF-Token": me.csrf, Origin: URL };
  const answer = await page.request.post(`/api/v1${path}`, { data: body, headers });
  if (!answer.ok()) throw new Error(`${path}: ${await answer.text()}`);
  return (await answer.json()) as Record<string, unknown>;
}

/** A fresh proof for the session that the page has, so that no dialog asks for one in the middle of a journey. */
export async function prove(page: Page): Promise<void> {
  const me = (await (await page.request.get("/api/v1/me")).json()) as { csrf: string };
  const headers = { "X-CSRF-Token": me.csrf, Origin: URL };
  const answer = await page.request.post("/api/v1/session/proof", { data: { password: PASSWORD }, headers });
  if (!answer.ok()) throw new Error(`proof: ${await answer.text()}`);
}

export interface HostRow {
  id: string;
  name: string;
}

/** The host that `up` enrolled: the machine that this runs on. Lists begin with the newest, and journeys bring hosts. */
export const thisHost = (): HostRow => {
  const hosts = JSON.parse(culprit("host", "list", "--json")) as HostRow[];
  const host = hosts.at(-1);
  if (!host) throw new Error("up enrolled no host");
  return host;
};

/** What `up` wrote about the processes that it runs. */
export const running = (): Record<string, unknown> =>
  JSON.parse(readFileSync(`${HOME}/running.json`, "utf8")) as Record<string, unknown>;
