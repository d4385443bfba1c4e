import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { DIAGNOSES } from "../../../../mock/analysis/diagnosisRecords";
import { state } from "../../../../mock/api";
import { incidentOf, listed, resetIncidents } from "../../../../mock/incidents/incidents";
import { BARE, RICH } from "../../../../mock/incidents/investigations";
import { sent } from "../../../../mock/server/msw";
import { HOSTS } from "../../../../mock/world";
import type { Incident } from "../../../client/models";
import { openScreen } from "../../../testing/screen";
import { chooseDiagnosis } from "./chooseDiagnosis";

const [NAMED, , FAILED, , UNEXPLAINED] = DIAGNOSES;
const posted = (path: string) =>
  sent.filter((request) => request.method === "POST" && request.path.endsWith(path));
const answer = async () => within(await screen.findByRole("region", { name: "Answer" }));

/** Change the stored incident before it is opened. */
function store(incidentId: string, change: Partial<Incident>): void {
  Object.assign(incidentOf(incidentId) as Incident, change);
}

const diagnosed = (...diagnoses: (typeof NAMED)[]) => ({
  diagnoses: diagnoses.flatMap((item) => (item ? [listed(item)] : [])),
});

const WEB = { id: HOSTS[1]?.id ?? "", name: "web-1", scope: { kind: "host", value: "" }, can_capture: true };
const SUSPECT = { ...WEB, role: "suspect" } as Incident["hosts"][number];

beforeEach(() => {
  resetIncidents();
  sent.length = 0;
});
afterEach(() => {
  state.role = "admin";
});

describe("the answer of an incident", () => {
  it("begins with a diagnosis of its host", async () => {
    const user = userEvent.setup();
    store(BARE.id, { hosts: [SUSPECT] });
    openScreen(`/incidents/${BARE.id}`);
    await user.click((await answer()).getByRole("button", { name: "Diagnose web-1 (about 30 s)" }));
    await waitFor(() => expect(posted("/diagnoses")[0]?.body).toEqual({ host_id: SUSPECT.id }));
    expect(await screen.findByRole("button", { name: "Cancel diagnosis" })).toBeVisible();
  });

  it("asks for a host where there is none to capture", async () => {
    openScreen(`/incidents/${BARE.id}`);
    expect((await answer()).getByText("Add a host that has the symptom.")).toBeVisible();
    expect((await answer()).queryByRole("button")).toBeNull();
  });

  it("names the cause with three numbers, what was ruled out, and the fix", async () => {
    store(RICH.id, { ...diagnosed(NAMED), causes: [] });
    openScreen(`/incidents/${RICH.id}`);
    const card = await answer();
    expect(await card.findByRole("heading", { name: "More runnable threads than CPUs" })).toBeVisible();
    const proof = card.getByRole("list", { name: /Numbers for/ });
    expect(within(proof).getAllByRole("listitem").length).toBeLessThanOrEqual(3);
    expect(card.getByText("Fix")).toBeVisible();
    expect(card.getByText("Ruled out")).toBeVisible();
  });

  it("turns a confirmed cause into the plan of a fix", async () => {
    const user = userEvent.setup();
    const hypotheses = RICH.hypotheses.map((item) => ({ ...item, state: "open" as const }));
    store(RICH.id, { ...diagnosed(NAMED), hypotheses, causes: [], fixes: [], rejected_causes: [] });
    openScreen(`/incidents/${RICH.id}`);
    await user.click(await (await answer()).findByRole("button", { name: "Confirm" }));
    await waitFor(() =>
      expect(posted("/cause-confirmations")[0]?.body).toEqual({
        diagnosis_id: NAMED?.id,
        cause: "cpu-oversubscribed",
        version: RICH.version,
      }),
    );
    expect(await (await answer()).findByRole("button", { name: "Plan a fix" })).toBeVisible();
  });

  it("is the accepted cause with its fix and what the fix changed", async () => {
    store(RICH.id, diagnosed(NAMED));
    openScreen(`/incidents/${RICH.id}`);
    const card = await answer();
    expect(await card.findByRole("heading", { name: "More runnable threads than CPUs" })).toBeVisible();
    expect(card.getByRole("button", { name: "GOMAXPROCS 300 → 4" })).toBeVisible();
    expect(card.queryByRole("button", { name: "Confirm" })).toBeNull();
    expect(within(card.getByRole("list", { name: "Times" })).getAllByRole("listitem")).toHaveLength(6);
  });

  it("gives the reason of a failed diagnosis, and the way to repeat it", async () => {
    store(BARE.id, { hosts: [{ ...SUSPECT, id: FAILED?.host.id ?? "" }], ...diagnosed(FAILED) });
    openScreen(`/incidents/${BARE.id}`);
    const card = await answer();
    expect(await card.findByText("The diagnosis failed.")).toBeVisible();
    expect(card.getByRole("button", { name: "Diagnose again" })).toBeVisible();
  });

  it("leads to deeper looks where no cause was named", async () => {
    store(BARE.id, { hosts: [SUSPECT], ...diagnosed(UNEXPLAINED) });
    openScreen(`/incidents/${BARE.id}`);
    const card = await answer();
    expect(await card.findByRole("link", { name: "Look deeper" })).toBeVisible();
    expect(
      within(card.getByRole("region", { name: "Largest consumers" })).getAllByRole("listitem").length,
    ).toBe(UNEXPLAINED?.result?.consumers?.length);
  });
});

it("prefers a diagnosis that runs, then an answer, to one that failed", () => {
  const item = (number: number, at: "running" | "done" | "failed") => ({
    id: String(number),
    number,
    host_id: "",
    state: at,
    created_at: "",
  });
  expect(chooseDiagnosis([item(3, "failed"), item(2, "done"), item(1, "running")])?.number).toBe(1);
  expect(chooseDiagnosis([item(3, "failed"), item(2, "done")])?.number).toBe(2);
  expect(chooseDiagnosis([item(3, "failed")])?.number).toBe(3);
  expect(chooseDiagnosis([])).toBeUndefined();
});
