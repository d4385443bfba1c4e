import { screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, it } from "vitest";
import { HOSTS } from "../../mock/world";
import { open } from "../testing/screen";

describe("what changed on a host", () => {
  it("says between which readings, with both values one click from their lines", async () => {
    open(`/hosts/${HOSTS[0]!.id}?fold=changed`);
    const table = await screen.findByRole("region", { name: "Facts that were read with two values" });
    const row = within(table).getByText("sysctl.vm.swappiness").closest("tr") as HTMLElement;
    for (const value of ["60", "10"])
      expect(within(row).getByRole("link", { name: new RegExp(value) })).toBeVisible();
    const memory = within(table).getByText("mem_bytes").closest("tr") as HTMLElement;
    expect(memory).toHaveTextContent(/64.GiB.*128.GiB.*check of the host/);
    expect(within(memory).queryByRole("link")).toBeNull();
    expect(within(table).getByText("mount./var/lib/data").closest("tr")).toHaveTextContent("not there");
    expect(screen.getByText(/312 facts, known only since/)).toBeVisible();
    expect(
      screen.getByText(/openssl 3.0.15-1/, {
        selector: "section[aria-label='Told by the logs of the host'] *",
      }),
    );
  });

  it("is no claim where nothing was ever read", async () => {
    open(`/hosts/${HOSTS[3]!.id}?fold=changed`);
    expect(await screen.findByText("Nothing is known yet")).toBeVisible();
  });

  it("is asked anew for another time, which the address keeps", async () => {
    const user = userEvent.setup();
    const router = open(`/hosts/${HOSTS[0]!.id}?fold=changed`);
    await screen.findByRole("region", { name: "Facts that were read with two values" });
    await user.click(screen.getByRole("radio", { name: "7 days" }));
    expect(router.state.location.search).toMatchObject({ changed: "7" });
  });

  it("stands in Where am I with what it was", async () => {
    open(`/hosts/${HOSTS[0]!.id}?fold=where`);
    const section = await screen.findByRole("region", { name: /What changed/ });
    expect(section).toHaveTextContent(/sysctl.vm.swappiness\s*10 .* was 60/);
  });
});
