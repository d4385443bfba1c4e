import { fireEvent, render, screen } from "@testing-library/react";
import { useState } from "react";
import { describe, expect, it } from "vitest";
import type { CellPosition, Row } from "../../core/hosts/fleet";
import { VirtualTable } from "./VirtualTable";

const HOSTS = Array.from({ length: 1000 }, (_, index) => ({ id: `host-${index}` }));
const ROWS = HOSTS.map((host): Row<{ id: string }> => ({ kind: "host", id: host.id, host }));
const ROW_HEIGHT = 30;
/** Height of all elements according to test-setup.ts. */
const VIEW_HEIGHT = 600;

function Table() {
  const [at, setAt] = useState<CellPosition>({ row: 0, column: 0 });
  return (
    <VirtualTable
      label="Hosts"
      rows={ROWS}
      columns={[{ id: "cpu", width: 60, name: "CPU", head: "CPU" }]}
      rowHeight={ROW_HEIGHT}
      nameWidth={200}
      nameHead="Host"
      group={() => null}
      name={(host) => host.id}
      cell={() => ({ look: "quiet", words: "not matched" })}
      chosen={new Set()}
      at={at}
      onAt={setAt}
      onOpen={() => undefined}
      onChoose={() => undefined}
    />
  );
}

describe("VirtualTable", () => {
  it("renders only the visible rows and a few around them, and sets aria-rowcount to all rows", () => {
    render(<Table />);
    const rendered = screen.getAllByRole("rowheader").map((cell) => cell.textContent);
    expect(rendered.slice(0, VIEW_HEIGHT / ROW_HEIGHT)).toEqual(
      HOSTS.slice(0, VIEW_HEIGHT / ROW_HEIGHT).map((host) => host.id),
    );
    expect(rendered.length).toBeLessThanOrEqual(VIEW_HEIGHT / ROW_HEIGHT + 14);
    expect(screen.getByRole("grid")).toHaveAttribute("aria-rowcount", "1001");
  });

  it("scrolls to the row selected with the arrow keys", () => {
    render(<Table />);
    const grid = screen.getByRole("grid");
    Object.defineProperty(grid, "scrollHeight", { value: HOSTS.length * ROW_HEIGHT });
    const positions: unknown[] = [];
    grid.scrollTo = ((options: ScrollToOptions) => positions.push(options.top)) as typeof grid.scrollTo;
    fireEvent.keyDown(grid, { key: "End", ctrlKey: false });
    for (let press = 0; press < 40; press += 1) fireEvent.keyDown(grid, { key: "ArrowDown" });
    expect(positions.length).toBeGreaterThan(0);
    expect(Number(positions.at(-1))).toBeGreaterThan(0);
  });
});
