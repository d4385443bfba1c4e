import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { resetIncidents } from "../../mock/incidents";
import { RICH } from "../../mock/investigations";
import { answerInstead, sent } from "../../mock/msw";
import { ok, problem } from "../../mock/routes";
import type { Origin } from "../client/incidents";
import { open } from "../testing/screen";

const ORIGIN: Origin = {
  culprit: "0.1.0",
  number: 12,
  redacted: true,
  written_at: "2026-01-02T00:00:00Z",
  imported_at: "2026-01-03T00:00:00Z",
  imported_by: { id: "u", name: "Lena" },
  compared: {
    rule: { equal: 20, total: 20 },
    step: { equal: 14, total: 14 },
    hypothesis: { equal: 3, total: 3 },
    different: [],
    unequal: 0,
  },
  said_by: {},
};

function imported(origin: Origin) {
  answerInstead(({ method, path }) =>
    method === "GET" && path === `/incidents/${RICH.id}` ? ok({ ...RICH, origin }) : undefined,
  );
  open(`/incidents/${RICH.id}`);
}

beforeEach(resetIncidents);
afterEach(() => answerInstead(undefined));

describe("an imported incident", () => {
  it("says where it is from and how many verdicts are equal", async () => {
    imported(ORIGIN);
    expect(await screen.findByText("Imported from Culprit 0.1.0, where it was #12")).toBeVisible();
    expect(screen.getByText("37 of 37 verdicts equal")).toBeVisible();
    expect(screen.getByText("without names")).toBeVisible();
    expect(screen.queryByText(/different here/)).toBeNull();
  });

  it("names each verdict that is another one here, with both values and why", async () => {
    const user = userEvent.setup();
    const step = {
      kind: "step",
      about: "a/b",
      on: RICH.hosts[0]?.id ?? "",
      there: "supports",
      here: null,
    } as const;
    const compared = {
      ...(ORIGIN.compared as NonNullable<Origin["compared"]>),
      step: { equal: 13, total: 14 },
      different: [{ ...step, why: "left_out" as const }],
      unequal: 1,
    };
    imported({ ...ORIGIN, compared });
    expect(await screen.findByText("36 of 37 verdicts equal")).toBeVisible();
    await user.click(screen.getByText("1 verdict is different here"));
    const item = within(screen.getByText("a/b").closest("li") as HTMLElement);
    expect(item.getByText(/there: supports; here: nothing/)).toBeVisible();
    expect(item.getByText("(bytes were left out of the bundle)")).toBeVisible();
  });

  it("says a difference once for all runs that it is of", async () => {
    const user = userEvent.setup();
    const runs = RICH.runs.slice(0, 2);
    const rule = {
      kind: "rule",
      about: "F-CPU-BUSY",
      there: "fired 2",
      here: null,
      why: "left_out",
    } as const;
    const compared = {
      ...(ORIGIN.compared as NonNullable<Origin["compared"]>),
      rule: { equal: 18, total: 20 },
      different: runs.map((one) => ({ ...rule, on: one.run_id })),
      unequal: 2,
    };
    imported({ ...ORIGIN, compared });
    await user.click(await screen.findByText("2 verdicts are different here"));
    expect(screen.getAllByText("F-CPU-BUSY")).toHaveLength(1);
    const item = within(screen.getByText("F-CPU-BUSY").closest("li") as HTMLElement);
    expect(item.getByText(/there: fired ×2; here: nothing/)).toBeVisible();
    const numbers = runs.map((one) => one.number).sort((a, b) => a - b);
    expect(item.getByText(numbers.map((one) => `#${one}`).join(" "))).toBeVisible();
  });

  it("is still being read at first", async () => {
    imported({ ...ORIGIN, compared: null });
    expect(await screen.findByText(/Its runs are being read/)).toBeVisible();
  });
});

describe("the export dialog", () => {
  const made: { href: string; name: string }[] = [];

  beforeEach(() => {
    made.length = 0;
    vi.stubGlobal("URL", Object.assign(URL, { createObjectURL: () => "blob:x", revokeObjectURL: () => {} }));
    vi.spyOn(HTMLAnchorElement.prototype, "click").mockImplementation(function (this: HTMLAnchorElement) {
      made.push({ href: this.href, name: this.download });
    });
  });
  afterEach(() => vi.restoreAllMocks());

  it("saves the file, and says why where there is none", async () => {
    const user = userEvent.setup();
    let still = true;
    answerInstead(({ path }) => {
      if (!path.endsWith("/export")) return undefined;
      return still ? problem(409, "carried.being_read", "") : ok({});
    });
    open(`/incidents/${RICH.id}?act=export`);
    const dialog = within(await screen.findByRole("dialog"));
    expect(dialog.getByLabelText("With comments")).toBeChecked();
    await user.click(dialog.getByLabelText(/Without names/));
    expect(dialog.getByLabelText("With comments")).not.toBeChecked();
    await user.click(dialog.getByRole("button", { name: "Export" }));
    expect(await dialog.findByText(/still being read here/)).toBeVisible();
    expect(made).toEqual([]);
    still = false;
    await user.click(dialog.getByRole("button", { name: "Export" }));
    await waitFor(() => expect(made).toHaveLength(1));
    expect(
      sent
        .filter((one) => one.path.endsWith("/export"))
        .at(-1)
        ?.query.get("redacted"),
    ).toBe("true");
    await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
  });
});

describe("the import dialog", () => {
  it("takes an exported incident and opens it", async () => {
    const user = userEvent.setup();
    answerInstead(({ path }) =>
      path === "/incidents/import"
        ? ok({ id: RICH.id, number: 40, title: "x", runs: 1, new: true }, 201)
        : undefined,
    );
    open("/captures?dialog=import");
    const dialog = within(await screen.findByRole("dialog"));
    const file = new File(["PK"], "incident-12.culprit.zip", { type: "application/zip" });
    await user.upload(document.querySelector('input[type="file"]') as HTMLInputElement, file);
    expect(dialog.getByText(/brings its own hosts/)).toBeVisible();
    await user.click(dialog.getByRole("button", { name: "Import" }));
    await waitFor(() => expect(sent.some((one) => one.path === "/incidents/import")).toBe(true));
    expect(await screen.findByRole("heading", { name: new RegExp(RICH.title) })).toBeVisible();
  });
});
