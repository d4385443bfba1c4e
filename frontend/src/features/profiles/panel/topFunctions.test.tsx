import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it, vi } from "vitest";
import { renderPart } from "../../../testing/screen";
import { TopFunctions } from "./TopFunctions";

const row = (frame: string, self: number) => ({
  frame,
  module: "app",
  kind: "user" as const,
  self,
  total: 100,
});

it("names the functions with most self time, with their share of all samples", async () => {
  const user = userEvent.setup();
  const onPick = vi.fn();
  const rows = [
    row("main", 0),
    row("b", 20),
    ...["c", "d", "e", "f", "g"].map((name) => row(name, 1)),
    row("a", 50),
  ];
  renderPart(<TopFunctions rows={rows} total={200} onPick={onPick} />);
  const buttons = await screen.findAllByRole("button");
  expect(buttons.map((button) => button.textContent)).toHaveLength(6);
  expect(buttons[0]).toHaveTextContent("a 25.0 %");
  expect(buttons[1]).toHaveTextContent("b 10.0 %");
  expect(screen.queryByText("main")).toBeNull();
  await user.click(buttons[0] as HTMLElement);
  expect(onPick).toHaveBeenCalledWith("a");
});

it("distinguishes frames without a symbol by their addresses", async () => {
  const rows = [
    row("[kernel.kallsyms]+0xffffffff813ae453", 20),
    row("[kernel.kallsyms]+0xffffffff8226e079", 10),
  ];
  renderPart(<TopFunctions rows={rows} total={100} onPick={vi.fn()} />);
  const [first, second] = await screen.findAllByRole("button");
  expect(first).toHaveTextContent(/ae453 20/);
  expect(second).toHaveTextContent(/6e079 10/);
});
