import { screen, waitFor } from "@testing-library/react";
import { afterEach, expect, it } from "vitest";
import { listProfiles } from "../../../../mock/captures/profile.ts";
import { overrideAnswer } from "../../../../mock/server/msw";
import { openScreen } from "../../../testing/screen";
import { drawEarlyFlame } from "../../../widgets/flame-graph/earlyFlame";

const PROFILE = listProfiles("00000000-0000-4000-8000-000000000001")[0];

afterEach(() => overrideAnswer(undefined));

it("removes the early picture when the profile failed", async () => {
  const failed = { ...PROFILE, state: "failed", failure: null };
  overrideAnswer(({ path }) =>
    path === `/profiles/${PROFILE?.id}` ? { status: 200, body: failed } : undefined,
  );
  drawEarlyFlame(
    { id: 0, name: "all", value: 5, self: 5, kind: "root" },
    { inverted: false, colorBy: "kind" },
  );
  expect(screen.getByTestId("early-flame")).toBeInTheDocument();
  openScreen(`/profiles/${PROFILE?.id}`);
  expect(await screen.findByText("Cannot read this profile")).toBeVisible();
  await waitFor(() => expect(screen.queryByTestId("early-flame")).toBeNull());
  expect(screen.getByRole("link", { name: "Open the run" })).toBeVisible();
});
