import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { resetIncidents } from "../../../../mock/incidents/incidents";
import { FULL_INCIDENT } from "../../../../mock/incidents/investigations";
import { overrideAnswer, sentRequests } from "../../../../mock/server/msw";
import { respond, respondProblem } from "../../../../mock/server/routes";
import { openScreen } from "../../../testing/screen";
import type { IncidentOrigin } from "../api";

const ORIGIN: IncidentOrigin = {
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
    differences: [],
    difference_count: 0,
  },
  authors: {},
};

function imported(origin: IncidentOrigin) {
  overrideAnswer(({ method, path }) =>
    method === "GET" && path === `/incidents/${FULL_INCIDENT.id}`
      ? respond({ ...FULL_INCIDENT, origin })
      : undefined,
  );
  openScreen(`/incidents/${FULL_INCIDENT.id}`);
}

beforeEach(resetIncidents);
afterEach(() => overrideAnswer(undefined));

describe("an imported incident", () => {
  it("shows the origin and how many verdicts are equal", async () => {
    imported(ORIGIN);
    expect(await screen.findByText("Imported from Culprit 0.1.0, where it was #12")).toBeVisible();
    expect(screen.getByText("37 of 37 rule results equal")).toBeVisible();
    expect(screen.getByText("redacted")).toBeVisible();
    expect(screen.queryByText(/differs? here/)).toBeNull();
  });

  it("lists each verdict that differs here, with both values and the reason", async () => {
    const user = userEvent.setup();
    const step = {
      kind: "step",
      about: "a/b",
      on: FULL_INCIDENT.hosts[0]?.id ?? "",
      original: "supports",
      local: null,
    } as const;
    const compared = {
      ...(ORIGIN.compared as NonNullable<IncidentOrigin["compared"]>),
      step: { equal: 13, total: 14 },
      differences: [{ ...step, why: "left_out" as const }],
      difference_count: 1,
    };
    imported({ ...ORIGIN, compared });
    expect(await screen.findByText("36 of 37 rule results equal")).toBeVisible();
    await user.click(screen.getByText("1 rule result differs here"));
    const item = within(screen.getByText("a/b").closest("li") as HTMLElement);
    expect(item.getByText(/there: supports; here: nothing/)).toBeVisible();
    expect(item.getByText("(artifacts were left out of the bundle)")).toBeVisible();
  });

  it("shows a difference once for all its runs", async () => {
    const user = userEvent.setup();
    const runs = FULL_INCIDENT.runs.slice(0, 2);
    const rule = {
      kind: "rule",
      about: "F-CPU-BUSY",
      original: "matched 2",
      local: null,
      why: "left_out",
    } as const;
    const compared = {
      ...(ORIGIN.compared as NonNullable<IncidentOrigin["compared"]>),
      rule: { equal: 18, total: 20 },
      differences: runs.map((run) => ({ ...rule, on: run.run_id })),
      difference_count: 2,
    };
    imported({ ...ORIGIN, compared });
    await user.click(await screen.findByText("2 rule results differ here"));
    expect(screen.getAllByText("F-CPU-BUSY")).toHaveLength(1);
    const item = within(screen.getByText("F-CPU-BUSY").closest("li") as HTMLElement);
    expect(item.getByText(/there: matched ×2; here: nothing/)).toBeVisible();
    const numbers = runs.map((run) => run.number).sort((a, b) => a - b);
    expect(item.getByText(numbers.map((item) => `#${item}`).join(" "))).toBeVisible();
  });

  it("shows progress until its rule results are compared", async () => {
    imported({ ...ORIGIN, compared: null });
    expect(await screen.findByText(/Reading its runs/)).toBeVisible();
  });
});

describe("the export dialog", () => {
  const downloads: { href: string; name: string }[] = [];

  beforeEach(() => {
    downloads.length = 0;
    vi.stubGlobal("URL", Object.assign(URL, { createObjectURL: () => "blob:x", revokeObjectURL: () => {} }));
    vi.spyOn(HTMLAnchorElement.prototype, "click").mockImplementation(function (this: HTMLAnchorElement) {
      downloads.push({ href: this.href, name: this.download });
    });
  });
  afterEach(() => vi.restoreAllMocks());

  it("shows the server's error, and saves the file on the next attempt", async () => {
    const user = userEvent.setup();
    let isParsing = true;
    overrideAnswer(({ path }) => {
      if (!path.endsWith("/export")) return undefined;
      return isParsing ? respondProblem(409, "transfer.being_parsed", "") : respond({});
    });
    openScreen(`/incidents/${FULL_INCIDENT.id}?dialog=export`);
    const dialog = within(await screen.findByRole("dialog"));
    expect(dialog.getByLabelText("Include comments")).toBeChecked();
    await user.click(dialog.getByLabelText(/Redacted/));
    expect(dialog.getByLabelText("Include comments")).not.toBeChecked();
    await user.click(dialog.getByRole("button", { name: "Export" }));
    expect(await dialog.findByText(/are still being parsed/)).toBeVisible();
    expect(downloads).toEqual([]);
    isParsing = false;
    await user.click(dialog.getByRole("button", { name: "Export" }));
    await waitFor(() => expect(downloads).toHaveLength(1));
    expect(
      sentRequests
        .filter((request) => request.path.endsWith("/export"))
        .at(-1)
        ?.query.get("redacted"),
    ).toBe("true");
    await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
  });
});

describe("the import dialog", () => {
  it("imports an exported incident and opens it", async () => {
    const user = userEvent.setup();
    overrideAnswer(({ path }) =>
      path === "/incidents/import"
        ? respond({ id: FULL_INCIDENT.id, number: 40, title: "x", runs: 1, new: true }, 201)
        : undefined,
    );
    openScreen("/captures?dialog=import");
    const dialog = within(await screen.findByRole("dialog"));
    const file = new File(["PK"], "incident-12.culprit.zip", { type: "application/zip" });
    await user.upload(document.querySelector('input[type="file"]') as HTMLInputElement, file);
    expect(dialog.getByText(/contains its hosts/)).toBeVisible();
    await user.click(dialog.getByRole("button", { name: "Import" }));
    await waitFor(() =>
      expect(sentRequests.some((request) => request.path === "/incidents/import")).toBe(true),
    );
    expect(await screen.findByRole("heading", { name: new RegExp(FULL_INCIDENT.title) })).toBeVisible();
  });
});
