import { screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, it } from "vitest";
import { state } from "../../mock/api";
import { openScreen } from "../testing/screen";

describe("Palette", () => {
  it("opens the host with the typed name, not the first result of the previous query", async () => {
    const user = userEvent.setup();
    const router = openScreen("/settings");
    const letter = state.hosts[0]?.name.at(-1) ?? "";
    const [near, far] = state.hosts.filter((host) => host.name.includes(letter));
    if (!near || !far) throw new Error("two hosts of the mock must share a letter");
    await screen.findByRole("navigation", { name: "Main" });
    await user.keyboard("{Control>}k{/Control}");
    const field = await screen.findByRole("textbox", { name: "Search or jump to…" });
    // Results for the first letter are still visible when the full name and Enter are typed.
    await user.type(field, letter);
    await screen.findByRole("button", { name: new RegExp(near.name) });
    await user.clear(field);
    await user.type(field, `${far.name}{Enter}`);
    await waitFor(() => expect(router.state.location.pathname).toBe(`/hosts/${far.id}`));
  });

  it("lists an active host before an imported host with the same name", async () => {
    const user = userEvent.setup();
    const host = state.hosts.find((host) => host.state === "active");
    if (!host) throw new Error("the mock has no host");
    const imported = { ...host, id: crypto.randomUUID(), state: "imported" as const, address: "" };
    state.hosts.unshift(imported);
    const router = openScreen("/settings");
    await screen.findByRole("navigation", { name: "Main" });
    await user.keyboard("{Control>}k{/Control}");
    await user.type(await screen.findByRole("textbox", { name: "Search or jump to…" }), host.name);
    expect(await screen.findByRole("button", { name: `${host.name} Imported` })).toBeVisible();
    await user.keyboard("{Enter}");
    await waitFor(() => expect(router.state.location.pathname).toBe(`/hosts/${host.id}`));
    state.hosts.splice(state.hosts.indexOf(imported), 1);
  });
});
