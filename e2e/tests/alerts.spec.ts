import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { accessible, watchConsole } from "../support/check";
import { SickHost } from "../support/lab";
import { change, OUT } from "../support/platform";
import { expect, test } from "../support/test";

interface Message {
  cause_id: string;
  figures: { threshold: number | null }[];
  picture: { svg: string; png_base64: string };
}

const CHANNEL = `pager ${Date.now()}`;
const TITLE = `orders time out ${Date.now()}`;

/** Where messages are sent to: what arrived, and by whom it was signed. */
class Told {
  private readonly arrived: Message[] = [];
  private wake: (() => void) | undefined;
  readonly signatures: string[] = [];
  private readonly server = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on("data", (piece: Buffer) => pieces.push(piece));
    request.on("end", () => {
      this.arrived.push(JSON.parse(Buffer.concat(pieces).toString("utf8")) as Message);
      this.signatures.push(String(request.headers["x-culprit-signature"]));
      response.writeHead(204).end();
      this.wake?.();
    });
  });

  async listen(): Promise<string> {
    await new Promise<void>((done) => this.server.listen(0, "127.0.0.1", done));
    return `http://127.0.0.1:${this.port}/told`;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  async next(): Promise<Message> {
    while (this.arrived.length === 0) await new Promise<void>((done) => (this.wake = done));
    return this.arrived.shift() as Message;
  }

  end(): void {
    this.server.close();
  }
}

test("an alert: its host is captured, and whoever is told hears the cause, its numbers and a picture", async ({
  page,
}) => {
  test.setTimeout(300_000);
  const clean = watchConsole(page);
  const told = new Told();
  const url = await told.listen();
  const host = await SickHost.start(["listen-overflow"], 7);
  try {
    await page.goto("/triggers?part=channels");
    await change(page, "/network-rules", { cidr: "127.0.0.1/32", port_from: told.port, port_to: told.port });
    const dialog = page.getByRole("dialog");
    await page.getByRole("button", { name: "New channel" }).click();
    await dialog.getByRole("textbox", { name: "Name" }).fill(CHANNEL);
    await dialog.getByLabel("Address").fill(url);
    await dialog.getByRole("button", { name: "New channel" }).click();
    await expect(dialog.getByText("It is told once.")).toBeVisible();
    await page.keyboard.press("Escape");

    await page.getByRole("radiogroup", { name: "Parts" }).getByText("Triggers", { exact: true }).click();
    await page.getByRole("button", { name: "New trigger" }).first().click();
    await dialog.getByRole("textbox", { name: "Name" }).fill(`shop ${Date.now()}`);
    await dialog.getByRole("combobox", { name: "Kind" }).click();
    await page.getByRole("option", { name: "Generic JSON" }).click();
    await dialog.getByRole("combobox", { name: "Told" }).press("ArrowDown");
    await page.getByRole("option", { name: CHANNEL, exact: true }).click();
    await page.keyboard.press("Escape");
    await dialog.getByRole("button", { name: "New trigger" }).click();
    const how = dialog.getByRole("status", { name: "To send to it:" });
    await expect(how.locator("code")).toHaveCount(3);
    const [secret, address] = await how.locator("code").allInnerTexts();
    await accessible(page);
    await page.screenshot({ path: `${OUT}/trigger.png` });

    const sent = await fetch(String(address), {
      method: "POST",
      headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
      body: JSON.stringify({ title: TITLE, host: host.name, service: host.name }),
    });
    expect(sent.status).toBe(202);
    await page.goto("/triggers?part=alerts");
    const row = page.getByRole("row", { name: new RegExp(TITLE) });
    await expect(row).toContainText("captured");
    const message = await told.next();
    expect(message.cause_id).toBe("listen-queue-overflow");
    // Those that were compared first; what only stands beside them has no threshold, and what is yes or no is none.
    expect(message.figures).toHaveLength(3);
    expect(message.figures[0]?.threshold).not.toBeNull();
    expect(Buffer.from(message.picture.png_base64, "base64").subarray(1, 4).toString()).toBe("PNG");
    expect(told.signatures[0]).toMatch(/^v1=[0-9a-f]{64}$/);

    await page.getByRole("radiogroup", { name: "Parts" }).getByText("Messages", { exact: true }).click();
    const notice = page.getByRole("row").filter({ hasText: CHANNEL });
    await expect(notice).toContainText("sent");
    await notice.locator("summary").click();
    const picture = notice.getByRole("img", { name: "The number over time with its threshold" });
    await expect
      .poll(() => picture.evaluate((img) => (img as HTMLImageElement).naturalWidth))
      .toBeGreaterThan(100);
    await accessible(page);
    await page.screenshot({ path: `${OUT}/message.png` });

    await page.getByRole("radiogroup", { name: "Parts" }).getByText("Alerts received").click();
    await row.getByRole("link", { name: /^#\d+$/ }).click();
    await expect(page.getByRole("heading", { level: 1 })).toContainText(TITLE);
    clean();
  } finally {
    told.end();
    await host.end();
  }
});
