import { screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, it } from "vitest";
import { state } from "../../mock/api";
import { open } from "../testing/screen";

describe("the palette", () => {
  it("goes where the typed name leads, not to the first of what was listed before", async () => {
    const user = userEvent.setup();
    const router = open("/settings");
    const letter = state.hosts[0]?.name.at(-1) ?? "";
    const [near, far] = state.hosts.filter((host) => host.name.includes(letter));
    if (!near || !far) throw new Error("two hosts of the mock must share a letter");
    await screen.findByRole("navigation", { name: "Main" });
    await user.keyboard("{Control>}k{/Control}");
    const field = await screen.findByRole("textbox", { name: "Search or jump to…" });
    // One letter's answer stands on the screen while the whole name is typed and sent in one breath.
    await user.type(field, letter);
    await screen.findByRole("button", { name: new RegExp(near.name) });
    await user.clear(field);
    await user.type(field, `${far.name}{Enter}`);
    await waitFor(() => expect(router.state.location.pathname).toBe(`/hosts/${far.id}`));
  });
});
