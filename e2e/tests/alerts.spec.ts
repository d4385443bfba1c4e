import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expectAccessible, recordConsoleErrors } from "../support/check";
import { FaultyHost } from "../support/lab";
import { OUTPUT_DIR, postAsUser } from "../support/platform";
import { expect, test } from "../support/test";

interface Message {
  cause_id: string;
  figures: { threshold: number | null }[];
  chart: { svg: string; png_base64: string };
}

const CHANNEL = `pager ${Date.now()}`;
const TITLE = `orders time out ${Date.now()}`;

/** HTTP server that records the bodies and signatures of received notifications. */
class MessageReceiver {
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
    return `http://127.0.0.1:${this.port}/messages`;
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

test("an alert captures its host, and its message contains the cause, its numbers and a chart", async ({
  page,
}) => {
  test.setTimeout(300_000);
  const expectNoErrors = recordConsoleErrors(page);
  const receiver = new MessageReceiver();
  const url = await receiver.listen();
  const host = await FaultyHost.start(["listen-overflow"], 7);
  try {
    await page.goto("/notifications");
    await postAsUser(page, "/network-rules", {
      cidr: "127.0.0.1/32",
      port_from: receiver.port,
      port_to: receiver.port,
    });
    const dialog = page.getByRole("dialog");
    await page.getByRole("button", { name: "Add channel" }).click();
    await dialog.getByRole("textbox", { name: "Name" }).fill(CHANNEL);
    await dialog.getByLabel("Address").fill(url);
    await dialog.getByRole("button", { name: "Add channel" }).click();
    await expect(dialog.getByText("It is displayed only once.")).toBeVisible();
    await page.keyboard.press("Escape");

    await page.goto("/triggers");
    await page.getByRole("button", { name: "Add trigger" }).first().click();
    await dialog.getByRole("textbox", { name: "Name" }).fill(`shop ${Date.now()}`);
    await dialog.getByRole("combobox", { name: "Kind" }).click();
    await page.getByRole("option", { name: "Generic JSON" }).click();
    await dialog.getByRole("combobox", { name: "Notified" }).press("ArrowDown");
    await page.getByRole("option", { name: CHANNEL, exact: true }).click();
    await page.keyboard.press("Escape");
    await dialog.getByRole("button", { name: "Add trigger" }).click();
    const how = dialog.getByRole("status", { name: "Send alerts with:" });
    await expect(how.locator("code")).toHaveCount(3);
    const [secret, address] = await how.locator("code").allInnerTexts();
    await expectAccessible(page);
    await page.screenshot({ path: `${OUTPUT_DIR}/trigger.png` });

    const sent = await fetch(String(address), {
      method: "POST",
      headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
      body: JSON.stringify({ title: TITLE, host: host.name, service: host.name }),
    });
    expect(sent.status).toBe(202);
    await page.goto("/triggers?part=alerts");
    const row = page.getByRole("row", { name: new RegExp(TITLE) });
    await expect(row).toContainText("captured");
    const message = await receiver.next();
    expect(message.cause_id, JSON.stringify(message.figures)).toBe("listen-queue-overflow");
    // Numbers with a threshold come first. Related numbers have no threshold; boolean values are not figures.
    expect(message.figures).toHaveLength(3);
    expect(message.figures[0]?.threshold).not.toBeNull();
    expect(Buffer.from(message.chart.png_base64, "base64").subarray(1, 4).toString()).toBe("PNG");
    expect(receiver.signatures[0]).toMatch(/^v1=[0-9a-f]{64}$/);

    await page.goto("/notifications?part=notifications");
    const notification = page.getByRole("row").filter({ hasText: CHANNEL });
    await expect(notification).toContainText("sent");
    await notification.locator("summary").click();
    const chart = notification.getByRole("img", { name: "The number over time with its threshold" });
    await expect
      .poll(() => chart.evaluate((img) => (img as HTMLImageElement).naturalWidth))
      .toBeGreaterThan(100);
    await expectAccessible(page);
    await page.screenshot({ path: `${OUTPUT_DIR}/message.png` });

    await page.goto("/triggers?part=alerts");
    await row.getByRole("link", { name: /^#\d+$/ }).click();
    await expect(page.getByRole("heading", { level: 1 })).toContainText(TITLE);
    const answer = page.getByRole("region", { name: "Answer" });
    await expect(answer.getByRole("heading", { name: "A listen queue overflows" })).toBeVisible();
    expect(
      await answer
        .getByRole("list", { name: /^Numbers for/ })
        .getByRole("listitem")
        .count(),
    ).toBeGreaterThan(0);
    await expect(answer.getByRole("button", { name: "Not it" })).toBeVisible();
    await answer.getByRole("button", { name: "Confirm" }).click();
    await expect(answer.getByRole("button", { name: "Plan a fix" })).toBeVisible();
    await expectAccessible(page);
    await page.screenshot({ path: `${OUTPUT_DIR}/answer.png` });
    expectNoErrors();
  } finally {
    receiver.end();
    await host.end();
  }
});
