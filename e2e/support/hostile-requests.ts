import type { APIResponse, Page } from "@playwright/test";
import { expect } from "@playwright/test";
import { BASE_URL } from "./platform";

export type Json = Record<string, unknown>;

/** Requests of a signed-in page. A payload that a field refuses is counted and left out. */
export class HostileRequests {
  /** Refused requests by path. */
  readonly refused: Record<string, number> = {};
  stored = 0;

  constructor(
    private readonly page: Page,
    private readonly csrf: string,
  ) {}

  private get headers(): Record<string, string> {
    return { "X-CSRF-Token": this.csrf, Origin: BASE_URL };
  }

  /** Send a body and return the answer, or undefined where a field refuses it. */
  async send(method: string, path: string, data: unknown, headers: Json = {}): Promise<Json | undefined> {
    const url = path.startsWith("/") ? `/api/v1${path}` : path;
    const all = { ...this.headers, ...headers } as Record<string, string>;
    return await this.accept(await this.page.request.fetch(url, { method, data, headers: all }), path);
  }

  async post(path: string, data: unknown): Promise<Json | undefined> {
    return await this.send("POST", path, data);
  }

  /** Send a body that must be accepted. */
  async create(path: string, data: unknown): Promise<Json> {
    const answer = await this.post(path, data);
    if (!answer) throw new Error(`${path} refused ${JSON.stringify(data).slice(0, 300)}`);
    return answer;
  }

  async get(path: string): Promise<Json> {
    return (await (await this.page.request.get(`/api/v1${path}`)).json()) as Json;
  }

  /** Upload a file and return the ID of its run. */
  async importFile(name: string, buffer: Buffer, more: Record<string, string> = {}): Promise<string> {
    const multipart = { file: { name, mimeType: "text/plain", buffer }, name, ...more };
    const url = "/api/v1/imports";
    const answer = await this.page.request.post(url, { headers: this.headers, multipart });
    expect(answer.status(), await answer.text()).toBe(201);
    this.stored += 1;
    const { runs } = (await answer.json()) as { runs: { id: string }[] };
    return runs[0]?.id ?? "";
  }

  /** Replace a file. */
  async putFile(path: string, name: string, text: string): Promise<void> {
    const multipart = { file: { name, mimeType: "text/plain", buffer: Buffer.from(text) } };
    const answer = await this.page.request.put(`/api/v1${path}`, { headers: this.headers, multipart });
    await this.accept(answer, path);
  }

  private async accept(answer: APIResponse, path: string): Promise<Json | undefined> {
    if (answer.status() === 422) {
      this.refused[path] = (this.refused[path] ?? 0) + 1;
      if (process.env.DBG) console.log(path, (await answer.text()).slice(0, 300));
      return undefined;
    }
    if (!answer.ok()) throw new Error(`${path}: ${answer.status()} ${(await answer.text()).slice(0, 400)}`);
    this.stored += 1;
    const text = await answer.text();
    return text ? (JSON.parse(text) as Json) : {};
  }
}
