import { screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, it } from "vitest";
import { HOSTS } from "../../../../mock/dataset";
import { openScreen } from "../../../testing/screen";

describe("changes of a host", () => {
  it("show both readings of a fact with links to their source lines", async () => {
    openScreen(`/hosts/${HOSTS[0]!.id}?fold=changed`);
    const table = await screen.findByRole("region", { name: "Facts with different values" });
    const row = within(table).getByText("sysctl.vm.swappiness").closest("tr") as HTMLElement;
    for (const value of ["60", "10"])
      expect(within(row).getByRole("link", { name: new RegExp(value) })).toBeVisible();
    const memory = within(table).getByText("mem_bytes").closest("tr") as HTMLElement;
    expect(memory).toHaveTextContent(/64.GiB.*128.GiB.*preflight check/);
    expect(within(memory).queryByRole("link")).toBeNull();
    expect(within(table).getByText("mount./var/lib/data").closest("tr")).toHaveTextContent("absent");
    expect(screen.getByText(/312 facts, recorded since/)).toBeVisible();
    expect(
      screen.getByText(/openssl 3.0.15-1/, {
        selector: "section[aria-label='From host logs'] *",
      }),
    );
  });

  it("show an empty state without recorded facts", async () => {
    openScreen(`/hosts/${HOSTS[3]!.id}?fold=changed`);
    expect(await screen.findByText("No facts yet")).toBeVisible();
  });

  it("store the selected time range in the URL", async () => {
    const user = userEvent.setup();
    const router = openScreen(`/hosts/${HOSTS[0]!.id}?fold=changed`);
    await screen.findByRole("region", { name: "Facts with different values" });
    await user.click(screen.getByRole("radio", { name: "7 days" }));
    expect(router.state.location.search).toMatchObject({ changed: "7" });
  });

  it("appear in the host context with their previous value", async () => {
    openScreen(`/hosts/${HOSTS[0]!.id}?fold=context`);
    const section = await screen.findByRole("region", { name: /^Changes in/ });
    expect(section).toHaveTextContent(/sysctl.vm.swappiness\s*10 .* was 60/);
  });
});
