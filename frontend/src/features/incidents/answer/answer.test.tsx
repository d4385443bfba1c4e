import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { DIAGNOSES } from "../../../../mock/analysis/diagnosisRecords";
import { state } from "../../../../mock/api";
import { HOSTS } from "../../../../mock/dataset";
import { findIncident, resetIncidents, toDiagnosisSummary } from "../../../../mock/incidents/incidents";
import { FULL_INCIDENT, NEW_INCIDENT } from "../../../../mock/incidents/investigations";
import { sentRequests } from "../../../../mock/server/msw";
import type { Incident } from "../../../client/models";
import { openScreen } from "../../../testing/screen";
import { chooseDiagnosis } from "./chooseDiagnosis";

const [NAMED, HEALTHY, FAILED, , UNEXPLAINED] = DIAGNOSES;
const posted = (path: string) =>
  sentRequests.filter((request) => request.method === "POST" && request.path.endsWith(path));
const answer = async () => within(await screen.findByRole("region", { name: "Answer" }));

/** Change an incident in the mock store. */
function store(incidentId: string, change: Partial<Incident>): void {
  Object.assign(findIncident(incidentId) as Incident, change);
}

const diagnosed = (...diagnoses: (typeof NAMED)[]) => ({
  diagnoses: diagnoses.flatMap((item) => (item ? [toDiagnosisSummary(item)] : [])),
});

const WEB = { id: HOSTS[1]?.id ?? "", name: "web-1", scope: { kind: "host", value: "" }, can_capture: true };
const SUSPECT = { ...WEB, role: "suspect" } as Incident["hosts"][number];

beforeEach(() => {
  resetIncidents();
  sentRequests.length = 0;
});
afterEach(() => {
  state.role = "admin";
});

describe("the answer of an incident", () => {
  it("starts a diagnosis of its host", async () => {
    const user = userEvent.setup();
    store(NEW_INCIDENT.id, { hosts: [SUSPECT] });
    openScreen(`/incidents/${NEW_INCIDENT.id}`);
    await user.click((await answer()).getByRole("button", { name: "Diagnose web-1 (about 30 s)" }));
    await waitFor(() => expect(posted("/diagnoses")[0]?.body).toEqual({ host_id: SUSPECT.id }));
    expect(await screen.findByRole("button", { name: "Cancel diagnosis" })).toBeVisible();
  });

  it("asks to add a host if no host can be captured", async () => {
    openScreen(`/incidents/${NEW_INCIDENT.id}`);
    expect((await answer()).getByText("Add a host that has the symptom.")).toBeVisible();
    expect((await answer()).queryByRole("button", { name: /Diagnose/ })).toBeNull();
  });

  it("shows the cause with at most three numbers, excluded causes, and the fix", async () => {
    store(FULL_INCIDENT.id, { ...diagnosed(NAMED), causes: [] });
    openScreen(`/incidents/${FULL_INCIDENT.id}`);
    const card = await answer();
    expect(await card.findByRole("heading", { name: "More runnable threads than CPUs" })).toBeVisible();
    const proof = card.getByRole("list", { name: /Numbers for/ });
    expect(within(proof).getAllByRole("listitem").length).toBeLessThanOrEqual(3);
    expect(card.getByText("Fix")).toBeVisible();
    expect(card.getByText("Ruled out")).toBeVisible();
  });

  it("offers to plan a fix after a cause is confirmed", async () => {
    const user = userEvent.setup();
    const hypotheses = FULL_INCIDENT.hypotheses.map((item) => ({ ...item, state: "open" as const }));
    store(FULL_INCIDENT.id, { ...diagnosed(NAMED), hypotheses, causes: [], fixes: [], rejected_causes: [] });
    openScreen(`/incidents/${FULL_INCIDENT.id}`);
    await user.click(await (await answer()).findByRole("button", { name: "Confirm" }));
    await waitFor(() =>
      expect(posted("/cause-confirmations")[0]?.body).toEqual({
        diagnosis_id: NAMED?.id,
        cause: "cpu-oversubscribed",
        version: FULL_INCIDENT.version,
      }),
    );
    expect(await (await answer()).findByRole("button", { name: "Plan a fix" })).toBeVisible();
  });

  it("shows the accepted cause with its fix and the effect of the fix", async () => {
    store(FULL_INCIDENT.id, diagnosed(NAMED));
    openScreen(`/incidents/${FULL_INCIDENT.id}`);
    const card = await answer();
    expect(await card.findByRole("heading", { name: "More runnable threads than CPUs" })).toBeVisible();
    expect(card.getByRole("button", { name: "GOMAXPROCS 300 → 4" })).toBeVisible();
    expect(card.queryByRole("button", { name: "Confirm" })).toBeNull();
    expect(within(card.getByRole("list", { name: "Times" })).getAllByRole("listitem")).toHaveLength(6);
  });

  it("shows the harm from before the fix next to the accepted cause", async () => {
    const applied = FULL_INCIDENT.fixes[0]?.applied_at ?? "";
    const later = new Date(Date.parse(applied) + 60_000).toISOString();
    const [after, before] = diagnosed(HEALTHY, NAMED).diagnoses.map((item) => ({ ...item }));
    Object.assign(after ?? {}, { created_at: later });
    Object.assign(before ?? {}, { created_at: FULL_INCIDENT.created_at });
    store(FULL_INCIDENT.id, { diagnoses: [after, before] as Incident["diagnoses"] });
    openScreen(`/incidents/${FULL_INCIDENT.id}`);
    const card = await answer();
    const harm = (await card.findByText("Harm")).closest("p") as HTMLElement;
    expect(await within(harm).findByText("2.31 s")).toBeVisible();
    expect(within(harm).getByRole("link", { name: /^Diagnosis #14 of / })).toBeVisible();
    expect(card.getAllByText("Harm")).toHaveLength(1);
  });

  it("shows no harm next to an accepted cause if no diagnosis ended", async () => {
    store(FULL_INCIDENT.id, diagnosed(FAILED));
    openScreen(`/incidents/${FULL_INCIDENT.id}`);
    const card = await answer();
    expect(await card.findByRole("heading", { name: "More runnable threads than CPUs" })).toBeVisible();
    expect(card.queryByText("Harm")).toBeNull();
  });

  it("shows that a diagnosis failed, and offers to repeat it", async () => {
    store(NEW_INCIDENT.id, { hosts: [{ ...SUSPECT, id: FAILED?.host.id ?? "" }], ...diagnosed(FAILED) });
    openScreen(`/incidents/${NEW_INCIDENT.id}`);
    const card = await answer();
    expect(await card.findByText("The diagnosis failed.")).toBeVisible();
    expect(card.getByRole("button", { name: "Diagnose again" })).toBeVisible();
  });

  it("links to deeper captures and lists consumers if no cause is named", async () => {
    store(NEW_INCIDENT.id, { hosts: [SUSPECT], ...diagnosed(UNEXPLAINED) });
    openScreen(`/incidents/${NEW_INCIDENT.id}`);
    const card = await answer();
    expect(await card.findByRole("link", { name: "Look deeper" })).toBeVisible();
    expect(
      within(card.getByRole("region", { name: "Largest consumers" })).getAllByRole("listitem").length,
    ).toBe(UNEXPLAINED?.result?.consumers?.length);
  });
});

it("prefers a running diagnosis, then a completed diagnosis, over a failed diagnosis", () => {
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
