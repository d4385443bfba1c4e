import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, it } from "vitest";
import { CAPTURES } from "../../../mock/dataset";
import { openScreen } from "../../testing/screen";

const RUN = CAPTURES[0]?.runs[0]?.id ?? "";
const rowsOf = (table: HTMLElement) => within(table).getAllByRole("row").length - 1;

describe("the tabs of a run", () => {
  it("render a single part, initially findings and profiles", async () => {
    const user = userEvent.setup();
    const router = openScreen(`/runs/${RUN}`);
    expect(await screen.findByRole("tab", { name: "Findings" })).toHaveAttribute("aria-selected", "true");
    expect(screen.queryByRole("heading", { name: "Charts" })).toBeNull();
    await user.click(screen.getByRole("tab", { name: /^Collectors/ }));
    expect(await screen.findByRole("heading", { name: "Collectors" })).toBeVisible();
    expect(router.state.location.search).toMatchObject({ tab: "collectors" });
    await user.keyboard("{ArrowRight}");
    expect(screen.getByRole("tab", { name: /^Tables/ })).toHaveFocus();
    await waitFor(() => expect(router.state.location.search).toMatchObject({ tab: "tables" }));
  });
});

describe("tables of a run", () => {
  it("render only the selected table", async () => {
    const user = userEvent.setup();
    const router = openScreen(`/runs/${RUN}?tab=tables`);
    const select = await screen.findByRole("combobox", { name: "Table" });
    expect(select).toHaveDisplayValue("proc top · proc_top · rows: 24");
    expect(rowsOf(screen.getByRole("region", { name: "proc top" }))).toBe(24);
    expect(screen.queryByRole("region", { name: "sockets" })).toBeNull();
    await user.click(select);
    await user.click(await screen.findByRole("option", { name: "sockets · ss · rows: 260", hidden: true }));
    expect(rowsOf(await screen.findByRole("region", { name: "sockets" }))).toBe(200);
    expect(screen.getByText("200 of 260 displayed")).toBeVisible();
    expect(screen.queryByRole("region", { name: "proc top" })).toBeNull();
    await waitFor(() => expect(router.state.location.search).toMatchObject({ table: "ss/sockets" }));
  });

  it("open the table of a linked row, and list all rows up to it", async () => {
    openScreen(`/runs/${RUN}?row=ss/sockets/250`);
    const table = await screen.findByRole("region", { name: "sockets" });
    expect(rowsOf(table)).toBe(251);
    const marked = within(table).getByText("10.40.0.4:40250").closest("tr");
    expect(marked).toHaveAttribute("aria-current", "true");
  });
});
