import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, beforeEach, expect, it } from "vitest";
import LISTING from "../../../../mock/captures/disassembly.json" with { type: "json" };
import { listProfiles } from "../../../../mock/captures/profile.ts";
import { HOSTS } from "../../../../mock/dataset.ts";
import { overrideAnswer, sentRequests } from "../../../../mock/server/msw";
import { openScreen } from "../../../testing/screen";

const PROFILE = listProfiles(HOSTS[1]?.id ?? "")[0];
const AT = `/profiles/${PROFILE?.id}?view=table&code=leaf`;
const BUILT = {
  id: "00000000-0000-4000-8000-00000000000d",
  profile_id: PROFILE?.id,
  function: "leaf",
  state: "ready",
  failure: null,
  fetch_state: null,
  fetch_failure: null,
  can_fetch: false,
  listing: LISTING,
};
const SAMPLED = {
  ...LISTING,
  code_reason: { key: "disassembly.not_fetched", params: {} },
  files: [],
  instructions: LISTING.instructions
    .filter(({ samples }) => samples > 0)
    .map((row) => ({ ...row, text: "", length: 0, file: null, line: null })),
};

/** Answer requests for the function; the page itself is that of the mock server. */
const answer = (body: object, fetched?: object) =>
  overrideAnswer(({ path, method }) => {
    if (path.endsWith("/fetch")) return fetched ? { status: 202, body: fetched } : undefined;
    if (!path.includes("/disassemblies")) return undefined;
    return { status: method === "POST" ? 202 : 200, body };
  });

beforeEach(() => {
  sentRequests.length = 0;
});
afterEach(() => overrideAnswer(undefined));

it("lists instructions with the share of samples, and marks the hottest", async () => {
  answer(BUILT);
  openScreen(AT);
  const dialog = await screen.findByRole("dialog");
  const table = await within(dialog).findByRole("region", { name: "Instructions of the function" });
  expect(table.querySelectorAll("tbody tr")).toHaveLength(LISTING.instructions.length);
  const hottest = LISTING.instructions.reduce((best, row) => (row.samples > best.samples ? row : best));
  const row = within(table).getByText("Most samples").closest("tr");
  expect(row).toHaveTextContent(hottest.text);
  expect(row).toHaveTextContent(`${((100 * hottest.samples) / LISTING.function_samples).toFixed(1)} %`);
  expect(dialog).toHaveTextContent(/samples have an address in this function/);
  expect(dialog).toHaveTextContent(/skid/);
  const [line] = within(within(dialog).getByRole("list")).getAllByRole("listitem");
  expect(line).toHaveTextContent(/matcher\.c:\d+ \d/);
  expect(within(dialog).queryByRole("button", { name: /Fetch code/ })).toBeNull();
});

it("states why there is no code, fetches it on request, and closes with Escape", async () => {
  const user = userEvent.setup();
  const missing = { ...BUILT, can_fetch: true, listing: SAMPLED };
  answer(missing, { ...missing, fetch_state: "queued" });
  openScreen(AT);
  const dialog = await screen.findByRole("dialog");
  const fetch = await within(dialog).findByRole("button", { name: /^Fetch code from / });
  expect(dialog).toHaveTextContent("The code of this function is not at hand");
  expect(within(dialog).queryByRole("columnheader", { name: "Instruction" })).toBeNull();
  answer({ ...missing, fetch_state: "running" }, { ...missing, fetch_state: "queued" });
  await user.click(fetch);
  expect(await within(dialog).findByText(/^Fetching the code from /)).toBeInTheDocument();
  answer({ ...missing, fetch_state: "failed", fetch_failure: { key: "disassembly.gone", params: {} } });
  const failed = /Cannot fetch the code from .*process has ended/;
  expect(await within(dialog).findByText(failed, {}, { timeout: 4000 })).toBeInTheDocument();
  await user.keyboard("{Escape}");
  await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
});

it("states why a function could not be read", async () => {
  answer({
    ...BUILT,
    state: "failed",
    listing: null,
    failure: { key: "disassembly.no_samples", params: {} },
  });
  openScreen(AT);
  expect(await screen.findByRole("alert")).toHaveTextContent("No sample has an address in this function");
});

it("opens from the menu of a function", async () => {
  answer(BUILT);
  const user = userEvent.setup();
  openScreen(`/profiles/${PROFILE?.id}?view=table`);
  const name = await screen.findByRole("button", { name: "leaf" });
  await user.pointer({ keys: "[MouseRight]", target: name });
  await user.click(await screen.findByRole("menuitem", { name: /Show its instructions/ }));
  expect(await screen.findByRole("dialog")).toHaveTextContent("leaf");
  const sent = sentRequests.find(({ path }) => path.endsWith("/disassemblies"));
  expect(sent?.body).toEqual({ function: "leaf", module: LISTING.module });
});
